// The chain of sets, eliminated by a Kalman filter, for a block of threads; see core/filtering.hpp for the method.
//
// A thread has an unknown of the border: its column of the filter's state is nobody else's, so that a set of the chain takes
// two barriers.
#pragma once

#include "gpu/items.hpp"

namespace metricfit::METRICFIT_TARGET {

// Where the filter keeps what belongs to an unknown of the border: the prices of the columns (the adversary's, the
// predictor's, and constraints, whose price is minus the multiplier), then the columns' masses, those of both ends, and the
// levels.
struct Order {
    int columns, masses, ends, levels, width;
};
METRICFIT_INLINE Order order_of(const Problem& problem, const Iterate& it) {
    const int both = it.adversary.used + it.predictor.used, columns = both + problem.constraints;
    return {columns, columns, columns + both, columns + both + 2, columns + both + 4};
}

// Which unknown of the border that is.
METRICFIT_INLINE int place_of(const Order& order, const Border& border, int x) {
    const int q = border.q, f = border.f;
    if (x < q) return border.prices + x;
    if (x < q + f) return border.prices_p + x - q;
    if (x < order.columns) return border.multipliers + x - q - f;
    const int mass = x - order.masses;
    if (mass < q) return border.masses + mass;
    if (mass < q + f) return mass - q;
    if (x < order.levels) return border.masses + q + x - order.ends;
    return border.levels + x - order.levels;
}

// Fills in what the sets of the chain have to do with the border but for their items.
METRICFIT_FUNCTION void lay_out_chain(const Problem& problem, const Iterate& it, const Workspace& w) {
    const int q = it.adversary.used, f = it.predictor.used;
    const Order order = order_of(problem, it);
    each(problem.groups + 1, order.width, [&](int j, int x) {
        const int mass = x - order.masses;
        double value = 0.0;
        if (x >= q + f && x < order.columns) value = problem.chain_gain[x - q - f][j];
        if (mass >= 0 && mass < q) value = w.chain_beta[j][mass];
        if (x >= order.ends && x < order.levels) value = w.chain_beta[j][q + x - order.ends];
        if (x == order.levels + 1) value = -1.0;
        w.chain_row[j][x] = value;
    });
}

constexpr int AT_ONCE = 8;  // factors

// The innovations of all sets, their precision and gain.
METRICFIT_FUNCTION void walk(const Problem& problem, const Iterate& it, const Workspace& w) {
    const Answers answers = answers_of(problem, it, w);
    const Order order = order_of(problem, it);
    const Border border = border_of(problem, it);
    const int q = border.q, f = border.f, wide = w.wide;
    const bool alone = f == 0;
    const Matrix state = {w.filtered, order.width};  // (wide, width) mean of the walk for each unknown
    double *observed = w.observed, *covariance = w.running;
    each(wide, order.width, [=](int r, int x) { state[r][x] = 0.0; });
    const int until = whole_eights(border.m);
    each(problem.groups + 1, until - border.m, [&](int j, int x) { w.innovation[j][border.m + x] = 0.0; });
    // Two barriers a set: what all threads need of the set before, each of them computes for itself.
    for (int j = 0; j <= problem.groups + 1; ++j) {
        const int i = j - 1;
        double known = 0.0, precision = 0.0;  // of the set before; known is 0 if what it observed was known
        if (j > 0) {
            const double* before = w.chain_on[j - 1];
            double variance = 0.0, slack = it.chain_slack[j - 1] / it.chain_mass[j - 1];
            for (int r = 0; r < wide && j > 1; ++r) variance += before[r] * covariance[r];
            precision = 1.0 / (larger(variance, 0.0) + slack);
            // A variance lost to rounding says that what this set observes was known before.
            known = j == 1 || variance <= 0.0 ? 0.0 : precision;
        }
        const auto keep = [&](int r) {
            if (r < wide) w.kalman_gain[j - 1][r] = j > 1 ? known * covariance[r] : 0.0;
            if (r == wide) w.precision[j - 1] = precision;
        };
        if (j > problem.groups) {
            each_now(wide + 1, keep);
            break;
        }
        const double *on = w.chain_on[j], weight = j > 0 ? problem.weight[i] : 0.0;
        each_now(order.width, [&](int x) {
            const bool price = x < order.columns, mass = !price && x < order.ends;
            const int column = price ? x : x - order.masses;
            if (j > 0) keep(x);
            const double before = j > 1 ? known * observed[x] : 0.0;
            double value = w.chain_row[j][x], scale = 0.0;
            if (j > 0 && !alone && price) scale = -weight;
            if (j > 0 && !alone && mass) {
                scale = weight * (column < q ? w.adversary.out[column][i] : w.predictor.out[column - q][i]);
            }
            const Matrix seen = answers.seen(price || mass ? column : 0);
            // Several at once: what is written could be what is read next, so that the compiler does not read ahead.
            for (int first = 0; first < wide; first += AT_ONCE) {
                double own[AT_ONCE], above[AT_ONCE], added[AT_ONCE], sees[AT_ONCE];
                METRICFIT_UNROLL
                for (int k = 0; k < AT_ONCE; ++k) {
                    const int r = smaller(first + k, wide - 1);
                    own[k] = state[r][x];
                    above[k] = covariance[r];
                    added[k] = scale != 0.0 ? seen[r][i] : 0.0;
                    sees[k] = on[r];
                }
                METRICFIT_UNROLL
                for (int k = 0; k < AT_ONCE; ++k) {
                    const int r = first + k;
                    if (r >= wide) continue;
                    double s = own[k] + scale * added[k];
                    if (j > 1) s += above[k] * before;
                    if (j > 0 && alone && (price || mass) && r == column) {
                        s += price ? w.adversary.weighed[r][i] : -w.adversary.weighed_out[r][i];
                    }
                    state[r][x] = s;
                    value -= sees[k] * s;
                }
            }
            observed[x] = value;
            w.innovation[j][place_of(order, border, x)] = value;
        });
        if (j == 0) continue;
        each_now(wide, [&](int r) {
            double value = alone ? -observed[r] : 0.0;
            for (int b = 0; b < (alone ? 0 : q); ++b) value -= w.basis_t[r][b] * observed[b];
            covariance[r] = value;
        });
    }
}

// Eliminates the chain and completes the border's Schur complement, with the innovations of all sets. A thread has four by
// four of its entries.
METRICFIT_FUNCTION void filter_chain(const Problem& problem, const Iterate& it, const Workspace& w) {
    walk(problem, it, w);
    const int sets = problem.groups + 1, tiles = fours(border_of(problem, it).m) / 4;
    each(tiles, tiles, [&](int row, int column) {
        if (column < row) return;
        double sums[4][4] = {};
        for (int j = 0; j < sets; ++j) {
            const double *own = w.innovation[j] + 4 * row, *other = w.innovation[j] + 4 * column, precision = w.precision[j];
            double scaled[4], value[4];
            METRICFIT_UNROLL
            for (int x = 0; x < 4; ++x) scaled[x] = own[x] * precision;
            METRICFIT_UNROLL
            for (int y = 0; y < 4; ++y) value[y] = other[y];
            METRICFIT_UNROLL
            for (int x = 0; x < 4; ++x) {
                METRICFIT_UNROLL
                for (int y = 0; y < 4; ++y) sums[x][y] += scaled[x] * value[y];
            }
        }
        METRICFIT_UNROLL
        for (int x = 0; x < 4; ++x) {
            METRICFIT_UNROLL
            for (int y = 0; y < 4; ++y) w.border[4 * row + x][4 * column + y] += sums[x][y];
        }
    });
}

// Numbers of a walk's state that a lane keeps.
constexpr int PER_LANE = (MAX_COLUMNS + WARP - 1) / WARP;

// Filters the chain's right-hand side; `scaled` receives what its sets observe, divided by the variance.
METRICFIT_FUNCTION void filter_right_hand_side(const Problem& problem, const Workspace& w, double* METRICFIT_RESTRICT scaled) {
    const int wide = w.wide, groups = problem.groups;
    const double *residual = w.residual_chain, *comp = w.comp_chain, *precision = w.precision, *weight = problem.weight;
    const Matrix chain_on = w.chain_on, kalman_gain = w.kalman_gain;
    // What a set adds to the state, what it observes of it, and its gain: fetched while the set before is waited for.
    struct Set {
        double value, precision, added[PER_LANE], on[PER_LANE], gain[PER_LANE];
    };
    const auto fetch = [&](int j) {
        Set set = {residual[j] + comp[j], precision[j], {}, {}, {}};
        METRICFIT_UNROLL
        for (int k = 0; k < PER_LANE; ++k) {
            const int r = lane() + k * WARP;
            if (r >= wide || j == 0) continue;
            set.added[k] = weight[j - 1] * moment(w.seen, problem, r, j - 1);
            set.on[k] = chain_on[j][r];
            set.gain[k] = kalman_gain[j][r];
        }
        return set;
    };
    by_lanes([&] {
        double state[PER_LANE] = {};
        Set next = fetch(0);
        for (int j = 0; j <= groups; ++j) {
            const Set set = next;
            if (j < groups) next = fetch(j + 1);
            double observed = 0.0;
            METRICFIT_UNROLL
            for (int k = 0; k < PER_LANE; ++k) {
                state[k] += set.added[k];
                observed += set.on[k] * state[k];
            }
            const double value = set.value - lane_sum(observed, wide);
            METRICFIT_UNROLL
            for (int k = 0; k < PER_LANE; ++k) state[k] += set.gain[k] * value;
            if (lane() == 0) scaled[j] = value * set.precision;
        }
    });
}

// The chain's step backwards, and with its running sum what the items have to answer, `pull`.
METRICFIT_FUNCTION void solve_chain(const Problem& problem, const Workspace& w, const double* scaled, const double* innovated) {
    const int wide = w.wide;
    const double* precision = w.precision;
    double* METRICFIT_RESTRICT step = w.step_chain;
    const Matrix chain_on = w.chain_on, kalman_gain = w.kalman_gain;
    struct Set {
        double value, on[PER_LANE], gain[PER_LANE];
    };
    const auto fetch = [&](int j) {
        Set set = {scaled[j] + innovated[j] * precision[j], {}, {}};
        METRICFIT_UNROLL
        for (int k = 0; k < PER_LANE; ++k) {
            const int r = lane() + k * WARP;
            if (r >= wide) continue;
            set.on[k] = chain_on[j][r];
            set.gain[k] = kalman_gain[j][r];
        }
        return set;
    };
    by_lanes([&] {
        double state[PER_LANE] = {};
        Set next = fetch(problem.groups);
        for (int j = problem.groups; j >= 0; --j) {
            const Set set = next;
            if (j > 0) next = fetch(j - 1);
            double known = 0.0;
            METRICFIT_UNROLL
            for (int k = 0; k < PER_LANE; ++k) known += set.gain[k] * state[k];
            const double value = set.value - lane_sum(known, wide);
            if (lane() == 0) step[j] = value;
            METRICFIT_UNROLL
            for (int k = 0; k < PER_LANE; ++k) {
                const int r = lane() + k * WARP;
                state[k] += set.on[k] * value;
                if (r < wide && j > 0) moment(w.pull, problem, r, j - 1) = -state[k];
            }
        }
    });
}

}  // namespace metricfit::METRICFIT_TARGET
