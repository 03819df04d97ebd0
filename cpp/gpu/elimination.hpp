// The Newton system without items and chain, for a block of threads; see core/elimination.hpp for the method.
#pragma once

#include "gpu/border.hpp"
#include "gpu/filtering.hpp"

namespace metricfit::METRICFIT_TARGET {

// Adds to sums what item i has of column b's answers to another column, weighed by the items' numbers and inv_diag: plain,
// times its own `out`, times the other's `out`, and times both. `rows` is what it answers to.
METRICFIT_INLINE void add_answer(double* sums, const Side& side, const double* factor, Matrix rows, const double* out, int b,
                                 int wide, int i) {
    double value = 0.0;
    for (int r = 0; r < wide; ++r) value += factor[r] * rows[r][i];
    const double weighed = side.weighed[b][i] * value, weighed_out = side.weighed_out[b][i] * value;
    sums[0] += weighed;
    sums[1] += weighed_out;
    sums[2] += weighed * out[i];
    sums[3] += weighed_out * out[i];
}

// Pair number x of a column b and one c that is not behind it.
struct ColumnPair {
    int b, c;
};
METRICFIT_INLINE ColumnPair pair_of(int x) {
    int b = static_cast<int>((std::sqrt(8.0 * x + 1.0) - 1.0) / 2.0);
    while (b * (b + 1) / 2 > x) --b;
    while ((b + 1) * (b + 2) / 2 <= x) ++b;
    return {b, x - b * (b + 1) / 2};
}

// Every pair of columns in play, and of a column and a constraint.
METRICFIT_FUNCTION void border_of_pairs(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
    const Answers answers = answers_of(problem, it, w);
    const Matrix border = w.border;
    const int q = at.q, f = at.f, wide = w.wide, groups = problem.groups;
    const Side &adversary = w.adversary, &predictor = w.predictor;
    row_sums<4>(q * (q + 1) / 2, groups,
                [&](int x, int i, double* sums) {
                    const ColumnPair pair = pair_of(x);
                    add_answer(sums, adversary, w.basis[pair.c], answers.met(pair.b), adversary.out[pair.b], pair.c, wide, i);
                },
                [&](int x, int k, double total) {
                    const int b = pair_of(x).b, c = pair_of(x).c;
                    if (k == 0) border[at.prices + c][at.prices + b] = total;
                    if (k == 1) border[at.prices + b][at.masses + c] = -total;
                    if (k == 2 && b != c) border[at.prices + c][at.masses + b] = -total;
                    if (k == 3) border[at.masses + c][at.masses + b] = total;
                });
    row_sums<4>(f * q, groups,
                [&](int x, int i, double* sums) {
                    const int a = x / q, b = x - a * q;
                    add_answer(sums, adversary, w.basis[b], answers.met(q + a), predictor.out[a], b, wide, i);
                },
                [&](int x, int k, double total) {
                    const int a = x / q, b = x - a * q;
                    const double beta = problem.beta[it.predictor.size_index[a]][it.adversary.size_index[b]];
                    if (k == 0) border[at.prices + b][at.prices_p + a] = total;
                    if (k == 1) border[at.masses + b][at.prices_p + a] = -total;
                    if (k == 2) border[a][at.prices + b] = -total;
                    if (k == 3) border[a][at.masses + b] = total + beta;
                });
    row_sums<4>(f * (f + 1) / 2, groups,
                [&](int x, int i, double* sums) {
                    const ColumnPair pair = pair_of(x);
                    add_answer(sums, predictor, w.cross_on[pair.c], answers.seen(q + pair.b), predictor.out[pair.b], pair.c,
                               wide, i);
                },
                [&](int x, int k, double total) {
                    const int a = pair_of(x).b, c = pair_of(x).c;
                    if (k == 0) border[at.prices_p + c][at.prices_p + a] = -total;
                    if (k == 1) border[c][at.prices_p + a] = total;
                    if (k == 2 && a != c) border[a][at.prices_p + c] = total;
                    if (k == 3) border[c][a] = -total;
                });
    row_sums<4>(problem.constraints * q, groups,
                [&](int x, int i, double* sums) {
                    const int c = x / q, b = x - c * q;
                    add_answer(sums, adversary, w.basis[b], answers.met(q + f + c), problem.positive, b, wide, i);
                },
                [&](int x, int k, double total) {
                    const int c = x / q, b = x - c * q;
                    if (k == 0) border[at.prices + b][at.multipliers + c] = total;
                    if (k == 1) border[at.masses + b][at.multipliers + c] = -total;
                });
}

// Sums over the items of a player's columns, weighed by inv_diag: times `out` never, once and twice; and of `out` itself.
METRICFIT_FUNCTION void sum_columns(const Side& side, const double* weight, int columns, int groups, Matrix sums) {
    row_sums<4>(columns, groups,
                [&](int a, int i, double* own) {
                    const double out = side.out[a][i], weighed_out = side.weighed_out[a][i];
                    own[0] += side.weighed[a][i];
                    own[1] += weighed_out;
                    own[2] += weighed_out * out;
                    own[3] += weight[i] * out;
                },
                [&](int a, int k, double total) { sums[k][a] = total; });
}

// What columns add for themselves, and the rest of the border.
METRICFIT_FUNCTION void border_of_columns(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
    const Columns &adversary = it.adversary, &predictor = it.predictor;
    const Matrix border = w.border, sums = w.sums;
    const int q = at.q, f = at.f, groups = problem.groups, last = problem.columns - 1;
    sum_columns(w.adversary, problem.weight, q, groups, sums);
    each(q, [&](int b) {
        border[at.prices + b][at.prices + b] -= sums[0][b];
        border[at.prices + b][at.masses + b] += sums[1][b] - problem.adversary_sizes[adversary.size_index[b]];
        border[at.masses + b][at.masses + b] += sums[3][b] - sums[2][b] + adversary.dual_mass[b] / adversary.mass[b];
        border[at.masses + b][at.levels] = 1.0;
    });
    each(2, [&](int b) {
        const int end = MAX_COLUMNS + b, x = at.masses + q + b;
        border[x][x] = adversary.dual_mass[end] / adversary.mass[end];
        border[x][at.levels] = 1.0;
    });
    sum_columns(w.predictor, problem.weight, f, groups, sums);
    each(f, [&](int a) {
        const double* beta = problem.beta[predictor.size_index[a]];
        border[a][at.masses + q] = beta[0];
        border[a][at.masses + q + 1] = beta[last];
        border[a][at.levels + 1] = -1.0;
        border[at.prices_p + a][at.prices_p + a] += sums[0][a];
        border[a][at.prices_p + a] += problem.predictor_sizes[predictor.size_index[a]] - sums[1][a];
        border[a][a] += sums[2][a] - sums[3][a] - predictor.dual_mass[a] / predictor.mass[a];
    });
}

METRICFIT_FUNCTION void border_of_constraints(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
    const Answers answers = answers_of(problem, it, w);
    const Matrix border = w.border;
    const int groups = problem.groups;
    for (int c = 0; c < problem.constraints; ++c) {
        const int x = at.multipliers + c;
        once([&] { border[x][x] += it.multiplier_slack[c] / it.multiplier[c]; });
        row_sums<4>(at.f, groups,
                    [&](int a, int i, double* sums) {
                        add_answer(sums, w.predictor, w.cross_on[a], answers.seen(at.q + at.f + c), problem.positive, a,
                                   w.wide, i);
                    },
                    [&](int a, int k, double total) { w.sums[k][a] = total; });
        row_sums<2>(at.f, groups,
                    [&](int a, int i, double* hits) {
                        hits[0] += problem.positive[i] * w.predictor.weighed[a][i];
                        hits[1] += problem.positive[i] * w.predictor.weighed_out[a][i];
                    },
                    [&](int a, int k, double total) { (k == 0 ? w.running : w.running_2)[a] = total; });
        each(at.f, [&](int a) {
            const int row = it.predictor.size_index[a];
            const double gain = problem.gain[c][row], hits = gain * w.running[a];
            border[a][x] = gain * w.running_2[a] + w.sums[1][a] + problem.offset[c][row];
            border[at.prices_p + a][x] = -w.sums[0][a] - hits;
            w.sums[3][a] = hits + w.sums[2][a];
        });
        each(problem.constraints, [&](int d) {
            double value = 0.0;
            for (int a = 0; a < at.f; ++a) value += problem.gain[d][it.predictor.size_index[a]] * w.sums[3][a];
            border[at.multipliers + d][x] += value;
        });
    }
}

// Eliminates the items, then the chain, and factorises what remains.
METRICFIT_FUNCTION void factorise(const Problem& problem, Iterate& it, Workspace& w, double regularisation) {
    const Border at = border_of(problem, it);
    weigh(problem, it.adversary, w.adversary, regularisation);
    weigh(problem, it.predictor, w.predictor, regularisation);
    reduce_items(problem, it, w);
    // Unknowns that are not there fill whole eights, as on the CPU.
    const int until = whole_eights(at.m);
    each(until, until, [&](int x, int y) { w.border[x][y] = x >= at.m && x == y ? 1.0 : 0.0; });
    if (at.f > 0) border_of_pairs(problem, it, w, at);
    border_of_columns(problem, it, w, at);
    border_of_constraints(problem, it, w, at);
    filter_chain(problem, it, w);
    ldl_factorise(w.border, fours(at.m), w.reciprocal);
}

}  // namespace metricfit::METRICFIT_TARGET
