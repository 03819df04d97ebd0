// The items' own blocks of the Newton system: reduced for all items at once, and applied.
//
// For each item the steps of its marginals, dQ of the adversary and dP of the predictor, answer to the right-hand sides g
// and h and to the chain's multipliers c by
//
//     D dQ + A' dP = g - V c,        A dQ - E dP = -h
//
// with diagonal D and E (inv_diag are their reciprocals). Alpha between the columns in play, A = U V', is the same for all
// items and of low rank (coupling.hpp), so that the players affect each other through few numbers: pi = c + U' dP, what the
// adversary meets, and y = V' dQ, what the predictor and the chain see. With X = U' E^-1 U and Y = V' D^-1 V
//
//     dQ = D^-1 (g - V pi),    dP = E^-1 (h + U y),    pi = T s + T X t,    y = T' t - Y T s
//
// where s = c + U' E^-1 h, t = V' D^-1 g and T = (I + X Y)^-1. Items are taken eight at a time, and their matrices are cut
// into tiles (tiles.hpp). The last eight are filled up with items that weigh nothing.
// Here the matrices are computed, in answering.hpp they are applied.
#pragma once

#include "core/state.hpp"
#include "core/tiles.hpp"

namespace metricfit::METRICFIT_TARGET {

// The diagonal of one player's marginals, and what it is made of.
inline void weigh(const Problem& problem, const Columns& columns, const Side& side, double regularisation) {
    const int groups = problem.groups;
    const double* METRICFIT_RESTRICT weight = problem.weight;
    for (int a = 0; a < columns.used; ++a) {
        const double *METRICFIT_RESTRICT inside = columns.inside[a], *METRICFIT_RESTRICT outside = columns.outside[a];
        const double* METRICFIT_RESTRICT dual_in = columns.dual_inside[a];
        const double* METRICFIT_RESTRICT dual_out = columns.dual_outside[a];
        double *METRICFIT_RESTRICT per_inside = side.per_inside[a], *METRICFIT_RESTRICT per_outside = side.per_outside[a];
        double *METRICFIT_RESTRICT inv_diag = side.inv_diag[a], *METRICFIT_RESTRICT out = side.out[a];
        double *METRICFIT_RESTRICT weighed = side.weighed[a], *METRICFIT_RESTRICT weighed_out = side.weighed_out[a];
#pragma GCC ivdep
        for (int i = 0; i < groups; ++i) {
            // One division for three: it takes as long as ten products.
            const double both = inside[i] * outside[i];
            const double diagonal = dual_in[i] * outside[i] + dual_out[i] * inside[i] + regularisation * both;
            const double per = 1.0 / (both * diagonal);
            const double per_both = per * diagonal, inverse = per * both * both;
            const double share = dual_out[i] * inside[i] * per_both, product = weight[i] * inverse;
            per_inside[i] = outside[i] * per_both;
            per_outside[i] = inside[i] * per_both;
            inv_diag[i] = inverse;
            out[i] = share;
            weighed[i] = product;
            weighed_out[i] = product * share;
        }
    }
}

// Items that weigh nothing complete the last eight.
inline void fill_up(const Columns& columns, const Side& side, int groups) {
    for (int a = 0; a < columns.used; ++a) {
        for (int i = groups; i < whole_eights(groups); ++i) {
            side.inv_diag[a][i] = 1.0;
            side.out[a][i] = side.weighed[a][i] = side.weighed_out[a][i] = side.rhs[a][i] = 0.0;
        }
    }
}

// How items answer: matrices tile by tile, one for each eight items; and column by column, along the items. Densely packed,
// as ranks are small. The columns are the adversary's, the predictor's, and one for each constraint.
struct Answers {
    double* data;
    double* columns;
    int q, f, constraints, wide, groups;

    METRICFIT_INLINE int tiles() const { return wide / 4; }
    METRICFIT_INLINE Tiles matrix(int which, int eight) const {
        return {data + static_cast<std::ptrdiff_t>(which * eights(groups) + eight) * LANES * wide * wide, tiles()};
    }
    METRICFIT_INLINE Tiles minus_t(int eight) const { return matrix(0, eight); }      // -T
    METRICFIT_INLINE Tiles t_transposed(int eight) const { return matrix(1, eight); }  // T'
    METRICFIT_INLINE Tiles t_x(int eight) const { return matrix(2, eight); }          // T X
    METRICFIT_INLINE Tiles y_t(int eight) const { return matrix(3, eight); }          // Y T

