// Making every linear equation hold again after new columns have joined.
//
// A column of size k has a price p and for each item two duals with z_i - w_i = v_i - p, where v_i is what the item is
// worth; its own dual is what is left of the player's level after k p + sum_i w_i. When the other player's columns change,
// so do the v_i. The column then takes the price that is central for the new values, and of the items' duals only their
// differences are kept: what both have above zero is as on the central path. Last, the level is lifted until the duals of
// all columns and of all sets of the chain are positive, and that lift is what the duality gap grows by.
#pragma once

#include "growth.hpp"
#include "state.hpp"

namespace metricfit::METRICFIT_TARGET {

// Adapt a column's price and its items' duals to values that have grown by sign * change; returns how much its own dual
// grows.
METRICFIT_FUNCTION double balance(const Problem& problem, Columns& columns, Workspace& w, int a, const double* METRICFIT_RESTRICT change,
                      double sign, double size, double total, double mu) {
    const int groups = problem.groups;
    const double* weight = problem.weight;
    const double *inside = columns.inside[a], *outside = columns.outside[a];
    double *dual_inside = columns.dual_inside[a], *dual_outside = columns.dual_outside[a];
    double *value = w.scratch[0], *per_larger = w.scratch[1], *growth = w.scratch[2];
    each(groups, [=](int i) {
        value[i] = dual_inside[i] - dual_outside[i] + sign * change[i];
        per_larger[i] = 1.0 / larger(inside[i], outside[i]);
    });
    const double slack = sum(groups, [=](int i) { return weight[i] * per_larger[i]; });
    const double item_mu = parameters::path::ITEM_SHARE * mu;
    const double price =
        central_price(value, weight, groups, size, columns.mass[a], item_mu, 0.0, parameters::restoring::PRECISION);
    const double room = parameters::restoring::MOST_LIFT * mu * (1.0 + 2.0 * parameters::path::ITEM_SHARE * total);
    const double share = smaller(item_mu, room / slack);
    each(groups, [=](int i) {
        const double above = share * per_larger[i], excess = value[i] - price, before = dual_outside[i];
        const double after = larger(-excess, 0.0) + above;
        dual_inside[i] = larger(excess, 0.0) + above;
        dual_outside[i] = after;
        growth[i] = weight[i] * (after - before);
    });
    once([&] { columns.price[a] -= price; });
    return size * price - sum(groups, [=](int i) { return growth[i]; });
}

// Give what a column's dual has above the central path to its items; total is their weight.
METRICFIT_FUNCTION void spread(Columns& columns, int a, double total, double mu, int groups) {
    const double excess = (columns.dual_mass[a] - mu / columns.mass[a]) / (total + 1.0);
    if (!(excess > 0.0)) return;
    double *dual_inside = columns.dual_inside[a], *dual_outside = columns.dual_outside[a];
    each(groups, [=](int i) {
        dual_inside[i] += excess;
        dual_outside[i] += excess;
    });
    once([&] { columns.dual_mass[a] -= excess * total; });
}

// By how much a dual that has become `slack` is to be lifted so that it stays well above zero.
METRICFIT_INLINE double lift_of(double slack, double before, double central) {
    return parameters::restoring::FLOOR * (before > 0.0 ? before : central) - slack;
}

// Adapt prices and duals until every linear equation holds; the workspace holds fresh residuals.
METRICFIT_FUNCTION void restore(const Problem& problem, Iterate& it, Workspace& w, double mu) {
    Columns &adversary = it.adversary, &predictor = it.predictor;
    const Border at = border_of(problem, it);
    const int q = adversary.used, f = predictor.used, groups = problem.groups;
    const double* weight = problem.weight;
    const double total = sum(groups, [=](int i) { return weight[i]; });
    double* slack = w.running;  // what the columns' duals become

    for (int b = 0; b < q; ++b) {
        const double size = problem.adversary_sizes[adversary.size_index[b]];
        const double growth = balance(problem, adversary, w, b, w.adversary.neg_residual[b], -1.0, size, total, mu);
        once([&] { slack[b] = w.residual_border[at.masses + b] + adversary.dual_mass[b] + growth; });
    }
    each(2, [&](int e) {
        slack[q + e] = w.residual_border[at.masses + q + e] + adversary.dual_mass[MAX_COLUMNS + e];
    });
    const auto place = [=](int b) { return b < q ? b : MAX_COLUMNS + b - q; };
    double lift = maximum(q + 2, [&](int b) {
        return lift_of(slack[b], adversary.dual_mass[place(b)], mu / adversary.mass[place(b)]);
    });
    each(q + 2, [&](int b) { adversary.dual_mass[place(b)] = slack[b] + lift; });
    once([&] { it.eta += lift; });
    for (int b = 0; b < q; ++b) spread(adversary, b, total, mu, groups);

    for (int a = 0; a < f; ++a) {
        const double size = problem.predictor_sizes[predictor.size_index[a]];
        const double growth = balance(problem, predictor, w, a, w.predictor.neg_residual[a], 1.0, size, total, mu);
        once([&] { slack[a] = predictor.dual_mass[a] - w.residual_border[a] + growth; });
    }
    double *chain_slack = it.chain_slack, *chain_mass = it.chain_mass, *residual = w.residual_chain;
    lift = maximum(groups + 1, [=](int j) {
        return lift_of(chain_slack[j] - residual[j], chain_slack[j], mu / chain_mass[j]);
    });
    lift = larger(lift, maximum(f, [&](int a) {
        return lift_of(slack[a], predictor.dual_mass[a], mu / predictor.mass[a]);
    }));
    each(groups + 1, [=](int j) { chain_slack[j] = chain_slack[j] - residual[j] + lift; });
    each(f, [&](int a) { predictor.dual_mass[a] = slack[a] + lift; });
    once([&] { it.rho += lift; });
    for (int a = 0; a < f; ++a) spread(predictor, a, total, mu, groups);
}

}  // namespace metricfit::METRICFIT_TARGET
