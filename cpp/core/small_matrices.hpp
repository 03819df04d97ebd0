// Small square matrices, one for each of as many items as a vector holds.
//
// Eight items are kept together: entry (r, c) of item i is at LANES * (wide * r + c) + i. The number of rows is the rank of
// alpha, filled up to a multiple of four by zeros. WIDE is that number if it is known when a kernel is compiled, and 0 if it
// is not: with four rows, the rule, loops have no branches and most numbers stay in registers.
#pragma once

#include "arrays.hpp"
#include "parameters.hpp"
#include "vectors.hpp"

namespace metricfit::METRICFIT_TARGET {

template <int WIDE>
struct SmallMatrix {
    double* data;
    int wide;
    METRICFIT_INLINE int rows() const { return WIDE > 0 ? WIDE : wide; }
    METRICFIT_INLINE double* at(int r, int c) const { return data + static_cast<std::ptrdiff_t>(LANES) * (rows() * r + c); }
    METRICFIT_INLINE Vector operator()(int r, int c) const { return load(at(r, c)); }
    METRICFIT_INLINE void set(int r, int c, Vector value) const { store(at(r, c), value); }
};

// f(first) + ... + f(last - 1)
template <class F>
METRICFIT_INLINE Vector vector_sum(int first, int last, F f) {
    Vector total = {};
#pragma GCC unroll 4
    for (int j = first; j < last; ++j) total += f(j);
    return total;
}

// Every entry: f(r, c).
template <int WIDE, class F>
METRICFIT_INLINE void fill(SmallMatrix<WIDE> target, F f) {
    const int rows = target.rows();
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
        for (int c = 0; c < rows; ++c) target.set(r, c, f(r, c));
    }
}

// target = factors' diag(inv_diag) factors, summed over `count` columns, whose numbers are `stride` apart.
template <int WIDE>
METRICFIT_INLINE void gram(SmallMatrix<WIDE> target, Matrix factors, const double* inv_diag, std::ptrdiff_t stride, int count) {
    for (int x = 0; x < target.rows(); x += 4) {
        for (int y = 0; y <= x; y += 4) {
            Vector sum[4][4] = {};
            for (int a = 0; a < count; ++a) {
                const double *f = factors[a] + x, *g = factors[a] + y;
                const Vector d = load(inv_diag + a * stride);
#pragma GCC unroll 4
                for (int r = 0; r < 4; ++r) {
                    const Vector scaled = f[r] * d;
#pragma GCC unroll 4
                    for (int c = 0; c < 4; ++c) sum[r][c] += scaled * g[c];
                }
            }
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r) {
#pragma GCC unroll 4
                for (int c = 0; c < 4; ++c) {
                    target.set(x + r, y + c, sum[r][c]);
                    target.set(y + c, x + r, sum[r][c]);
                }
            }
        }
    }
}

// Cholesky factor of a matrix plus `shift` times the identity, in place of its lower triangle; inv_diag becomes 1 / the
// factor's diagonal. Pivots are no smaller than the shift plus a share of what the diagonal was.
template <int WIDE>
METRICFIT_INLINE void cholesky(SmallMatrix<WIDE> matrix, double shift, double* inv_diag) {
    const int rows = matrix.rows();
#pragma GCC unroll 4
    for (int k = 0; k < rows; ++k) {
        const Vector whole = matrix(k, k), rest = whole - vector_sum(0, k, [=](int j) { return matrix(k, j) * matrix(k, j); });
        const Vector pivot = larger(rest, parameters::items::SMALLEST_PIVOT * whole) + shift, inverse = reciprocal_root(pivot);
        store(inv_diag + LANES * k, inverse);
        matrix.set(k, k, pivot * inverse);
#pragma GCC unroll 4
        for (int r = k + 1; r < rows; ++r) {
            const Vector known = vector_sum(0, k, [=](int j) { return matrix(r, j) * matrix(k, j); });
            matrix.set(r, k, (matrix(r, k) - known) * inverse);
        }
    }
}

// Solves lower @ x = target in place, one column after the other.
template <int WIDE>
METRICFIT_INLINE void solve_lower(SmallMatrix<WIDE> lower, const double* inv_diag, SmallMatrix<WIDE> target) {
    const int rows = lower.rows();
#pragma GCC unroll 4
    for (int c = 0; c < rows; ++c) {
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
            const Vector known = vector_sum(0, r, [=](int j) { return lower(r, j) * target(j, c); });
            target.set(r, c, (target(r, c) - known) * load(inv_diag + LANES * r));
        }
    }
}

// Solves lower' @ target = source likewise; both may be the same.
template <int WIDE>
METRICFIT_INLINE void solve_transposed(SmallMatrix<WIDE> lower, const double* inv_diag, SmallMatrix<WIDE> source,
                                       SmallMatrix<WIDE> target) {
    const int rows = lower.rows();
#pragma GCC unroll 4
    for (int c = 0; c < rows; ++c) {
#pragma GCC unroll 4
        for (int r = rows - 1; r >= 0; --r) {
            const Vector known = vector_sum(r + 1, rows, [=](int j) { return lower(j, r) * target(j, c); });
            target.set(r, c, (source(r, c) - known) * load(inv_diag + LANES * r));
        }
    }
}

}  // namespace metricfit::METRICFIT_TARGET
