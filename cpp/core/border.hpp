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

// target -= factor @ rows[:count] for V vectors of columns.
template <int V>
METRICFIT_INLINE void subtract_rows_of(double* METRICFIT_RESTRICT target, const double* METRICFIT_RESTRICT factor,
                                       const double* METRICFIT_RESTRICT rows, std::ptrdiff_t stride, int count) {
    Vector value[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) value[v] = load(target + v * WIDTH);
    for (int b = 0; b < count; ++b) {
        const double* row = rows + b * stride;
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) value[v] -= factor[b] * load(row + v * WIDTH);
    }
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) store(target + v * WIDTH, value[v]);
}

// target -= factor @ rows[:count], between two columns.
inline void subtract_rows(double* METRICFIT_RESTRICT target, const double* METRICFIT_RESTRICT factor, Matrix rows, int count,
                          int first, int until) {
    const auto block = [&](auto vectors, int x) {
        subtract_rows_of<decltype(vectors)::value>(target + x, factor, rows.data + x, rows.stride, count);
    };
    int x = first;
    for (; x + 8 * WIDTH <= until; x += 8 * WIDTH) {
        block(Count<8>{}, x);
    }
    for (; x + 2 * WIDTH <= until; x += 2 * WIDTH) block(Count<2>{}, x);
    for (; x + WIDTH <= until; x += WIDTH) block(Count<1>{}, x);
    for (; x < until; ++x) {
        double value = target[x];
        for (int b = 0; b < count; ++b) value -= factor[b] * rows[b][x];
        target[x] = value;
    }
}

// Four rows of target -= factors' @ rows[:count] for V vectors of columns; of factors the first four columns are used.
template <int V>
METRICFIT_INLINE void subtract_from_four_of(double* METRICFIT_RESTRICT target, std::ptrdiff_t stride_target,
                                            const double* METRICFIT_RESTRICT factors, std::ptrdiff_t stride_factors,
                                            const double* METRICFIT_RESTRICT rows, std::ptrdiff_t stride, int count) {
    Vector value[4][V];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) value[r][v] = load(target + r * stride_target + v * WIDTH);
    }
    for (int b = 0; b < count; ++b) {
        Vector row[V];
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) row[v] = load(rows + b * stride + v * WIDTH);
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) {
#pragma GCC unroll 8
            for (int v = 0; v < V; ++v) value[r][v] -= factors[b * stride_factors + r] * row[v];
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) store(target + r * stride_target + v * WIDTH, value[r][v]);
    }
}

// Four rows of target -= factors' @ rows[:count], between two columns that begin and end whole eights.
inline void subtract_from_four(Matrix target, Matrix factors, Matrix rows, int count, int first, int until) {
    const auto block = [&](auto vectors, int x) {
        subtract_from_four_of<decltype(vectors)::value>(target.data + x, target.stride, factors.data, factors.stride, rows.data + x,
                                                        rows.stride, count);
    };
    int x = first;
    for (; x + 4 * WIDTH <= until; x += 4 * WIDTH) block(Count<4>{}, x);
    for (; x + 2 * WIDTH <= until; x += 2 * WIDTH) block(Count<2>{}, x);
    for (; x < until; x += WIDTH) block(Count<1>{}, x);
}

