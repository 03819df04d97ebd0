// The right-hand sides of the Newton system, and its solution with the factors of elimination.hpp.
#pragma once

#include "answering.hpp"
#include "elimination.hpp"
#include "residuals.hpp"

namespace metricfit::METRICFIT_TARGET {

// Right-hand sides of the items' equations, and what `outside` adds to those of the masses.
inline void right_hand_sides(const Problem& problem, const Workspace& w, const Border& at) {
    const int groups = problem.groups;
    const double* weight = problem.weight;
    const Side &adversary = w.adversary, &predictor = w.predictor;
    each(whole_eights(at.m), [&](int x) { w.step[x] = x < at.m ? -w.residual_border[x] : 0.0; });
    each(at.q, groups, [&](int b, int i) {
        adversary.rhs[b][i] = adversary.comp_inside[b][i] - adversary.comp_outside[b][i] + adversary.neg_residual[b][i];
    });
    each(at.f, groups, [&](int a, int i) {
        predictor.rhs[a][i] = predictor.comp_inside[a][i] - predictor.comp_outside[a][i] - predictor.neg_residual[a][i];
    });
    each(at.q, [&](int b) {
        const double* out = adversary.comp_outside[b];
        w.step[at.masses + b] += thread_sum(groups, [=](int i) { return weight[i] * out[i]; }) + w.comp_mass[b];
    });
    each(at.f, [&](int a) {
        const double* out = predictor.comp_outside[a];
        w.step[a] -= thread_sum(groups, [=](int i) { return weight[i] * out[i]; }) + w.comp_mass_p[a];
    });
    each(2, [&](int b) { w.step[at.masses + at.q + b] += w.comp_mass[MAX_COLUMNS + b]; });
    each(problem.constraints, [&](int c) { w.step[at.multipliers + c] += w.comp_multiplier[c]; });
}

// What the items alone would do, times their number: from the border's right-hand sides.
inline void subtract_items(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
    const int groups = problem.groups;
    double* step = w.step;
    each(whole_eights(groups) * w.wide, [&](int x) { w.pull[x] = 0.0; });
    if (at.f == 0) {
        answer_alone(problem, w, at.q);
        each(at.q, [&](int b) {
            const double *weight = problem.weight, *own = w.adversary.step[b], *out = w.adversary.out[b];
            step[at.prices + b] -= thread_sum(groups, [=](int i) { return weight[i] * own[i]; });
            step[at.masses + b] += thread_sum(groups, [=](int i) { return weight[i] * own[i] * out[i]; });
        });
        return;
    }
    exchange(answers_of(problem, it, w), w);
    sum_steps(w.adversary, w.basis, w.met, w, at.q, groups);
    each(at.q, [&](int b) {
        step[at.prices + b] -= w.sums[0][b];
        step[at.masses + b] += w.sums[1][b];
    });
    sum_steps(w.predictor, w.cross_on, w.seen, w, at.f, groups);
    each(at.f, [&](int a) {
        step[at.prices_p + a] += w.sums[0][a];
        step[a] -= w.sums[1][a];
    });
    if (problem.constraints == 0) return;
    step_columns(w.predictor, w.cross_on, w.seen, w, at.f, groups);
    each(problem.constraints, [&](int c) {
        for (int a = 0; a < at.f; ++a) {
            const double* own = w.predictor.step[a];
            const double hits = thread_sum(groups, [&](int i) { return problem.weight[i] * problem.positive[i] * own[i]; });
            step[at.multipliers + c] -= problem.gain[c][it.predictor.size_index[a]] * hits;
        }
    });
}

// Filters the chain's right-hand side; `scaled` receives what its sets observe, divided by the variance. For few factors,
// known as FACTORS, the walk's state stays in registers; 0 is for any number.
template <int FACTORS>
METRICFIT_INLINE void filter_right_hand_side(const Problem& problem, const Workspace& w, double* METRICFIT_RESTRICT scaled) {
    double own[FACTORS > 0 ? FACTORS : MAX_COLUMNS] = {};
    double* state = own;
    const int wide = FACTORS > 0 ? FACTORS : w.wide;
    for (int j = 0; j <= problem.groups; ++j) {
        double value = w.residual_chain[j] + w.comp_chain[j];
        if (j > 0) {
            const int i = j - 1;
            const double *seen = moment(w.seen, w, i / LANES) + i % LANES, *on = w.chain_on[j], *gain = w.kalman_gain[j];
            double observed[4] = {};
#pragma GCC unroll 8
            for (int r = 0; r < wide; ++r) {
                state[r] += problem.weight[i] * seen[LANES * r];
                observed[r % 4] += on[r] * state[r];
            }
            value -= (observed[0] + observed[1]) + (observed[2] + observed[3]);
#pragma GCC unroll 8
            for (int r = 0; r < wide; ++r) state[r] += gain[r] * value;
        }
        scaled[j] = value * w.precision[j];
    }
}

// The chain's step backwards, and with its running sum what the items have to answer, `pull`.
template <int FACTORS>
METRICFIT_INLINE void solve_chain(const Problem& problem, const Workspace& w, const double* METRICFIT_RESTRICT scaled,
                                  const double* METRICFIT_RESTRICT innovated) {
    double own[FACTORS > 0 ? FACTORS : MAX_COLUMNS] = {};
    double* state = own;
    const int wide = FACTORS > 0 ? FACTORS : w.wide;
    for (int j = problem.groups; j >= 0; --j) {
        const double *on = w.chain_on[j], *gain = w.kalman_gain[j];
        double known[4] = {};
#pragma GCC unroll 8
        for (int r = 0; r < wide; ++r) known[r % 4] += gain[r] * state[r];
        const double value = scaled[j] + innovated[j] * w.precision[j] - ((known[0] + known[1]) + (known[2] + known[3]));
        w.step_chain[j] = value;
        if (j == 0) break;
        double* pull = moment(w.pull, w, (j - 1) / LANES) + (j - 1) % LANES;
#pragma GCC unroll 8
        for (int r = 0; r < wide; ++r) {
            state[r] += on[r] * value;
            pull[LANES * r] = -state[r];
        }
    }
}

// Adds what the border's step does to the right-hand sides of the items' equations.
inline void add_border(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
    const int groups = problem.groups;
    const double *positive = problem.positive, *step = w.step;
    const Side &adversary = w.adversary, &predictor = w.predictor;
    double* bonus = w.running;  // of each of the predictor's columns for a positive item
    each(at.f, [&](int a) {
        const int row = it.predictor.size_index[a];
        bonus[a] = thread_sum(problem.constraints, [&](int c) { return problem.gain[c][row] * step[at.multipliers + c]; });
    });
    each(at.q, groups, [&](int b, int i) {
        adversary.rhs[b][i] += adversary.out[b][i] * step[at.masses + b] - step[at.prices + b];
    });
    each(at.f, groups, [&](int a, int i) {
        predictor.rhs[a][i] += predictor.out[a][i] * step[a] - step[at.prices_p + a] + positive[i] * bonus[a];
    });
}

// Solves for the step that removes the residuals and meets the complementarity targets: `step` of the border, `step_chain`,
// and `step` of both players.
inline void direction(const Problem& problem, Iterate& it, Workspace& w) {
    const Border at = border_of(problem, it);
    const int sets = problem.groups + 1, rows = fours(at.m), until = whole_eights(at.m);
    double *scaled = w.factor, *innovated = w.factor_2;
    right_hand_sides(problem, w, at);
    subtract_items(problem, it, w, at);
    switch (w.wide) {
        case 4: filter_right_hand_side<4>(problem, w, scaled); break;
        case 8: filter_right_hand_side<8>(problem, w, scaled); break;
        default: filter_right_hand_side<0>(problem, w, scaled);
    }
    subtract_rows(w.step, scaled, w.innovation, sets, 0, until);
    ldl_solve(w.border, rows, w.reciprocal, w.step);
    multiply_rows(innovated, w.innovation, w.step, sets, until);
    switch (w.wide) {
        case 4: solve_chain<4>(problem, w, scaled, innovated); break;
        case 8: solve_chain<8>(problem, w, scaled, innovated); break;
        default: solve_chain<0>(problem, w, scaled, innovated);
    }
    add_border(problem, it, w, at);
    answer_items(problem, it, w);
}

}  // namespace metricfit::METRICFIT_TARGET
