// Sums along the chain, column by column.
#pragma once

#include "running.hpp"
#include "state.hpp"

namespace metricfit::METRICFIT_TARGET {

// target[b][i] = -(sum of mass[j] * alpha[j][b] over the sets j > i): what the chain takes from an item.
METRICFIT_FUNCTION void sum_later_sets(Matrix target, const double* mass, Matrix alpha, int columns, int items) {
    for (int b = 0; b < columns; ++b) {
        double* row = target[b];
        running_back(items, [=](int i) { return mass[i + 1] * alpha[i + 1][b]; },
                     [=](int i, double later) { row[i] = -later; });
    }
}

// target[j] += sum over columns b of alpha[j][b] times the sum of weight[i] * inside[b][i] over the items i < j.
METRICFIT_FUNCTION void add_earlier_items(double* target, Matrix alpha, const double* weight, Matrix inside, int columns,
                                          int items) {
    for (int b = 0; b < columns; ++b) {
        const double* row = inside[b];
        running(items, [=](int i) { return weight[i] * row[i]; },
                [=](int i, double earlier) { target[i + 1] += alpha[i + 1][b] * earlier; });
    }
}

}  // namespace metricfit::METRICFIT_TARGET