    // (wide, groups): what the adversary meets if a column's price falls by one
    METRICFIT_INLINE Matrix met(int column) const {
        const std::ptrdiff_t stride = whole_eights(groups);
        return {columns + column * wide * stride, stride};
    }
    // likewise, minus what the predictor sees
    METRICFIT_INLINE Matrix seen(int column) const { return met(q + f + constraints + column); }
};

METRICFIT_INLINE Answers answers_of(const Problem& problem, const Iterate& it, const Workspace& w) {
    return {w.blocks, w.answers, it.adversary.used, it.predictor.used, problem.constraints, w.wide, problem.groups};
}

// T and its products for eight items, by the Cholesky factors C of Y and R of I + C' X C.
//
// T = C'^-1 (R R')^-1 C': triangular factors lose little to rounding if the diagonals differ widely.
inline void couple(const Workspace& w, const Answers& answers, int eight) {
    const int tiles = answers.tiles(), first = LANES * eight;
    double* at = w.coupling;
    const auto take = [&]() {
        const Tiles result{at, tiles};
        at += tiles * tiles * TILE;
        return result;
    };
    const Tiles x = take(), y = take(), c = take(), c_t = take(), r = take(), r_t = take();
    const Tiles minus_xc = take(), solved = take();
    double *inv_c = at, *inv_r = at + tiles * ROW;
    gram(x, {w.cross_on.data, w.cross_on.stride}, w.predictor.inv_diag[0] + first, w.predictor.inv_diag.stride, answers.f);
    gram(y, {w.basis.data, w.basis.stride}, w.adversary.inv_diag[0] + first, w.adversary.inv_diag.stride, answers.q);
    for (int a = w.rank; a < w.wide; ++a) {  // factors that are not there; nothing comes of them
        double* diagonal = y(a / 4, a / 4) + entry(a % 4, a % 4);
        for (int i = 0; i < LANES; ++i) diagonal[i] = 1.0;
    }
    cholesky(y, 0.0, c, c_t, inv_c);
    for (int a = 0; a < tiles; ++a) {
        for (int b = 0; b < tiles; ++b) {
            for (int k = b; k < tiles; ++k) subtract_product(minus_xc(a, b), x(a, k), c(k, b), k > b);
        }
    }
    for (int a = 0; a < tiles; ++a) {
        for (int b = a; b < tiles; ++b) {
            for (int k = a; k < tiles; ++k) subtract_product(y(a, b), c_t(a, k), minus_xc(k, b), k > a);  // C' X C
        }
    }
    cholesky(y, 1.0, r, r_t, inv_r);
    const Tiles minus_t = answers.minus_t(eight), t_transposed = answers.t_transposed(eight);
    const Tiles t_x = answers.t_x(eight), y_t = answers.y_t(eight);
    for (int b = 0; b < tiles; ++b) {  // one column after the other: -R^-1 C', -(R R')^-1 C', -T
        for (int a = 0; a < tiles; ++a) {
            if (a <= b) {
                copy_tile(solved(a, b), c_t(a, b), -1.0);
            } else {
                clear_tile(solved(a, b));
            }
            for (int k = 0; k < a; ++k) subtract_product(solved(a, b), r(a, k), solved(k, b), true);
            solve_lower(solved(a, b), r(a, a), inv_r + ROW * a);
        }
        for (int a = tiles - 1; a >= 0; --a) {
            for (int k = a + 1; k < tiles; ++k) subtract_product(solved(a, b), r_t(a, k), solved(k, b), true);
            solve_upper(solved(a, b), r_t(a, a), inv_r + ROW * a);
        }
        for (int a = tiles - 1; a >= 0; --a) {
            copy_tile(minus_t(a, b), solved(a, b), 1.0);
            for (int k = a + 1; k < tiles; ++k) subtract_product(minus_t(a, b), c_t(a, k), minus_t(k, b), true);
            solve_upper(minus_t(a, b), c_t(a, a), inv_c + ROW * a);
            transpose_tile(t_transposed(b, a), minus_t(a, b), -1.0);
            for (int k = 0; k <= a; ++k) subtract_product(y_t(a, b), c(a, k), solved(k, b), k > 0);
        }
    }
    for (int a = 0; a < tiles; ++a) {
        for (int b = 0; b < tiles; ++b) {
            for (int k = 0; k < tiles; ++k) subtract_product(t_x(a, b), minus_t(a, k), x(k, b), k > 0);
        }
    }
}

// factors @ matrix times the columns' inv_diag, for eight items; target is the first column's, columns are `step` apart and
// factors `stride`.
METRICFIT_INLINE void answer_columns(double* METRICFIT_RESTRICT target, std::ptrdiff_t step, std::ptrdiff_t stride, Matrix factors,
                                     Tiles matrix, const double* METRICFIT_RESTRICT inv_diag, std::ptrdiff_t stride_diag,
                                     int count) {
    for (int x = 0; x < matrix.count; ++x) {
        for (int k = 0; k < matrix.count; ++k) {
#pragma GCC unroll 4
            for (int i = 0; i < LANES; i += WIDTH) {
                Vector tile[4][4];
#pragma GCC unroll 4
                for (int r = 0; r < 4; ++r) {
#pragma GCC unroll 4
                    for (int c = 0; c < 4; ++c) tile[r][c] = load(matrix(k, x) + entry(r, c) + i);
                }
                for (int a = 0; a < count; ++a) {
                    const double* f = factors[a] + 4 * k;
                    const Vector d = load(inv_diag + a * stride_diag + i);
                    const Vector v0 = f[0] * d, v1 = f[1] * d, v2 = f[2] * d, v3 = f[3] * d;
                    double* own = target + a * step + 4 * x * stride + i;
#pragma GCC unroll 4
                    for (int c = 0; c < 4; ++c) {
                        const Vector before = k > 0 ? load(own + c * stride) : Vector{};
                        const Vector value = v0 * tile[0][c] + v1 * tile[1][c] + v2 * tile[2][c] + v3 * tile[3][c];
                        store(own + c * stride, before + value);
                    }
                }
            }
        }
    }
}

// Computes how every item answers.
inline void reduce_items(const Problem& problem, const Iterate& it, const Workspace& w) {
    const int q = it.adversary.used, f = it.predictor.used, constraints = problem.constraints, groups = problem.groups;
    if (f == 0) return;
    const Answers answers = answers_of(problem, it, w);
    const std::ptrdiff_t stride = whole_eights(groups), step = stride * w.wide;
    const Matrix inv_diag = w.adversary.inv_diag, inv_diag_p = w.predictor.inv_diag;
    double *met = answers.met(0)[0], *met_p = answers.met(q)[0], *seen = answers.seen(0)[0], *seen_p = answers.seen(q)[0];
    for (int eight = 0; eight < eights(groups); ++eight) {
        const int i = LANES * eight;
        couple(w, answers, eight);
        const double *d = inv_diag[0] + i, *d_p = inv_diag_p[0] + i;
        answer_columns(met + i, step, stride, w.basis, answers.t_x(eight), d, inv_diag.stride, q);
        answer_columns(seen + i, step, stride, w.basis, answers.minus_t(eight), d, inv_diag.stride, q);
        answer_columns(met_p + i, step, stride, w.cross_on, answers.t_transposed(eight), d_p, inv_diag_p.stride, f);
        answer_columns(seen_p + i, step, stride, w.cross_on, answers.y_t(eight), d_p, inv_diag_p.stride, f);
    }
    for (int c = 0; c < constraints; ++c) {  // a constraint's price enters the predictor's columns by their gains
        for (int kind = 0; kind < 2; ++kind) {
            const auto answer = [=](int column) { return kind == 0 ? answers.met(column) : answers.seen(column); };
            for (int r = 0; r < w.wide; ++r) {
                double* METRICFIT_RESTRICT own = answer(q + f + c)[r];
                for (int i = 0; i < static_cast<int>(stride); ++i) own[i] = 0.0;
                for (int a = 0; a < f; ++a) {
                    const double gain = problem.gain[c][it.predictor.size_index[a]];
                    const double* METRICFIT_RESTRICT of_column = answer(q + a)[r];
                    for (int i = 0; i < groups; ++i) own[i] -= gain * problem.positive[i] * of_column[i];
                }
            }
        }
    }
}

}  // namespace metricfit::METRICFIT_TARGET
