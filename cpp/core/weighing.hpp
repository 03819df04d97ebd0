// The diagonals of the items' equations in a Newton step, from the current point.
#pragma once

#include "state.hpp"

namespace metricfit::METRICFIT_TARGET {

// The diagonal of one player's marginals, and what it is made of.
METRICFIT_FUNCTION void weigh(const Problem& problem, const Columns& columns, const Side& side, double regularisation) {
    const double* weight = problem.weight;
    each(columns.used, problem.groups, [&](int a, int i) {
        const double inside = columns.inside[a][i], outside = columns.outside[a][i];
        const double dual_in = columns.dual_inside[a][i], dual_out = columns.dual_outside[a][i];
        const double both = inside * outside, diagonal = dual_in * outside + dual_out * inside + regularisation * both;
        const double per_both = 1.0 / both, inverse = both / diagonal;
        const double share = dual_out * inside * per_both, product = weight[i] * inverse;
        side.per_inside[a][i] = outside * per_both;
        side.per_outside[a][i] = inside * per_both;
        side.inv_diag[a][i] = inverse;
        side.out[a][i] = share;
        side.weighed[a][i] = product;
        side.weighed_out[a][i] = product * share;
    });
}

}  // namespace metricfit::METRICFIT_TARGET
