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
// where s = c + U' E^-1 h, t = V' D^-1 g and T = (I + X Y)^-1. Items are taken as many at a time as a vector holds, with
// their matrices in small_matrices.hpp. The last eight are filled up with items that weigh nothing.
// Here the matrices are computed, in answering.hpp they are applied.
#pragma once

#include "state.hpp"
#include "small_matrices.hpp"

namespace metricfit::METRICFIT_TARGET {

// Items that weigh nothing complete the last eight.
inline void fill_up(const Columns& columns, const Side& side, int groups) {
    for (int a = 0; a < columns.used; ++a) {
        for (int i = groups; i < whole_eights(groups); ++i) {
            side.inv_diag[a][i] = 1.0;
            side.out[a][i] = side.weighed[a][i] = side.weighed_out[a][i] = side.rhs[a][i] = 0.0;
        }
    }
}

// How items answer: their matrices, eight items after eight items; and column by column, along the items. Densely packed, as
// ranks are small. The columns are the adversary's, the predictor's, and one for each constraint.
struct Answers {
    double* data;
    double* columns;
    int q, f, constraints, wide, groups;

    // Those of an item and of the others in its vector.
    template <int WIDE>
    METRICFIT_INLINE SmallMatrix<WIDE> matrix(int which, int item) const {
        const std::ptrdiff_t eight = which * eights(groups) + item / LANES;
        return {data + eight * LANES * wide * wide + item % LANES, wide};
    }
    template <int WIDE>
    METRICFIT_INLINE SmallMatrix<WIDE> t(int item) const { return matrix<WIDE>(0, item); }  // T
    template <int WIDE>
    METRICFIT_INLINE SmallMatrix<WIDE> t_x(int item) const { return matrix<WIDE>(1, item); }  // T X
    template <int WIDE>
    METRICFIT_INLINE SmallMatrix<WIDE> y_t(int item) const { return matrix<WIDE>(2, item); }  // Y T

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

// T and its products for as many items as a vector holds, by the Cholesky factors C of Y and R of I + C' X C.
//
// T = C'^-1 (R R')^-1 C': triangular factors lose little to rounding if the diagonals differ widely.
template <int WIDE>
inline void couple(const Workspace& w, const Answers& answers, int item) {
    using Small = SmallMatrix<WIDE>;
    const int wide = WIDE > 0 ? WIDE : answers.wide;
    const auto scratch = [&](int which) { return Small{w.coupling + which * LANES * wide * wide, wide}; };
    const Small x = scratch(0), c = scratch(1), r = scratch(2), z = scratch(3);
    double *inv_c = w.coupling + 4 * LANES * wide * wide, *inv_r = inv_c + LANES * wide;
    gram(x, w.cross_on, w.predictor.inv_diag[0] + item, w.predictor.inv_diag.stride, answers.f);
    gram(c, w.basis, w.adversary.inv_diag[0] + item, w.adversary.inv_diag.stride, answers.q);
    for (int a = w.rank; a < wide; ++a) c.set(a, a, all(1.0));  // factors that are not there; nothing comes of them
    cholesky(c, 0.0, inv_c);
    fill(z, [=](int a, int b) { return vector_sum(b, wide, [=](int j) { return x(a, j) * c(j, b); }); });  // X C
    fill(r, [=](int a, int b) { return vector_sum(a, wide, [=](int j) { return c(j, a) * z(j, b); }); });  // C' X C
    cholesky(r, 1.0, inv_r);
    const Small t = answers.t<WIDE>(item), t_x = answers.t_x<WIDE>(item), y_t = answers.y_t<WIDE>(item);
    fill(z, [=](int a, int b) { return a <= b ? c(b, a) : Vector{}; });
    solve_lower(r, inv_r, z);
    solve_transposed(r, inv_r, z, z);
    solve_transposed(c, inv_c, z, t);
    fill(y_t, [=](int a, int b) { return vector_sum(0, a + 1, [=](int j) { return c(a, j) * z(j, b); }); });
    fill(t_x, [=](int a, int b) { return vector_sum(0, wide, [=](int j) { return t(a, j) * x(j, b); }); });
}

// factors @ matrix times the columns' inv_diag; target is the first column's, columns are `step` apart and factors `stride`.
template <class Entry>
METRICFIT_INLINE void answer_columns(double* METRICFIT_RESTRICT target, std::ptrdiff_t step, std::ptrdiff_t stride, Matrix factors,
                                     Entry matrix, int wide, const double* METRICFIT_RESTRICT inv_diag,
                                     std::ptrdiff_t stride_diag, int count) {
    for (int x = 0; x < wide; x += 4) {
        for (int k = 0; k < wide; k += 4) {
            Vector block[4][4];
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r) {
#pragma GCC unroll 4
                for (int c = 0; c < 4; ++c) block[r][c] = matrix(k + r, x + c);
            }
            for (int a = 0; a < count; ++a) {
                const double* f = factors[a] + k;
                const Vector d = load(inv_diag + a * stride_diag);
                const Vector v0 = f[0] * d, v1 = f[1] * d, v2 = f[2] * d, v3 = f[3] * d;
                double* own = target + a * step + x * stride;
#pragma GCC unroll 4
                for (int c = 0; c < 4; ++c) {
                    const Vector before = k > 0 ? load(own + c * stride) : Vector{};
                    const Vector value = v0 * block[0][c] + v1 * block[1][c] + v2 * block[2][c] + v3 * block[3][c];
                    store(own + c * stride, before + value);
                }
            }
        }
    }
}

// Computes how every item answers to the columns.
template <int WIDE>
inline void answer_to_columns(const Workspace& w, const Answers& answers) {
    const int q = answers.q, f = answers.f;
    const std::ptrdiff_t stride = whole_eights(answers.groups), step = stride * answers.wide;
    const Matrix d = w.adversary.inv_diag, d_p = w.predictor.inv_diag;
    for (int i = 0; i < whole_eights(answers.groups); i += WIDTH) {
        couple<WIDE>(w, answers, i);
        const SmallMatrix<WIDE> t = answers.t<WIDE>(i), t_x = answers.t_x<WIDE>(i), y_t = answers.y_t<WIDE>(i);
        const auto of_adversary = [&](Matrix target, auto matrix) {
            answer_columns(target[0] + i, step, stride, w.basis, matrix, t.rows(), d[0] + i, d.stride, q);
        };
        const auto of_predictor = [&](Matrix target, auto matrix) {
            answer_columns(target[0] + i, step, stride, w.cross_on, matrix, t.rows(), d_p[0] + i, d_p.stride, f);
        };
        of_adversary(answers.met(0), t_x);
        of_adversary(answers.seen(0), [=](int r, int c) { return -t(r, c); });
        of_predictor(answers.met(q), [=](int r, int c) { return t(c, r); });
        of_predictor(answers.seen(q), y_t);
    }
}

// Computes how every item answers.
inline void reduce_items(const Problem& problem, const Iterate& it, const Workspace& w) {
    const int q = it.adversary.used, f = it.predictor.used, constraints = problem.constraints, groups = problem.groups;
    if (f == 0) return;
    const Answers answers = answers_of(problem, it, w);
    w.wide == 4 ? answer_to_columns<4>(w, answers) : answer_to_columns<0>(w, answers);
    for (int c = 0; c < constraints; ++c) {  // a constraint's price enters the predictor's columns by their gains
        for (int kind = 0; kind < 2; ++kind) {
            const auto answer = [=](int column) { return kind == 0 ? answers.met(column) : answers.seen(column); };
            for (int r = 0; r < w.wide; ++r) {
                double* METRICFIT_RESTRICT own = answer(q + f + c)[r];
                for (int i = 0; i < whole_eights(groups); ++i) own[i] = 0.0;
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
