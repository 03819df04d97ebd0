// Small matrices of eight items at a time, in tiles of four rows and columns.
//
// Entry (r, c) of item i is at ROW * r + LANES * c + i of a tile, and a matrix is an array of tiles; the rank of alpha is
// filled up to a multiple of four by zeros. So everything that a loop over eight items reads is at constant distances,
// and the code of a whole tile has no branches. Every kernel takes as many items at once as a vector holds.
#pragma once

#include "arrays.hpp"
#include "parameters.hpp"
#include "vectors.hpp"

namespace metricfit::METRICFIT_TARGET {

constexpr int ROW = 4 * LANES, TILE = 16 * LANES;  // numbers in a row of a tile, and in all of it
METRICFIT_INLINE constexpr int entry(int r, int c) { return ROW * r + LANES * c; }

// A square matrix of tiles; matrix(x, y) is a tile.
struct Tiles {
    double* data;
    int count;  // in a row
    METRICFIT_INLINE double* operator()(int x, int y) const {
        return data + static_cast<std::ptrdiff_t>(x * count + y) * TILE;
    }
};

// target = (keep ? target : 0) - left @ right
METRICFIT_INLINE void subtract_product(double* METRICFIT_RESTRICT target, const double* METRICFIT_RESTRICT left,
                                       const double* METRICFIT_RESTRICT right, bool keep) {
    for (int i = 0; i < LANES; i += WIDTH) {
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) {
            const Vector l0 = load(left + entry(r, 0) + i), l1 = load(left + entry(r, 1) + i);
            const Vector l2 = load(left + entry(r, 2) + i), l3 = load(left + entry(r, 3) + i);
#pragma GCC unroll 4
            for (int c = 0; c < 4; ++c) {
                Vector value = keep ? load(target + entry(r, c) + i) : Vector{};
                value -= l0 * load(right + entry(0, c) + i);
                value -= l1 * load(right + entry(1, c) + i);
                value -= l2 * load(right + entry(2, c) + i);
                value -= l3 * load(right + entry(3, c) + i);
                store(target + entry(r, c) + i, value);
            }
        }
    }
}

METRICFIT_INLINE void copy_tile(double* METRICFIT_RESTRICT target, const double* METRICFIT_RESTRICT source, double sign) {
    for (int x = 0; x < TILE; x += WIDTH) store(target + x, sign * load(source + x));
}

METRICFIT_INLINE void clear_tile(double* target) {
    for (int x = 0; x < TILE; x += WIDTH) store(target + x, Vector{});
}

METRICFIT_INLINE void transpose_tile(double* METRICFIT_RESTRICT target, const double* METRICFIT_RESTRICT source, double sign) {
    for (int r = 0; r < 4; ++r) {
        for (int c = 0; c < 4; ++c) {
            for (int i = 0; i < LANES; i += WIDTH) store(target + entry(c, r) + i, sign * load(source + entry(r, c) + i));
        }
    }
}

// Solves lower @ x = target in place; inv_diag holds the reciprocals of the diagonal.
METRICFIT_INLINE void solve_lower(double* METRICFIT_RESTRICT target, const double* METRICFIT_RESTRICT lower,
                                  const double* METRICFIT_RESTRICT inv_diag) {
    for (int i = 0; i < LANES; i += WIDTH) {
        const auto l = [=](int r, int c) { return load(lower + entry(r, c) + i); };
#pragma GCC unroll 4
        for (int c = 0; c < 4; ++c) {
            const auto b = [=](int r) { return target + entry(r, c) + i; };
            const Vector x0 = load(b(0)) * load(inv_diag + i);
            const Vector x1 = (load(b(1)) - l(1, 0) * x0) * load(inv_diag + LANES + i);
            const Vector x2 = (load(b(2)) - l(2, 0) * x0 - l(2, 1) * x1) * load(inv_diag + 2 * LANES + i);
            const Vector x3 = (load(b(3)) - l(3, 0) * x0 - l(3, 1) * x1 - l(3, 2) * x2) * load(inv_diag + 3 * LANES + i);
            store(b(0), x0);
            store(b(1), x1);
            store(b(2), x2);
            store(b(3), x3);
        }
    }
}

