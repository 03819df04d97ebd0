// The right-hand sides of the Newton system, and its solution with the factors of elimination.hpp.
#pragma once

#include "elimination.hpp"
#include "residuals.hpp"

namespace metricfit {
inline namespace METRICFIT_TARGET {

// Right-hand sides of the items' equations, and what `outside` adds to those of the masses.
inline void right_hand_sides(const Problem& problem, const Workspace& w, const Border& at) {
    const int groups = problem.groups;
    const double* METRICFIT_RESTRICT weight = problem.weight;
    each(whole_eights(at.m), [&](int x) { w.step[x] = x < at.m ? -w.residual_border[x] : 0.0; });
    each(at.q, [&](int b) {
        const double *METRICFIT_RESTRICT in = w.adversary.comp_inside[b], *METRICFIT_RESTRICT out = w.adversary.comp_outside[b];
        const double* METRICFIT_RESTRICT neg_residual = w.adversary.neg_residual[b];
        double* METRICFIT_RESTRICT rhs = w.adversary.rhs[b];
        double outside = 0.0;
        for (int i = 0; i < groups; ++i) {
            rhs[i] = in[i] - out[i] + neg_residual[i];
            outside += weight[i] * out[i];
        }
        w.step[at.masses + b] += outside + w.comp_mass[b];
    });
    each(at.f, [&](int a) {
        const double *METRICFIT_RESTRICT in = w.predictor.comp_inside[a], *METRICFIT_RESTRICT out = w.predictor.comp_outside[a];
        const double* METRICFIT_RESTRICT neg_residual = w.predictor.neg_residual[a];
        double* METRICFIT_RESTRICT rhs = w.predictor.rhs[a];
        double outside = 0.0;
        for (int i = 0; i < groups; ++i) {
            rhs[i] = in[i] - out[i] - neg_residual[i];
            outside += weight[i] * out[i];
        }
        w.step[a] -= outside + w.comp_mass_p[a];
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
            step[at.prices + b] -= sum(groups, [=](int i) { return weight[i] * own[i]; });
            step[at.masses + b] += sum(groups, [=](int i) { return weight[i] * own[i] * out[i]; });
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
            const double hits = sum(groups, [&](int i) { return problem.weight[i] * problem.positive[i] * own[i]; });
            step[at.multipliers + c] -= problem.gain[c][it.predictor.size_index[a]] * hits;
        }
    });
}

// Filters the chain's right-hand side; `scaled` receives what its sets observe, divided by the variance.
inline void filter_right_hand_side(const Problem& problem, const Workspace& w, double* scaled) {
    double* state = w.running;
    for (int r = 0; r < w.wide; ++r) state[r] = 0.0;
    for (int j = 0; j <= problem.groups; ++j) {
        double value = w.residual_chain[j] + w.comp_chain[j];
        if (j > 0) {
            const int i = j - 1;
            const double *seen = moment(w.seen, w, i / LANES) + i % LANES, *on = w.chain_on[j], *gain = w.kalman_gain[j];
            const double weight = problem.weight[i];
            double observed = 0.0;
            for (int r = 0; r < w.wide; r += 4) {
                double moved[4];
                for (int k = 0; k < 4; ++k) moved[k] = state[r + k] + weight * seen[LANES * (r + k)];
                for (int k = 0; k < 4; ++k) state[r + k] = moved[k];
                observed += (on[r] * moved[0] + on[r + 1] * moved[1]) + (on[r + 2] * moved[2] + on[r + 3] * moved[3]);
            }
            value -= observed;
            for (int r = 0; r < w.wide; ++r) state[r] += gain[r] * value;
        }
        scaled[j] = value * w.precision[j];
    }
}

// The chain's step backwards, and with its running sum what the items have to answer, `pull`.
inline void solve_chain(const Problem& problem, const Workspace& w, const double* scaled, const double* innovated) {
    double* state = w.running;
    for (int r = 0; r < w.wide; ++r) state[r] = 0.0;
    for (int j = problem.groups; j >= 0; --j) {
        const double *on = w.chain_on[j], *gain = w.kalman_gain[j];
        double value = scaled[j] + innovated[j] * w.precision[j];
        for (int r = 0; r < w.wide; r += 4) {
            value -= (gain[r] * state[r] + gain[r + 1] * state[r + 1]) + (gain[r + 2] * state[r + 2] + gain[r + 3] * state[r + 3]);
        }
        w.step_chain[j] = value;
        if (j == 0) break;
        double* pull = moment(w.pull, w, (j - 1) / LANES) + (j - 1) % LANES;
        for (int r = 0; r < w.wide; ++r) {
            state[r] += on[r] * value;
            pull[LANES * r] = -state[r];
        }
    }
}

// Adds what the border's step does to the right-hand sides of the items' equations.
inline void add_border(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
    const int groups = problem.groups;
    each(at.q, [&](int b) {
        const double price = w.step[at.prices + b], mass = w.step[at.masses + b];
        const double* METRICFIT_RESTRICT out = w.adversary.out[b];
        double* METRICFIT_RESTRICT rhs = w.adversary.rhs[b];
        for (int i = 0; i < groups; ++i) rhs[i] += out[i] * mass - price;
    });
    each(at.f, [&](int a) {
        const int row = it.predictor.size_index[a];
        const double price = w.step[at.prices_p + a], mass = w.step[a];
        const double bonus = sum(problem.constraints, [&](int c) { return problem.gain[c][row] * w.step[at.multipliers + c]; });
        const double *METRICFIT_RESTRICT out = w.predictor.out[a], *METRICFIT_RESTRICT positive = problem.positive;
        double* METRICFIT_RESTRICT rhs = w.predictor.rhs[a];
        for (int i = 0; i < groups; ++i) rhs[i] += out[i] * mass - price + positive[i] * bonus;
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
    filter_right_hand_side(problem, w, scaled);
    subtract_rows(w.step, scaled, w.innovation, sets, 0, until);
    ldl_solve(w.border, rows, w.reciprocal, w.step);
    multiply_rows(innovated, w.innovation, w.step, sets, until);
    solve_chain(problem, w, scaled, innovated);
    add_border(problem, it, w, at);
    answer_items(problem, it, w);
}

}  // namespace METRICFIT_TARGET
}  // namespace metricfit
