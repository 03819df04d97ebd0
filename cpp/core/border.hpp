// The small dense system that is left when items and chain are eliminated: factors and solution.
//
// Sums are kept in registers while rows are walked through, as many vectors of columns at once as there are registers for.
#pragma once

#include <type_traits>

#include "arrays.hpp"
#include "parameters.hpp"
#include "vectors.hpp"

namespace metricfit::METRICFIT_TARGET {

template <int N>
using Count = std::integral_constant<int, N>;

// R rows of target -= factors' @ rows[:count] for V vectors of columns; of factors the first R columns are used.
template <int R, int V>
METRICFIT_INLINE void subtract_block(Matrix target, ConstMatrix factors, Matrix rows, int count) {
    Vector value[R][V];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) value[r][v] = load(target[r] + v * WIDTH);
    }
    for (int b = 0; b < count; ++b) {
        Vector row[V];
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) row[v] = load(rows[b] + v * WIDTH);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) value[r][v] -= factors[b][r] * row[v];
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) store(target[r] + v * WIDTH, value[r][v]);
    }
}

// The same between two columns, as far as there are whole vectors; returns the column after the last.
template <int R>
METRICFIT_INLINE int subtract_vectors(Matrix target, ConstMatrix factors, Matrix rows, int count, int first, int until) {
    const auto block = [&](auto vectors, int x) {
        constexpr int V = decltype(vectors)::value;
        subtract_block<R, V>({target.data + x, target.stride}, factors, {rows.data + x, rows.stride}, count);
    };
    constexpr int MOST = R == 1 || WIDTH == 8 ? 4 : 2;  // more sums than registers are slow
    int x = first;
    for (; x + MOST * WIDTH <= until; x += MOST * WIDTH) block(Count<MOST>{}, x);
    for (; x + 2 * WIDTH <= until; x += 2 * WIDTH) block(Count<2>{}, x);
    for (; x + WIDTH <= until; x += WIDTH) block(Count<1>{}, x);
    return x;
}

// target -= factor @ rows[:count], between two columns.
inline void subtract_rows(double* METRICFIT_RESTRICT target, const double* METRICFIT_RESTRICT factor, Matrix rows, int count,
                          int first, int until) {
    for (int x = subtract_vectors<1>({target, 0}, {factor, 1}, rows, count, first, until); x < until; ++x) {
        double value = target[x];
        for (int b = 0; b < count; ++b) value -= factor[b] * rows[b][x];
        target[x] = value;
    }
}

// The first `wanted` rows of target -= factors' @ rows[:count]. It writes up to whole eights of columns and fours of rows,
// and reads as far.
inline void subtract_products(Matrix target, Matrix factors, Matrix rows, int wanted, int count, int columns) {
    for (int x = 0; x < wanted; x += 4) {
        subtract_vectors<4>({target[x], target.stride}, {factors.data + x, factors.stride}, rows, count, 0, whole_eights(columns));
    }
}

// target = rows[:count, :m] @ vector; m fills whole eights.
inline void multiply_rows(double* METRICFIT_RESTRICT target, Matrix rows, const double* METRICFIT_RESTRICT vector, int count,
                          int m) {
    for (int j = 0; j < count; ++j) {
        Vector total = {};
        for (int x = 0; x < m; x += WIDTH) total += load(vector + x) * load(rows[j] + x);
        target[j] = sum_of(total);
    }
}

// Factorises a symmetric matrix, of which the upper triangle is read and becomes D L'; `reciprocal` becomes 1 / D.
//
// Rows go on with zeros up to whole eights. The border is nearly quasi-definite, so that no pivot has to be looked for. Nor
// need rows be scaled: the numbers would be the same, but for their scale.
inline void ldl_factorise(Matrix matrix, int m, double* METRICFIT_RESTRICT reciprocal) {
    const int until = whole_eights(m);
    for (int k = 0; k < m; ++k) {
        const double* METRICFIT_RESTRICT pivot_row = matrix[k];
        reciprocal[k] = 1.0 / (pivot_row[k] != 0.0 ? pivot_row[k] : parameters::border::ZERO_PIVOT);
        for (int r = k + 1; r < m; ++r) {
            double* METRICFIT_RESTRICT row = matrix[r];
            const double factor = pivot_row[r] * reciprocal[k];
            for (int x = r / LANES * LANES; x < until; x += WIDTH) store(row + x, load(row + x) - factor * load(pivot_row + x));
        }
    }
}

// Solves in place with those factors.
inline void ldl_solve(Matrix matrix, int m, const double* METRICFIT_RESTRICT reciprocal, double* METRICFIT_RESTRICT x) {
    for (int k = 0; k < m; ++k) {
        const double* METRICFIT_RESTRICT row = matrix[k];
        const double value = x[k] * reciprocal[k];
        for (int c = k + 1; c < m; ++c) x[c] -= value * row[c];
    }
    for (int k = m - 1; k >= 0; --k) {
        const double* METRICFIT_RESTRICT row = matrix[k];
        double value = x[k];
        for (int c = k + 1; c < m; ++c) value -= row[c] * x[c];
        x[k] = value * reciprocal[k];
    }
}

}  // namespace metricfit::METRICFIT_TARGET
