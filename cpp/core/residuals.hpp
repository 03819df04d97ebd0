// Residuals of every linear equation of the optimality conditions; and the tables where columns in play meet.
#pragma once

#include "coupling.hpp"
#include "filtering.hpp"

namespace metricfit {
inline namespace METRICFIT_TARGET {

// Looks up the tables where columns in play meet the chain and each other, and what follows from that.
inline void gather_tables(const Problem& problem, Iterate& it, Workspace& w, double left_aside) {
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
    });
    each(predictor.used, q, [&](int a, int b) {
        w.cross[a][b] = w.cross_t[b][a] = problem.alpha[predictor.size_index[a]][adversary.size_index[b]];
    });
    fill_up(adversary, w.adversary, problem.groups);
    fill_up(predictor, w.predictor, problem.groups);
    lay_out_chain(problem, it, w);
    factorise_alpha(problem, it, w, left_aside);
}

// Residuals of the items' equations. Only up to whole eights of items, and of columns in fours; see subtract_from_four.
inline void item_residuals(const Problem& problem, const Iterate& it, const Workspace& w) {
    const Columns &adversary = it.adversary, &predictor = it.predictor;
    const int q = adversary.used, f = predictor.used, groups = problem.groups;
    each(f, [&](int a) {
        const int row = predictor.size_index[a];
        const double price = predictor.price[a];
        const double bonus = sum(problem.constraints, [&](int c) { return it.multiplier[c] * problem.gain[c][row]; });
        const double *METRICFIT_RESTRICT dual_in = predictor.dual_inside[a], *METRICFIT_RESTRICT dual_out = predictor.dual_outside[a];
        const double* METRICFIT_RESTRICT positive = problem.positive;
        double* METRICFIT_RESTRICT target = w.predictor.neg_residual[a];
        for (int i = 0; i < groups; ++i) target[i] = price - bonus * positive[i] - dual_in[i] + dual_out[i];
    });
    subtract_products(w.predictor.neg_residual, w.cross_t, adversary.inside, f, q, groups);
    // What the chain takes from an item are its sets from there on.
    each(q, [&](int b) {
        double* target = w.adversary.neg_residual[b];
        double taken = 0.0;
        for (int j = groups; j > 0; --j) {
            taken -= it.chain_mass[j] * w.chain_alpha[j][b];
            target[j - 1] = taken;
        }
    });
    subtract_products(w.adversary.neg_residual, w.cross, predictor.inside, q, f, groups);
    each(q, [&](int b) {
        const double price = adversary.price[b];
        const double *METRICFIT_RESTRICT dual_in = adversary.dual_inside[b], *METRICFIT_RESTRICT dual_out = adversary.dual_outside[b];
        const double* METRICFIT_RESTRICT score = problem.score;
        double* METRICFIT_RESTRICT target = w.adversary.neg_residual[b];
        for (int i = 0; i < groups; ++i) target[i] += score[i] - price + dual_in[i] - dual_out[i];
    });
}