// The first `wanted` rows of target -= factors' @ rows[:count]. It writes up to whole eights of columns and fours of rows,
// and reads as far.
inline void subtract_products(Matrix target, Matrix factors, Matrix rows, int wanted, int count, int columns) {
    for (int x = 0; x < wanted; x += 4) {
        subtract_from_four({target[x], target.stride}, {factors.data + x, factors.stride}, rows, count, 0, whole_eights(columns));
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

// target = scale * rows[:count, x : x + 4], row by row.
METRICFIT_INLINE void scale_four(double* METRICFIT_RESTRICT target, Matrix rows, const double* METRICFIT_RESTRICT scale, int x,
                                 int count) {
    for (int k = 0; k < count; ++k) {
        for (int r = 0; r < 4; r += SHORT) store_short(target + 4 * k + r, scale[k] * load_short(rows[k] + x + r));
    }
}

METRICFIT_INLINE double reciprocal_of(double pivot) { return 1.0 / (pivot != 0.0 ? pivot : parameters::border::ZERO_PIVOT); }

// Factorises a symmetric matrix, of which the upper triangle is read: the upper triangle becomes D L', what is below the
// diagonal L, and `reciprocal` 1 / D. `multiples` is scratch of (m, 4) numbers.
//
// It has a multiple of four rows, and beyond them zeros up to whole eights. The border is nearly quasi-definite, so that no
// pivot has to be looked for. Nor need rows be scaled: the numbers would be the same, but for their scale. Four rows are
// taken at a time, first by all rows above, then among themselves.
inline void ldl_factorise(Matrix matrix, int m, double* METRICFIT_RESTRICT reciprocal, double* METRICFIT_RESTRICT multiples) {
    const int until = whole_eights(m);
    for (int x = 0; x < m; x += 4) {
        double *METRICFIT_RESTRICT r0 = matrix[x], *METRICFIT_RESTRICT r1 = matrix[x + 1];
        double *METRICFIT_RESTRICT r2 = matrix[x + 2], *METRICFIT_RESTRICT r3 = matrix[x + 3];
        scale_four(multiples, matrix, reciprocal, x, x);
        const int first = x / LANES * LANES;
        subtract_from_four({r0, matrix.stride}, {multiples, 4}, matrix, x, first, until);
        const double p0 = reciprocal_of(r0[x]);
        const double l1 = r0[x + 1] * p0, l2 = r0[x + 2] * p0, l3 = r0[x + 3] * p0;
        const double p1 = reciprocal_of(r1[x + 1] - l1 * r0[x + 1]);
        const double row_2 = r1[x + 2] - l1 * r0[x + 2], row_3 = r1[x + 3] - l1 * r0[x + 3];
        const double m2 = row_2 * p1, m3 = row_3 * p1;
        const double p2 = reciprocal_of(r2[x + 2] - l2 * r0[x + 2] - m2 * row_2);
        const double n3 = (r2[x + 3] - l2 * r0[x + 3] - m2 * row_3) * p2;
        for (int c = first; c < until; c += WIDTH) {
            const Vector v0 = load(r0 + c);
            const Vector v1 = load(r1 + c) - l1 * v0;
            const Vector v2 = load(r2 + c) - l2 * v0 - m2 * v1;
            store(r1 + c, v1);
            store(r2 + c, v2);
            store(r3 + c, load(r3 + c) - l3 * v0 - m3 * v1 - n3 * v2);
        }
        reciprocal[x] = p0;
        reciprocal[x + 1] = p1;
        reciprocal[x + 2] = p2;
        reciprocal[x + 3] = reciprocal_of(r3[x + 3]);
        for (int k = 0; k < x; ++k) {
            r0[k] = multiples[4 * k];
            r1[k] = multiples[4 * k + 1];
            r2[k] = multiples[4 * k + 2];
            r3[k] = multiples[4 * k + 3];
        }
        r1[x] = l1;
        r2[x] = l2;
        r2[x + 1] = m2;
        r3[x] = l3;
        r3[x + 1] = m3;
        r3[x + 2] = n3;
    }
}

// Solves in place with those factors, by rows of L' and then of L; x goes on with zeros up to whole eights.
//
// Four rows at a time are subtracted from what is left, in whole eights that may cover the four themselves; a sum along
// the rows would keep the next ones waiting.
inline void ldl_solve(Matrix matrix, int m, const double* reciprocal, double* x) {
    const int until = whole_eights(m);
    for (int k = 0; k < m; k += 4) {
        const double *r0 = matrix[k], *r1 = matrix[k + 1], *r2 = matrix[k + 2], *per = reciprocal + k;
        double now[4];
        now[0] = x[k] * per[0];
        now[1] = (x[k + 1] - now[0] * r0[k + 1]) * per[1];
        now[2] = (x[k + 2] - now[0] * r0[k + 2] - now[1] * r1[k + 2]) * per[2];
        now[3] = (x[k + 3] - now[0] * r0[k + 3] - now[1] * r1[k + 3] - now[2] * r2[k + 3]) * per[3];
        subtract_rows(x, now, {matrix[k], matrix.stride}, 4, (k + 4) / LANES * LANES, until);
        for (int r = 0; r < 4; ++r) x[k + r] = now[r];
    }
    for (int k = m - 4; k >= 0; k -= 4) {
        const double *r1 = matrix[k + 1], *r2 = matrix[k + 2], *r3 = matrix[k + 3];
        double now[4];
        now[3] = x[k + 3];
        now[2] = x[k + 2] - now[3] * r3[k + 2];
        now[1] = x[k + 1] - now[3] * r3[k + 1] - now[2] * r2[k + 1];
        now[0] = x[k] - now[3] * r3[k] - now[2] * r2[k] - now[1] * r1[k];
        subtract_rows(x, now, {matrix[k], matrix.stride}, 4, 0, whole_eights(k));
        for (int r = 0; r < 4; ++r) x[k + r] = now[r];
    }
}

}  // namespace metricfit::METRICFIT_TARGET
