// Products with rows and the factors of the border for a block of threads; see core/border.hpp for what they are for.
#pragma once

#include "core/arrays.hpp"
#include "core/parameters.hpp"

namespace metricfit::METRICFIT_TARGET {

// target -= factor @ rows[:count], between two columns.
METRICFIT_FUNCTION void subtract_rows(double* target, const double* factor, Matrix rows, int count, int first, int until) {
    // Several at once: a thread would wait for each number from far memory. Behind the last it takes its first one again.
    constexpr int AT_ONCE = 4;
    const int apart = (until - first + AT_ONCE - 1) / AT_ONCE;
    each(apart, [=](int offset) {
        const int own = first + offset;
        const auto place = [=](int k) { return own + k * apart < until ? own + k * apart : own; };
        double value[AT_ONCE];
        METRICFIT_UNROLL
        for (int k = 0; k < AT_ONCE; ++k) value[k] = target[place(k)];
        METRICFIT_ROLLED
        for (int b = 0; b < count; ++b) {
            const double times = factor[b];
            METRICFIT_UNROLL
            for (int k = 0; k < AT_ONCE; ++k) value[k] -= times * rows[b][place(k)];
        }
        METRICFIT_UNROLL
        for (int k = 0; k < AT_ONCE; ++k) {
            if (k == 0 || own + k * apart < until) target[own + k * apart] = value[k];
        }
    });
}

// The first `wanted` rows of target -= factors' @ rows[:count].
METRICFIT_FUNCTION void subtract_products(Matrix target, Matrix factors, Matrix rows, int wanted, int count, int columns) {
    each(wanted, columns, [=](int r, int x) {
        double value = target[r][x];
        for (int b = 0; b < count; ++b) value -= factors[b][r] * rows[b][x];
        target[r][x] = value;
    });
}

// target = rows[:count, :m] @ vector
METRICFIT_FUNCTION void multiply_rows(double* target, Matrix rows, const double* vector, int count, int m) {
    row_sums(count, m, [=](int j, int x) { return rows[j][x] * vector[x]; }, [=](int j, double value) { target[j] = value; });
}

// Factors L D L' of a symmetric matrix, of which the upper triangle is read and becomes D L'.
METRICFIT_FUNCTION void ldl_factorise(Matrix matrix, int m, double* reciprocal) {
    for (int k = 0; k < m; ++k) {
        const double* pivot_row = matrix[k];
        const double pivot = pivot_row[k];
        const double per = 1.0 / (pivot != 0.0 ? pivot : parameters::border::ZERO_PIVOT);
        const int rest = m - k - 1;
        // The pivot's row is not written any more, so that one barrier is enough.
        each_now(rest * rest + 1, [=](int x) {
            if (x == rest * rest) {
                reciprocal[k] = per;
                return;
            }
            const int r = x / rest, c = x - r * rest;
            if (c >= r) matrix[k + 1 + r][k + 1 + c] -= pivot_row[k + 1 + r] * per * pivot_row[k + 1 + c];
        });
    }
}

// Solves in place with those factors.
METRICFIT_FUNCTION void ldl_solve(Matrix matrix, int m, const double* reciprocal, double* x) {
    for (int k = 0; k < m; ++k) {
        const double value = x[k] * reciprocal[k];
        each_now(m - k - 1, [=](int r) { x[k + 1 + r] -= value * matrix[k][k + 1 + r]; });
    }
    each(m, [=](int k) { x[k] *= reciprocal[k]; });
    for (int k = m - 1; k > 0; --k) {
        const double value = x[k];
        each_now(k, [=](int r) { x[r] -= value * matrix[r][k] * reciprocal[r]; });
    }
}

}  // namespace metricfit::METRICFIT_TARGET
