// Backing off towards the central path before new columns join.
//
// Late in a game many marginals are close to zero. If a new column needs these, they make every step short. A convex
// combination of two feasible iterates is feasible, and its duality gap is that of their gaps. A little of an earlier
// iterate, which was centred at a larger gap, brings every product of complementary variables to about that share of
// the earlier one's.
#pragma once

#include "state.hpp"

namespace metricfit::METRICFIT_TARGET {

// Move numbers this share of the way to others; all the way is a copy, whatever they were.
METRICFIT_FUNCTION void mix(double* METRICFIT_RESTRICT kept, const double* METRICFIT_RESTRICT other, int count, double share) {
    if (share == 1.0) {
        each(count, [&](int x) { kept[x] = other[x]; });
    } else {
        each(count, [&](int x) { kept[x] += share * (other[x] - kept[x]); });
    }
}

METRICFIT_FUNCTION void mix(Matrix kept, Matrix other, int rows, int columns, double share) {
    for (int r = 0; r < rows; ++r) mix(kept[r], other[r], columns, share);
}

// Move one player's columns and their duals this share of the way to the other's, column by column.
METRICFIT_FUNCTION void approach(Columns& columns, const Columns& other, int groups, double share) {
    const int used = other.used;
    mix(columns.mass, other.mass, MAX_COLUMNS + 2, share);
    mix(columns.dual_mass, other.dual_mass, MAX_COLUMNS + 2, share);
    mix(columns.price, other.price, MAX_COLUMNS, share);
    mix(columns.inside, other.inside, used, groups, share);
    mix(columns.outside, other.outside, used, groups, share);
    mix(columns.dual_inside, other.dual_inside, used, groups, share);
    mix(columns.dual_outside, other.dual_outside, used, groups, share);
    once([&] { columns.used = used; });
}

// Move an iterate this share of the way to another with the same columns; all the way is a copy. Which sizes the columns
// have is not copied.
METRICFIT_FUNCTION void approach(const Problem& problem, Iterate& it, const Iterate& other, double share) {
    const int groups = problem.groups;
    approach(it.adversary, other.adversary, groups, share);
    approach(it.predictor, other.predictor, groups, share);
    mix(it.chain_mass, other.chain_mass, groups + 1, share);
    mix(it.chain_slack, other.chain_slack, groups + 1, share);
    mix(it.multiplier, other.multiplier, problem.constraints, share);
    mix(it.multiplier_slack, other.multiplier_slack, problem.constraints, share);
    once([&] {
        it.eta = share == 1.0 ? other.eta : it.eta + share * (other.eta - it.eta);
        it.rho = share == 1.0 ? other.rho : it.rho + share * (other.rho - it.rho);
    });
}

}  // namespace metricfit::METRICFIT_TARGET
