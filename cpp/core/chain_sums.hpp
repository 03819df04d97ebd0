// Sums along the chain for all columns of the adversary at once: a vector holds one set's numbers for several columns. What
// is kept item by item is transposed on the way, as many columns and items at a time as a vector holds.
//
// Rows are read and written up to whole eights of items and columns. Tables must be zero for columns that are not there.
#pragma once

#include "core/state.hpp"
#include "core/vectors.hpp"

namespace metricfit::METRICFIT_TARGET {

// target[b][i] = -(sum of mass[j] * alpha[j][b] over the sets j > i): what the chain takes from an item.
inline void sum_later_sets(Matrix target, const double* mass, Matrix alpha, int columns, int items) {
    for (int b = 0; b < columns; b += WIDTH) {
        Vector taken = {}, block[WIDTH];
        for (int first = (items - 1) / WIDTH * WIDTH; first >= 0; first -= WIDTH) {
            for (int k = WIDTH - 1; k >= 0; --k) {
                const int j = first + k + 1;
                if (j <= items) taken -= mass[j] * load(alpha[j] + b);
                block[k] = taken;
            }
            transpose(block);
            for (int k = 0; k < WIDTH; ++k) store(target[b + k] + first, block[k]);
        }
    }
}

// target[j] += sum over columns b of alpha[j][b] times the sum of weight[i] * inside[b][i] over the items i < j.
inline void add_earlier_items(double* target, Matrix alpha, const double* weight, Matrix inside, int columns, int items) {
    for (int b = 0; b < columns; b += WIDTH) {
        Vector hit = {}, block[WIDTH];
        for (int first = 0; first < items; first += WIDTH) {
            const int count = smaller(WIDTH, items - first);
            for (int k = 0; k < WIDTH; ++k) block[k] = load(inside[smaller(b + k, columns - 1)] + first);
            transpose(block);
            for (int k = 0; k < WIDTH; ++k) {
                if (k < count) hit += weight[first + k] * block[k];
                block[k] = k < count ? load(alpha[first + k + 1] + b) * hit : Vector{};
            }
            double sums[WIDTH];
            store(sums, sums_of(block));
            for (int k = 0; k < count; ++k) target[first + k + 1] += sums[k];
        }
    }
}

}  // namespace metricfit::METRICFIT_TARGET
