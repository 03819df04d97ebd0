// The right-hand sides of the Newton system, and its solution with the factors of elimination.hpp.
#pragma once

#include "kernels.hpp"
#include "residuals.hpp"

namespace metricfit::METRICFIT_TARGET {

// Right-hand sides of the items' equations, and what `outside` adds to those of the masses.
METRICFIT_FUNCTION void right_hand_sides(const Problem& problem, const Workspace& w, const Border& at) {
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
    row_sums(at.q, groups, [&](int b, int i) { return weight[i] * adversary.comp_outside[b][i]; },
             [&](int b, double outside) { w.step[at.masses + b] += outside + w.comp_mass[b]; });
    row_sums(at.f, groups, [&](int a, int i) { return weight[i] * predictor.comp_outside[a][i]; },
             [&](int a, double outside) { w.step[a] -= outside + w.comp_mass_p[a]; });
    each(2, [&](int b) { w.step[at.masses + at.q + b] += w.comp_mass[MAX_COLUMNS + b]; });
    each(problem.constraints, [&](int c) { w.step[at.multipliers + c] += w.comp_multiplier[c]; });
}

// What the items alone would do, times their number: from the border's right-hand sides.
METRICFIT_FUNCTION void subtract_items(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
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
    exchange(problem, it, w);
    sum_steps(problem, w, w.adversary, w.basis, w.met, at.q);
    each(at.q, [&](int b) {
        step[at.prices + b] -= w.sums[0][b];
        step[at.masses + b] += w.sums[1][b];
    });
    sum_steps(problem, w, w.predictor, w.cross_on, w.seen, at.f);
    each(at.f, [&](int a) {
        step[at.prices_p + a] += w.sums[0][a];
        step[a] -= w.sums[1][a];
    });
    if (problem.constraints == 0) return;
    step_columns(problem, w, w.predictor, w.cross_on, w.seen, at.f);
    each(problem.constraints, [&](int c) {
        for (int a = 0; a < at.f; ++a) {
            const double* own = w.predictor.step[a];
            const double hits = thread_sum(groups, [&](int i) { return problem.weight[i] * problem.positive[i] * own[i]; });
            step[at.multipliers + c] -= problem.gain[c][it.predictor.size_index[a]] * hits;
        }
    });
}

// Adds what the border's step does to the right-hand sides of the items' equations.
METRICFIT_FUNCTION void add_border(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
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
METRICFIT_FUNCTION void direction(const Problem& problem, Iterate& it, Workspace& w) {
    const Border at = border_of(problem, it);
    const int sets = problem.groups + 1, until = whole_eights(at.m);
    double *scaled = w.factor, *innovated = w.factor_2;
    right_hand_sides(problem, w, at);
    subtract_items(problem, it, w, at);
    filter_right_hand_side(problem, w, scaled);
    subtract_rows(w.step, scaled, w.innovation, sets, 0, until);
    ldl_solve(w.border, at.m, w.reciprocal, w.step);
    multiply_rows(innovated, w.innovation, w.step, sets, until);
    solve_chain(problem, w, scaled, innovated);
    add_border(problem, it, w, at);
    answer_items(problem, it, w);
}

}  // namespace metricfit::METRICFIT_TARGET
