// The Newton step of the interior-point method, in time linear in the number of items.
//
// Linearising the optimality conditions and eliminating the items' marginals leaves
//
//     (Theta + U W U') dr - Phi x = d,        Phi' dr + S x = b
//
// for the chain's probabilities r and a short border x (masses, prices, value, multipliers). Here Theta = diag(t / r) with
// the chain's slacks t, the rows of U are the chain's factors of alpha (coupling.hpp), and W describes the overlap of
// its sets. filtering.hpp eliminates the chain as well, and a small dense system is left for the border.
//
// Border order: see Border in state.hpp.
#pragma once

#include "filtering.hpp"

namespace metricfit::METRICFIT_TARGET {

// Fills a column of `target` for each of a player's first columns: sums over the items of what it answers to another column,
// weighed by the items' numbers and inv_diag; plain, times its own `out`, times the other's `out`, and times both. `rows` is
// what it answers to. FACTORS is their number if it is known, otherwise 0.
template <int FACTORS>
inline void border_entries_of(Matrix target, const Side& side, Matrix factors, Matrix rows, const double* out, int count,
                              int factor_count, int groups) {
    const int wide = FACTORS > 0 ? FACTORS : factor_count;
    for (int b = 0; b < count; ++b) {
        const double *factor = factors[b], *weighed = side.weighed[b], *weighed_out = side.weighed_out[b];
        Vector total[4] = {};
        for (int i = 0; i < whole_eights(groups); i += WIDTH) {
            Vector value = {};
#pragma GCC unroll 4
            for (int r = 0; r < wide; ++r) value += factor[r] * load(rows[r] + i);
            const Vector plain = load(weighed + i) * value, own = load(weighed_out + i) * value, other = load(out + i);
            total[0] += plain;
            total[1] += own;
            total[2] += plain * other;
            total[3] += own * other;
        }
        for (int k = 0; k < 4; ++k) target[k][b] = sum_of(total[k]);
    }
}
METRICFIT_INLINE void border_entries(Matrix target, const Side& side, Matrix factors, Matrix rows, const double* out, int count,
                                     int wide, int groups) {
    if (wide == 4) return border_entries_of<4>(target, side, factors, rows, out, count, wide, groups);
    border_entries_of<0>(target, side, factors, rows, out, count, wide, groups);
}

// Sums over the items of one column.
struct ColumnSums {
    double plain, own, twice, outside;  // weighed by inv_diag: times `out` never, once, twice; and `out` itself
};
METRICFIT_INLINE ColumnSums sum_column(const Side& side, const double* weight, int a, int groups) {
    const double *weighed = side.weighed[a], *weighed_out = side.weighed_out[a], *out = side.out[a];
    ColumnSums sums{0.0, 0.0, 0.0, 0.0};
    for (int i = 0; i < groups; ++i) {
        sums.plain += weighed[i];
        sums.own += weighed_out[i];
        sums.twice += weighed_out[i] * out[i];
        sums.outside += weight[i] * out[i];
    }
    return sums;
}

inline void border_of_adversary(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
    const Columns& adversary = it.adversary;
    const Answers answers = answers_of(problem, it, w);
    const Matrix border = w.border, sums = w.sums;
    for (int b = 0; b < at.q; ++b) {
        if (at.f > 0) {
            border_entries(sums, w.adversary, w.basis, answers.met(b), w.adversary.out[b], b + 1, w.wide, problem.groups);
            for (int c = 0; c <= b; ++c) {
                border[at.prices + c][at.prices + b] = sums[0][c];
                border[at.prices + b][at.masses + c] = -sums[1][c];
                border[at.prices + c][at.masses + b] = -sums[2][c];
                border[at.masses + c][at.masses + b] = sums[3][c];
            }
        }
        const ColumnSums own = sum_column(w.adversary, problem.weight, b, problem.groups);
        border[at.prices + b][at.prices + b] -= own.plain;
        border[at.prices + b][at.masses + b] += own.own - problem.adversary_sizes[adversary.size_index[b]];
        border[at.masses + b][at.masses + b] += own.outside - own.twice + adversary.dual_mass[b] / adversary.mass[b];
        border[at.masses + b][at.levels] = 1.0;
    }
    for (int b = 0; b < 2; ++b) {
        const int end = MAX_COLUMNS + b, x = at.masses + at.q + b;
        border[x][x] = adversary.dual_mass[end] / adversary.mass[end];
        border[x][at.levels] = 1.0;
    }
}

inline void border_of_predictor(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
    const Columns& predictor = it.predictor;
    const Answers answers = answers_of(problem, it, w);
    const Matrix border = w.border, sums = w.sums;
    const int last = problem.columns - 1;
    for (int a = 0; a < at.f; ++a) {
        const int row = predictor.size_index[a];
        const double *out = w.predictor.out[a], *beta = problem.beta[row];
        border_entries(sums, w.adversary, w.basis, answers.met(at.q + a), out, at.q, w.wide, problem.groups);
        for (int b = 0; b < at.q; ++b) {
            border[at.prices + b][at.prices_p + a] = sums[0][b];
            border[at.masses + b][at.prices_p + a] = -sums[1][b];
            border[a][at.prices + b] = -sums[2][b];
            border[a][at.masses + b] = sums[3][b] + beta[it.adversary.size_index[b]];
        }
        border[a][at.masses + at.q] = beta[0];
        border[a][at.masses + at.q + 1] = beta[last];
        border[a][at.levels + 1] = -1.0;
        border_entries(sums, w.predictor, w.cross_on, answers.seen(at.q + a), out, a + 1, w.wide, problem.groups);
        for (int c = 0; c <= a; ++c) {
            border[at.prices_p + c][at.prices_p + a] = -sums[0][c];
            border[c][at.prices_p + a] = sums[1][c];
            border[a][at.prices_p + c] = sums[2][c];
            border[c][a] = -sums[3][c];
        }
        const ColumnSums own = sum_column(w.predictor, problem.weight, a, problem.groups);
        border[at.prices_p + a][at.prices_p + a] += own.plain;
        border[a][at.prices_p + a] += problem.predictor_sizes[row] - own.own;
        border[a][a] += own.twice - own.outside - predictor.dual_mass[a] / predictor.mass[a];
    }
}

inline void border_of_constraints(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
    const Answers answers = answers_of(problem, it, w);
    const Matrix border = w.border, sums = w.sums;
    double* positive = w.scratch[0];  // filled up to whole eights
    for (int i = 0; i < whole_eights(problem.groups); ++i) positive[i] = i < problem.groups ? problem.positive[i] : 0.0;
    for (int c = 0; c < problem.constraints; ++c) {
        const int x = at.multipliers + c, column = at.q + at.f + c;
        border[x][x] += it.multiplier_slack[c] / it.multiplier[c];
        if (at.f == 0) continue;
        border_entries(sums, w.adversary, w.basis, answers.met(column), positive, at.q, w.wide, problem.groups);
        for (int b = 0; b < at.q; ++b) {
            border[at.prices + b][x] = sums[0][b];
            border[at.masses + b][x] = -sums[1][b];
        }
        border_entries(sums, w.predictor, w.cross_on, answers.seen(column), positive, at.f, w.wide, problem.groups);
        for (int a = 0; a < at.f; ++a) {
            const int row = it.predictor.size_index[a];
            const double *weighed = w.predictor.weighed[a], *weighed_out = w.predictor.weighed_out[a];
            const double gain = problem.gain[c][row];
            const double hits = thread_sum(problem.groups, [=](int i) { return positive[i] * weighed[i]; });
            const double hits_out = thread_sum(problem.groups, [=](int i) { return positive[i] * weighed_out[i]; });
            border[a][x] = gain * hits_out + sums[1][a] + problem.offset[c][row];
            border[at.prices_p + a][x] = -sums[0][a] - gain * hits;
            for (int d = 0; d < problem.constraints; ++d) {
                border[at.multipliers + d][x] += problem.gain[d][row] * (gain * hits + sums[2][a]);
            }
        }
    }
}

// The border of the Newton system without the items' marginals; upper triangle.
inline void eliminate_items(const Problem& problem, const Iterate& it, const Workspace& w) {
    const Border at = border_of(problem, it);
    for (int x = 0; x < fours(at.m); ++x) {
        double* row = w.border[x];
        for (int y = x / LANES * LANES; y < whole_eights(at.m); y += WIDTH) store(row + y, Vector{});
    }
    border_of_adversary(problem, it, w, at);
    border_of_predictor(problem, it, w, at);
    if (problem.constraints > 0) border_of_constraints(problem, it, w, at);
}

// Eliminates the items, then the chain, and factorises what remains.
inline void factorise(const Problem& problem, Iterate& it, Workspace& w, double regularisation) {
    weigh(problem, it.adversary, w.adversary, regularisation);
    weigh(problem, it.predictor, w.predictor, regularisation);
    reduce_items(problem, it, w);
    eliminate_items(problem, it, w);
    filter_chain(problem, it, w);
    ldl_factorise(w.border, border_of(problem, it).m, w.reciprocal);
}

}  // namespace metricfit::METRICFIT_TARGET