// Residuals of the adversary's masses and prices, and of the sum of its masses.
inline void adversary_residuals(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
    const Columns &adversary = it.adversary, &predictor = it.predictor;
    const int q = at.q, groups = problem.groups;
    double* residual = w.residual_border;
    each(q + 2, [&](int b) {
        const int end = MAX_COLUMNS + b - q;
        const int column = b < q ? adversary.size_index[b] : b == q ? 0 : problem.columns - 1;
        double value = it.eta - adversary.dual_mass[b < q ? b : end];
        for (int j = 0; j <= groups; ++j) value += it.chain_mass[j] * w.chain_beta[j][b];
        for (int a = 0; a < at.f; ++a) value += predictor.mass[a] * problem.beta[predictor.size_index[a]][column];
        if (b < q) {
            const double size = problem.adversary_sizes[column];
            const double *inside = adversary.inside[b], *dual_outside = adversary.dual_outside[b];
            value -= size * adversary.price[b] + sum(groups, [&](int i) { return problem.weight[i] * dual_outside[i]; });
            residual[at.prices + b] = sum(groups, [&](int i) { return problem.weight[i] * inside[i]; }) - size * adversary.mass[b];
        } else if (b > q) {
            value -= sum(groups, [&](int i) { return problem.weight[i] * problem.score[i]; });
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
inline void predictor_residuals(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
    const Columns &adversary = it.adversary, &predictor = it.predictor;
    const int groups = problem.groups;
    each(at.f, [&](int a) {
        const int row = predictor.size_index[a];
        const double *beta = problem.beta[row], size = problem.predictor_sizes[row];
        const double *inside = predictor.inside[a], *dual_outside = predictor.dual_outside[a];
        double value = size * predictor.price[a] + predictor.dual_mass[a] - it.rho;
        value += sum(groups, [&](int i) { return problem.weight[i] * dual_outside[i]; });
        value += beta[0] * adversary.mass[MAX_COLUMNS] + beta[problem.columns - 1] * adversary.mass[MAX_COLUMNS + 1];
        for (int b = 0; b < at.q; ++b) value += beta[adversary.size_index[b]] * adversary.mass[b];
        for (int c = 0; c < problem.constraints; ++c) value += it.multiplier[c] * problem.offset[c][row];
        w.residual_border[a] = value;
        w.residual_border[at.prices_p + a] =
            size * predictor.mass[a] - sum(groups, [&](int i) { return problem.weight[i] * inside[i]; });
    });
}

// Residuals of the chain's sets, and of the sum of the predictor's masses.
inline void chain_residuals(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
    const Columns& adversary = it.adversary;
    const int q = at.q, groups = problem.groups;
    const double empty = adversary.mass[MAX_COLUMNS], full = adversary.mass[MAX_COLUMNS + 1];
    each(groups + 1, [&](int j) {
        const double* beta = w.chain_beta[j];
        double value = it.chain_slack[j] - it.rho + beta[q] * empty + beta[q + 1] * full;
        for (int b = 0; b < q; ++b) value += beta[b] * adversary.mass[b];
        for (int c = 0; c < problem.constraints; ++c) value += it.multiplier[c] * problem.chain_gain[c][j];
        w.residual_chain[j] = value;
    });
    once([&] {
        double* hit = w.running;  // of each column, what is in the set
        for (int b = 0; b < q; ++b) hit[b] = 0.0;
        for (int j = 1; j <= groups; ++j) {
            double value = 0.0;
            for (int b = 0; b < q; ++b) {
                hit[b] += problem.weight[j - 1] * adversary.inside[b][j - 1];
                value += w.chain_alpha[j][b] * hit[b];
            }
            w.residual_chain[j] += value;
        }
        double total = 1.0;
        for (int j = 0; j <= groups; ++j) total -= it.chain_mass[j];
        for (int a = 0; a < at.f; ++a) total -= it.predictor.mass[a];
        w.residual_border[at.levels + 1] = total;
    });
}

// Residuals of the constraints.
inline void constraint_residuals(const Problem& problem, const Iterate& it, const Workspace& w, const Border& at) {
    const Columns& predictor = it.predictor;
    each(problem.constraints, [&](int c) {
        double slack = -it.multiplier_slack[c];
        for (int j = 0; j <= problem.groups; ++j) slack += it.chain_mass[j] * problem.chain_gain[c][j];
        for (int a = 0; a < at.f; ++a) {
            const int row = predictor.size_index[a];
            const double* inside = predictor.inside[a];
            const double hits =
                sum(problem.groups, [&](int i) { return problem.weight[i] * problem.positive[i] * inside[i]; });
            slack += predictor.mass[a] * problem.offset[c][row] + problem.gain[c][row] * hits;
        }
        w.residual_border[at.multipliers + c] = slack;
    });
}

// All residuals. Unless columns or groups have `changed`, what was looked up in the tables is still valid.
inline void evaluate(const Problem& problem, Iterate& it, Workspace& w, bool changed, double left_aside) {
    const Border at = border_of(problem, it);
    if (changed) gather_tables(problem, it, w, left_aside);
    item_residuals(problem, it, w);
    adversary_residuals(problem, it, w, at);
    predictor_residuals(problem, it, w, at);
    chain_residuals(problem, it, w, at);
    constraint_residuals(problem, it, w, at);
}

}  // namespace METRICFIT_TARGET
}  // namespace metricfit