// Solves upper @ x = target in place; inv_diag holds the reciprocals of the diagonal.
METRICFIT_INLINE void solve_upper(double* METRICFIT_RESTRICT target, const double* METRICFIT_RESTRICT upper,
                                  const double* METRICFIT_RESTRICT inv_diag) {
    for (int i = 0; i < LANES; i += WIDTH) {
        const auto u = [=](int r, int c) { return load(upper + entry(r, c) + i); };
#pragma GCC unroll 4
        for (int c = 0; c < 4; ++c) {
            const auto b = [=](int r) { return target + entry(r, c) + i; };
            const Vector x3 = load(b(3)) * load(inv_diag + 3 * LANES + i);
            const Vector x2 = (load(b(2)) - u(2, 3) * x3) * load(inv_diag + 2 * LANES + i);
            const Vector x1 = (load(b(1)) - u(1, 2) * x2 - u(1, 3) * x3) * load(inv_diag + LANES + i);
            const Vector x0 = (load(b(0)) - u(0, 1) * x1 - u(0, 2) * x2 - u(0, 3) * x3) * load(inv_diag + i);
            store(b(0), x0);
            store(b(1), x1);
            store(b(2), x2);
            store(b(3), x3);
        }
    }
}

// Cholesky factors of a tile plus `shift` times the identity. Of the tile the upper triangle is read; inv_diag becomes
// 1 / the factor's diagonal. Pivots are no smaller than the shift plus a share of the diagonal as a `whole`, which is what
// the diagonal was before anything was subtracted.
METRICFIT_INLINE void factorise_tile(const double* METRICFIT_RESTRICT tile, const double* METRICFIT_RESTRICT whole, double shift,
                                     double* METRICFIT_RESTRICT lower, double* METRICFIT_RESTRICT upper,
                                     double* METRICFIT_RESTRICT inv_diag) {
    for (int i = 0; i < LANES; i += WIDTH) {
        const auto t = [=](int r, int c) { return load(tile + entry(r, c) + i); };
        const auto pivot = [=](Vector rest, int r) {
            return larger(rest, parameters::tiles::SMALLEST_PIVOT * load(whole + LANES * r + i)) + shift;
        };
        const auto write = [=](int r, int c, Vector value) {
            store(upper + entry(r, c) + i, value);
            store(lower + entry(c, r) + i, value);
        };
        const Vector p0 = pivot(t(0, 0), 0), d0 = reciprocal_root(p0);
        const Vector u01 = t(0, 1) * d0, u02 = t(0, 2) * d0, u03 = t(0, 3) * d0;
        const Vector p1 = pivot(t(1, 1) - u01 * u01, 1), d1 = reciprocal_root(p1);
        const Vector u12 = (t(1, 2) - u01 * u02) * d1, u13 = (t(1, 3) - u01 * u03) * d1;
        const Vector p2 = pivot(t(2, 2) - u02 * u02 - u12 * u12, 2), d2 = reciprocal_root(p2);
        const Vector u23 = (t(2, 3) - u02 * u03 - u12 * u13) * d2;
        const Vector p3 = pivot(t(3, 3) - u03 * u03 - u13 * u13 - u23 * u23, 3), d3 = reciprocal_root(p3);
        write(0, 0, p0 * d0);
        write(0, 1, u01);
        write(0, 2, u02);
        write(0, 3, u03);
        write(1, 1, p1 * d1);
        write(1, 2, u12);
        write(1, 3, u13);
        write(2, 2, p2 * d2);
        write(2, 3, u23);
        write(3, 3, p3 * d3);
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) {
            for (int c = 0; c < r; ++c) {
                store(upper + entry(r, c) + i, Vector{});
                store(lower + entry(c, r) + i, Vector{});
            }
        }
        store(inv_diag + i, d0);
        store(inv_diag + LANES + i, d1);
        store(inv_diag + 2 * LANES + i, d2);
        store(inv_diag + 3 * LANES + i, d3);
    }
}

