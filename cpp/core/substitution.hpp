// The chain's part of a solve with the factors of filtering.hpp: forwards along the sets, and backwards.
#pragma once

#include "answering.hpp"
#include "filtering.hpp"

namespace metricfit::METRICFIT_TARGET {

// Filters the chain's right-hand side; `scaled` receives what its sets observe, divided by the variance. For few factors,
// known as FACTORS, the walk's state stays in registers; 0 is for any number.
template <int FACTORS>
METRICFIT_INLINE void filter_by_factors(const Problem& problem, const Workspace& w, double* METRICFIT_RESTRICT scaled) {
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
METRICFIT_INLINE void solve_by_factors(const Problem& problem, const Workspace& w, const double* METRICFIT_RESTRICT scaled,
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

inline void filter_right_hand_side(const Problem& problem, const Workspace& w, double* scaled) {
    switch (w.wide) {
        case 4: filter_by_factors<4>(problem, w, scaled); break;
        case 8: filter_by_factors<8>(problem, w, scaled); break;
        default: filter_by_factors<0>(problem, w, scaled);
    }
}

inline void solve_chain(const Problem& problem, const Workspace& w, const double* scaled, const double* innovated) {
    switch (w.wide) {
        case 4: solve_by_factors<4>(problem, w, scaled, innovated); break;
        case 8: solve_by_factors<8>(problem, w, scaled, innovated); break;
        default: solve_by_factors<0>(problem, w, scaled, innovated);
    }
}

}  // namespace metricfit::METRICFIT_TARGET
