// The first point of the interior point method.
#pragma once

#include "growth.hpp"
#include "state.hpp"

namespace metricfit::METRICFIT_TARGET {

METRICFIT_FUNCTION void clear(Columns& columns, int sizes) {
    each(MAX_COLUMNS + 2, [&](int a) { columns.mass[a] = columns.dual_mass[a] = 0.0; });
    each(MAX_COLUMNS, [&](int a) { columns.price[a] = 0.0; });
    each(sizes, [&](int x) { columns.member[x] = columns.dropped[x] = false; });
    once([&] { columns.used = 0; });
}

// Take everything out of play.
METRICFIT_FUNCTION void clear(const Problem& problem, Iterate& it) {
    clear(it.adversary, problem.columns);
    clear(it.predictor, problem.rows);
    each(problem.groups + 1, [&](int j) { it.chain_mass[j] = it.chain_slack[j] = 0.0; });
    each(problem.constraints, [&](int c) { it.multiplier[c] = it.multiplier_slack[c] = 0.0; });
    once([&] { it.eta = it.rho = 0.0; });
}

// What the first point tells about the game.
struct Start {
    double magnitude;  // of scores and alpha
    double mu;         // target of the products
};

// Set up a centred first point: sizes near the number of positive scores, a uniform chain. `opening` lists rows of the
// tables that the predictor has in play from the start.
METRICFIT_FUNCTION Start start(const Problem& problem, Iterate& it, Workspace& w, const int* opening, int openings) {
    using namespace parameters::start;
    const int groups = problem.groups, last = problem.columns - 1;
    const double *weight = problem.weight, *score = problem.score, *sizes = problem.adversary_sizes;
    const Pair weights = sums(groups, [=](int i) { return Pair{weight[i], score[i] > 0.0 ? weight[i] : 0.0}; });
    const double largest_score = larger(0.0, maximum(groups, [=](int i) { return std::fabs(score[i]); }));
    const double positive = (1.0 - ROUNDING) * weights.second;
    int middle = 0;
    while (middle < last && sizes[middle] < positive) ++middle;
    const int first = larger(1, smaller(middle - 1, last - 3)), final = smaller(last - 1, larger(middle + 1, 3));
    // Sets of one item are in the solution of most metrics whose denominator counts positives.
    const int columns = final - first + (first == 1 ? 1 : 2), ones = columns - (final - first + 1);
    const double* typical = problem.alpha_t[smaller(last, larger(1, smaller(last - 1, middle)))];
    const double steepest = larger(0.0, maximum(problem.rows, [=](int row) { return std::fabs(typical[row]); }));
    const double end = columns > 0 ? END_MASS : ONLY_END_MASS;
    const double mass = columns > 0 ? (1.0 - 2.0 * end) / columns : end;
    const double target =
        smaller(largest_score, steepest) + STEEPEST_SHARE * steepest + LARGEST_SHARE * largest_score + LEAST_TARGET;
    const double mu = target * mass / weights.first;
    each(groups + 1, [&](int j) { it.chain_mass[j] = 1.0 / (groups + 1); });
    each(problem.constraints, [&](int c) { it.multiplier[c] = it.multiplier_slack[c] = MULTIPLIER; });
    Columns& adversary = it.adversary;
    once([&] { adversary.member[0] = adversary.member[last] = true; });
    for (int x = 0; x < columns; ++x) {
        add_adversary(problem, it, w, x < ones ? 1 : first + x - ones, mass, mu);
    }
    each(columns, groups, [&](int b, int i) {
        const double scale = mass / adversary.mass[b];
        adversary.inside[b][i] *= scale;
        adversary.outside[b][i] *= scale;
        adversary.dual_inside[b][i] /= scale;
        adversary.dual_outside[b][i] /= scale;
    });
    each(columns, [&](int b) { adversary.mass[b] = mass; });
    each(2, [&](int e) { adversary.mass[MAX_COLUMNS + e] = end; });
    for (int x = 0; x < openings; ++x) {
        const bool known = it.predictor.member[opening[x]];
        if (!known) add_predictor(problem, it, w, opening[x], OPENING_MASS / openings, mu);
    }
    return {largest_score + steepest, mu};
}

}  // namespace metricfit::METRICFIT_TARGET