// Cholesky factors of eight items' matrices plus `shift` times the identity: lower @ upper, where upper = lower'.
//
// Of the matrices the upper triangles are read, and overwritten; of the factors nothing is written beyond the diagonal
// tiles. inv_diag holds one row of numbers for each row of tiles.
inline void cholesky(Tiles matrix, double shift, Tiles lower, Tiles upper, double* inv_diag) {
    double whole[ROW];
    for (int x = 0; x < matrix.count; ++x) {
        for (int r = 0; r < 4; ++r) {
            for (int i = 0; i < LANES; ++i) whole[LANES * r + i] = matrix(x, x)[entry(r, r) + i];
        }
        for (int y = x; y < matrix.count; ++y) {
            for (int k = 0; k < x; ++k) subtract_product(matrix(x, y), lower(x, k), upper(k, y), true);
        }
        factorise_tile(matrix(x, x), whole, shift, lower(x, x), upper(x, x), inv_diag + ROW * x);
        for (int y = x + 1; y < matrix.count; ++y) {
            copy_tile(upper(x, y), matrix(x, y), 1.0);
            solve_lower(upper(x, y), lower(x, x), inv_diag + ROW * x);
            transpose_tile(lower(y, x), upper(x, y), 1.0);
        }
    }
}

// target = factors_x' diag(inv_diag) factors_y: the tile of a Gram matrix for four factors and four others, summed over
// `count` columns. inv_diag is that of the first column for eight items.
template <bool symmetric>
METRICFIT_INLINE void gram_tile(double* METRICFIT_RESTRICT target, const double* factors_x, const double* factors_y,
                                std::ptrdiff_t stride, const double* inv_diag, std::ptrdiff_t stride_diag, int count) {
    constexpr int HALF = symmetric || WIDTH == 8 ? 4 : 2;  // rows whose sums fit into the registers
    for (int i = 0; i < LANES; i += WIDTH) {
        for (int first = 0; first < 4; first += HALF) {
            Vector sum[HALF][4] = {};
            for (int a = 0; a < count; ++a) {
                const double *f = factors_x + a * stride + first, *g = factors_y + a * stride;
                const Vector d = load(inv_diag + a * stride_diag + i);
#pragma GCC unroll 4
                for (int r = 0; r < HALF; ++r) {
                    const Vector scaled = f[r] * d;
#pragma GCC unroll 4
                    for (int c = symmetric ? r : 0; c < 4; ++c) sum[r][c] += scaled * g[c];
                }
            }
#pragma GCC unroll 4
            for (int r = 0; r < HALF; ++r) {
#pragma GCC unroll 4
                for (int c = symmetric ? r : 0; c < 4; ++c) {
                    store(target + entry(first + r, c) + i, sum[r][c]);
                    if (symmetric) store(target + entry(c, r) + i, sum[r][c]);
                }
            }
        }
    }
}

// factors' diag(inv_diag) factors for eight items.
inline void gram(Tiles target, ConstMatrix factors, const double* inv_diag, std::ptrdiff_t stride_diag, int count) {
    for (int x = 0; x < target.count; ++x) {
        gram_tile<true>(target(x, x), factors.data + 4 * x, factors.data + 4 * x, factors.stride, inv_diag, stride_diag, count);
        for (int y = x + 1; y < target.count; ++y) {
            gram_tile<false>(target(x, y), factors.data + 4 * x, factors.data + 4 * y, factors.stride, inv_diag, stride_diag,
                             count);
            transpose_tile(target(y, x), target(x, y), 1.0);
        }
    }
}

}  // namespace metricfit::METRICFIT_TARGET
