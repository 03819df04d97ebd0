// Residuals of every linear equation of the optimality conditions; and the tables where columns in play meet.
#pragma once

#include "kernels.hpp"
#include "state.hpp"

namespace metricfit::METRICFIT_TARGET {

// Looks up the tables where columns in play meet the chain and each other, and what follows from that.
METRICFIT_FUNCTION void gather_tables(const Problem& problem, Iterate& it, Workspace& w, double left_aside) {
    const Columns &adversary = it.adversary, &predictor = it.predictor;
    const int q = adversary.used, last = problem.columns - 1;
    each(problem.groups + 1, [&](int j) {
        const double *alpha = problem.alpha[problem.chain[j]], *beta = problem.beta[problem.chain[j]];
        for (int b = 0; b < q; ++b) {
            w.chain_alpha[j][b] = alpha[adversary.size_index[b]];
            w.chain_beta[j][b] = beta[adversary.size_index[b]];
        }
        w.chain_beta[j][q] = beta[0];
        w.chain_beta[j][q + 1] = beta[last];
        for (int b = q; b < whole_eights(q); ++b) w.chain_alpha[j][b] = 0.0;
        for (int b = q + 2; b < whole_eights(q + 2); ++b) w.chain_beta[j][b] = 0.0;
    });
    each(predictor.used, q, [&](int a, int b) {
        w.cross[a][b] = w.cross_t[b][a] = problem.alpha[predictor.size_index[a]][adversary.size_index[b]];
    });
    fill_up(adversary, w.adversary, problem.groups);
    fill_up(predictor, w.predictor, problem.groups);
    lay_out_chain(problem, it, w);
    factorise_alpha(problem, it, w, left_aside);
}

// Minus the residuals of the items' equations. Memory is written up to whole eights of items and fours of columns.
METRICFIT_FUNCTION void item_residuals(const Problem& problem, const Iterate& it, const Workspace& w) {
    const Columns &adversary = it.adversary, &predictor = it.predictor;
    const int q = adversary.used, f = predictor.used, groups = problem.groups;
    const double *score = problem.score, *positive = problem.positive;
    double* bonus = w.running;  // what the constraints pay each column for a positive item
    each(f, [&](int a) {
        const int row = predictor.size_index[a];
        bonus[a] = thread_sum(problem.constraints, [&](int c) { return it.multiplier[c] * problem.gain[c][row]; });
    });
    each(f, groups, [&](int a, int i) {
        w.predictor.neg_residual[a][i] =
            predictor.price[a] - bonus[a] * positive[i] - predictor.dual_inside[a][i] + predictor.dual_outside[a][i];
    });
    subtract_products(w.predictor.neg_residual, w.cross_t, adversary.inside, f, q, groups);
    sum_later_sets(w.adversary.neg_residual, it.chain_mass, w.chain_alpha, q, groups);
    subtract_products(w.adversary.neg_residual, w.cross, predictor.inside, q, f, groups);
    each(q, groups, [&](int b, int i) {
        w.adversary.neg_residual[b][i] +=
            score[i] - adversary.price[b] + adversary.dual_inside[b][i] - adversary.dual_outside[b][i];
    });
}

// Residuals of the adversary's masses and prices, and of the sum of its masses.
METRICFIT_FUNCTION void adversary_residuals(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
    const Columns &adversary = it.adversary, &predictor = it.predictor;
    const int q = at.q, groups = problem.groups;
    double *residual = w.residual_border, *minus_beta = w.running;  // of the chain's sets together
    each(whole_eights(q + 2), [=](int b) { minus_beta[b] = 0.0; });
    subtract_rows(minus_beta, it.chain_mass, w.chain_beta, groups + 1, 0, whole_eights(q + 2));
    const double all_scores = sum(groups, [&](int i) { return problem.weight[i] * problem.score[i]; });
    const double *weight = problem.weight;
    const Matrix inside = adversary.inside, dual_outside = adversary.dual_outside;
    const auto outside = sum_rows(q, groups, w.sums[0], [=](int b, int i) { return weight[i] * dual_outside[b][i]; });
    const auto held = sum_rows(q, groups, w.sums[1], [=](int b, int i) { return weight[i] * inside[b][i]; });
    each(q + 2, [&](int b) {
        const int end = MAX_COLUMNS + b - q;
        const int column = b < q ? adversary.size_index[b] : b == q ? 0 : problem.columns - 1;
        double value = it.eta - adversary.dual_mass[b < q ? b : end] - minus_beta[b];
        for (int a = 0; a < at.f; ++a) value += predictor.mass[a] * problem.beta[predictor.size_index[a]][column];
        if (b < q) {
            const double size = problem.adversary_sizes[column];
            value -= size * adversary.price[b];
            value -= outside(b);
            residual[at.prices + b] = held(b) - size * adversary.mass[b];
        } else if (b > q) {
            value -= all_scores;
        }
        residual[at.masses + b] = value;
    });
    once([&] {
        double total = adversary.mass[MAX_COLUMNS] + adversary.mass[MAX_COLUMNS + 1] - 1.0;
        for (int b = 0; b < q; ++b) total += adversary.mass[b];
        residual[at.levels] = total;
    });
}

// Residuals of the predictor's masses and prices.
METRICFIT_FUNCTION void predictor_residuals(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
    const Columns &adversary = it.adversary, &predictor = it.predictor;
    const double* weight = problem.weight;
    const Matrix inside = predictor.inside, dual_outside = predictor.dual_outside;
    const auto outside = sum_rows(at.f, problem.groups, w.sums[0], [=](int a, int i) { return weight[i] * dual_outside[a][i]; });
    const auto held = sum_rows(at.f, problem.groups, w.sums[1], [=](int a, int i) { return weight[i] * inside[a][i]; });
    each(at.f, [&](int a) {
        const int row = predictor.size_index[a];
        const double *beta = problem.beta[row], size = problem.predictor_sizes[row];
        double value = size * predictor.price[a] + predictor.dual_mass[a] - it.rho;
        value += outside(a);
        value += beta[0] * adversary.mass[MAX_COLUMNS] + beta[problem.columns - 1] * adversary.mass[MAX_COLUMNS + 1];
        for (int b = 0; b < at.q; ++b) value += beta[adversary.size_index[b]] * adversary.mass[b];
        for (int c = 0; c < problem.constraints; ++c) value += it.multiplier[c] * problem.offset[c][row];
        w.residual_border[a] = value;
        w.residual_border[at.prices_p + a] = size * predictor.mass[a] - held(a);
    });
}

// Residuals of the chain's sets, and of the sum of the predictor's masses.
METRICFIT_FUNCTION void chain_residuals(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
    const Columns& adversary = it.adversary;
    const int q = at.q, groups = problem.groups;
    double* mass = w.running;  // those of both ends last
    each(whole_eights(q + 2), [&](int b) {
        mass[b] = b < q ? adversary.mass[b] : b < q + 2 ? adversary.mass[MAX_COLUMNS + b - q] : 0.0;
    });
    multiply_rows(w.residual_chain, w.chain_beta, mass, groups + 1, whole_eights(q + 2));
    each(groups + 1, [&](int j) {
        double value = it.chain_slack[j] - it.rho;
        for (int c = 0; c < problem.constraints; ++c) value += it.multiplier[c] * problem.chain_gain[c][j];
        w.residual_chain[j] += value;
    });
    add_earlier_items(w.residual_chain, w.chain_alpha, problem.weight, adversary.inside, q, groups);
    const double rest = less_sum(1.0, groups + 1, [&](int j) { return it.chain_mass[j]; });
    once([&] {
        double total = rest;
        for (int a = 0; a < at.f; ++a) total -= it.predictor.mass[a];
        w.residual_border[at.levels + 1] = total;
    });
}

// Residuals of the constraints.
METRICFIT_FUNCTION void constraint_residuals(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
    const Columns& predictor = it.predictor;
    each(problem.constraints, [&](int c) {
        double slack = -it.multiplier_slack[c];
        for (int j = 0; j <= problem.groups; ++j) slack += it.chain_mass[j] * problem.chain_gain[c][j];
        for (int a = 0; a < at.f; ++a) {
            const int row = predictor.size_index[a];
            const double* inside = predictor.inside[a];
            const double hits =
                thread_sum(problem.groups, [&](int i) { return problem.weight[i] * problem.positive[i] * inside[i]; });
            slack += predictor.mass[a] * problem.offset[c][row] + problem.gain[c][row] * hits;
        }
        w.residual_border[at.multipliers + c] = slack;
    });
}

// All residuals. Unless columns or groups have `changed`, what was looked up in the tables is still valid.
METRICFIT_FUNCTION void evaluate(const Problem& problem, Iterate& it, Workspace& w, bool changed, double left_aside) {
    const Border at = border_of(problem, it);
    if (changed) gather_tables(problem, it, w, left_aside);
    item_residuals(problem, it, w);
    adversary_residuals(problem, it, w, at);
    predictor_residuals(problem, it, w, at);
    chain_residuals(problem, it, w, at);
    constraint_residuals(problem, it, w, at);
}

}  // namespace metricfit::METRICFIT_TARGET
