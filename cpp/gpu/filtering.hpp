// The chain of sets, eliminated by a Kalman filter, for a block of threads; see core/filtering.hpp for the method.
//
// The gains are found by one warp, set after set. With them the state of the walk follows for each unknown of the border, and for
// each right-hand side, on its own: sets are taken in panels, which only the state before them ties to each other.
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

// Calls f(Factors<W>()) with the smallest W that has room for the factors, so that their numbers stay in registers.
template <int W>
struct Factors {
    static constexpr int most = W;
};
template <class F>
METRICFIT_INLINE void by_factors(int wide, F f) {
    if (wide <= 4) {
        f(Factors<4>());
    } else if (wide <= 8) {
        f(Factors<8>());
    } else if (wide <= 16) {
        f(Factors<16>());
    } else if (wide <= 32) {
        f(Factors<32>());
    } else {
        f(Factors<MAX_COLUMNS>());
    }
}

// The inner product of two rows; four sums wait less for each other than one.
template <int W>
METRICFIT_INLINE double inner(const double (&x)[W], const double (&y)[W]) {
    double part[4] = {};
    METRICFIT_UNROLL
    for (int r = 0; r < W; ++r) part[r % 4] += x[r] * y[r];
    return (part[0] + part[1]) + (part[2] + part[3]);
}

template <int W>
METRICFIT_INLINE void read_row(double (&target)[W], const double* source) {
    METRICFIT_UNROLL
    for (int r = 0; r < W; ++r) target[r] = source[r];
}
// The same of numbers that are not next to each other. Behind the last there is the first again, which goes with a factor of zero.
template <int W>
METRICFIT_INLINE void read_column(double (&target)[W], const double* source, int apart, int wide) {
    METRICFIT_UNROLL
    for (int r = 0; r < W; ++r) target[r] = source[r < wide ? r * apart : 0];
}

// The innovation of a set that observes the walk by the row `on`, and the state that it corrects.
template <int W>
METRICFIT_INLINE double correct(double (&state)[W], const double* on_row, const double* gain_row, double observed) {
    double on[W], gain[W];
    read_row(on, on_row);
    read_row(gain, gain_row);
    const double value = observed - inner(on, state);
    METRICFIT_UNROLL
    for (int r = 0; r < W; ++r) state[r] += gain[r] * value;
    return value;
}

// The precision of each set's innovation, and the gains by which innovations correct the walk, from the walk's covariance: one
// warp's work, where a lane has rows of the covariance.
template <int W>
METRICFIT_FUNCTION void find_gains(const Problem& problem, const Iterate& it, const Workspace& w) {
    constexpr int ROWS = (W + WARP - 1) / WARP;
    const Answers answers = answers_of(problem, it, w);
    const int wide = w.wide, groups = problem.groups;
    const bool alone = it.predictor.used == 0;
    const double* weight = problem.weight;
    const Matrix chain_on = w.chain_on, kalman_gain = w.kalman_gain, weighed = w.adversary.weighed;
    double* precision = w.precision;
    each(groups + 1, [&](int j) { precision[j] = it.chain_slack[j] / it.chain_mass[j]; });
    METRICFIT_SHARED double both[2][W];  // the covariance of the walk and what a set observes; for the next set the other row
    // What a set observes of the walk, and what the item before it adds: fetched while the set before is waited for.
    struct Set {
        double noise, on[W], added[ROWS][W];
    };
    const int apart = answers.apart();
    const auto fetch = [&](int j) {
        Set set;
        j = smaller(j, groups);
        set.noise = precision[j];
        read_row(set.on, chain_on[j]);
        METRICFIT_UNROLL
        for (int row = 0; row < ROWS; ++row) {
            const int r = lane() + row * WARP, own = r < wide ? r : 0;
            if (alone) {
                const double value = r < wide ? weighed[own][j - 1] : 0.0;
                METRICFIT_UNROLL
                for (int k = 0; k < W; ++k) set.added[row][k] = r == k ? value : 0.0;
            } else {
                const double times = r < wide ? weight[j - 1] : 0.0;
                read_column(set.added[row], &answers.y_t(j - 1)(own, 0), apart, wide);
                METRICFIT_UNROLL
                for (int k = 0; k < W; ++k) set.added[row][k] *= times;
            }
        }
        return set;
    };
    by_lanes([&] {
        double covariance[ROWS][W] = {};
        for (int r = lane(); r < W; r += WARP) kalman_gain[0][r] = 0.0;
        if (lane() == 0) precision[0] = 1.0 / precision[0];
        if (groups == 0) return;
        Set next = fetch(1), second = fetch(2);
        for (int j = 1; j <= groups; ++j) {
            const Set set = next;
            next = second;
            second = fetch(j + 2);
            double* const shared = both[j % 2];
            METRICFIT_UNROLL
            for (int row = 0; row < ROWS; ++row) {
                METRICFIT_UNROLL
                for (int k = 0; k < W; ++k) covariance[row][k] += set.added[row][k];
                if (lane() + row * WARP < W) shared[lane() + row * WARP] = inner(covariance[row], set.on);
            }
            lanes_meet();
            double observed[W];
            read_row(observed, shared);
            const double variance = inner(observed, set.on), inverse = 1.0 / (larger(variance, 0.0) + set.noise);
            // A variance lost to rounding says that what this set observes was known before.
            const double known = variance <= 0.0 ? 0.0 : inverse;
            METRICFIT_UNROLL
            for (int row = 0; row < ROWS; ++row) {
                const int r = lane() + row * WARP;
                const double gain = known * shared[r < W ? r : 0];
                METRICFIT_UNROLL
                for (int k = 0; k < W; ++k) covariance[row][k] -= gain * observed[k];
                if (r < W) kalman_gain[j][r] = r < wide ? gain : 0.0;
            }
            if (lane() == 0) precision[j] = inverse;
        }
    });
}

// Number k of an array in registers.
template <int W>
METRICFIT_INLINE double state_at(const double (&state)[W], int k) {
    double found = 0.0;
    METRICFIT_UNROLL
    for (int r = 0; r < W; ++r) found = r == k ? state[r] : found;
    return found;
}

// The sets of the chain are cut into panels. What the walk's state becomes in a panel is linear in the state before it: each
// panel is first taken from a state of zeros, all of them at once; then states are carried from panel to panel; then
// each panel is taken again.
constexpr int PANEL = parameters::panels::SETS;
METRICFIT_INLINE int panels_of(int sets) { return (sets + PANEL - 1) / PANEL; }

// What follows from a state before a panel, (wide, wide), and likewise from that behind it, which is the transpose.
METRICFIT_INLINE Matrix passing(const Workspace& w, int panel) {
    return {w.passing + static_cast<std::ptrdiff_t>(panel) * w.wide * w.wide, w.wide};
}

template <int W>
METRICFIT_FUNCTION void find_passing(const Problem& problem, const Workspace& w) {
    const int wide = w.wide, sets = problem.groups + 1;
    const Matrix chain_on = w.chain_on, kalman_gain = w.kalman_gain;
    each(panels_of(sets), wide, [&](int panel, int column) {
        double state[W];
        METRICFIT_UNROLL
        for (int r = 0; r < W; ++r) state[r] = r == column ? 1.0 : 0.0;
        const int last = smaller((panel + 1) * PANEL, sets);
        METRICFIT_ROLLED
        for (int j = panel * PANEL; j < last; ++j) correct(state, chain_on[j], kalman_gain[j], 0.0);
        const Matrix target = passing(w, panel);
        METRICFIT_UNROLL
        for (int r = 0; r < W; ++r) {
            if (r < wide) target[r][column] = state[r];
        }
    });
}

// Carries the states of all unknowns from panel to panel.
template <int W>
METRICFIT_FUNCTION void carry_states(const Workspace& w, int panels, int width) {
    const int wide = w.wide;
    each(width, [&](int x) {
        double state[W] = {};
        METRICFIT_ROLLED
        for (int panel = 0; panel < panels; ++panel) {
            double* kept = w.filtered + static_cast<std::ptrdiff_t>(panel) * wide * width + x;
            const Matrix pass = passing(w, panel);
            double after[W] = {};
            METRICFIT_ROLLED
            for (int k = 0; k < wide; ++k) {
                double row[W];
                read_column(row, pass[0] + k, wide, wide);
                const double own = state_at(state, k);
                METRICFIT_UNROLL
                for (int r = 0; r < W; ++r) after[r] += row[r] * own;
            }
            METRICFIT_UNROLL
            for (int r = 0; r < W; ++r) {
                if (r >= wide) continue;
                const double found = kept[r * width];
                kept[r * width] = state[r];
                state[r] = found + after[r];
            }
        }
    });
}

// The innovations of all sets: a thread takes an unknown of the border through the sets of a panel.
template <int W>
METRICFIT_FUNCTION void innovate(const Problem& problem, const Iterate& it, const Workspace& w) {
    const Answers answers = answers_of(problem, it, w);
    const Order order = order_of(problem, it);
    const Border border = border_of(problem, it);
    const int q = border.q, wide = w.wide, sets = problem.groups + 1, panels = panels_of(sets), width = order.width;
    const bool alone = border.f == 0;
    const double* weight = problem.weight;
    const Matrix chain_on = w.chain_on, kalman_gain = w.kalman_gain, chain_row = w.chain_row, innovation = w.innovation;
    const auto states = [&](int panel) { return Matrix{w.filtered + static_cast<std::ptrdiff_t>(panel) * wide * width, width}; };
    const int apart = answers.apart();
    const auto take = [&](int panel, int x, double (&state)[W], bool again) {
        const bool price = x < order.columns, mass = !price && x < order.ends, alone_in = alone && (price || mass);
        const int column = price ? x : mass ? x - order.masses : 0, place = place_of(order, border, x);
        const Side& side = column < q ? w.adversary : w.predictor;
        const int of_side = column < q ? column : larger(0, smaller(column - q, border.f - 1));
        // What the item before a set adds is `rows` times a scale; without columns of the predictor, a number to one of the factors.
        const double* rows = answers.seen(column)[0];
        const double* out = alone_in ? (price ? side.weighed[of_side] : side.weighed_out[of_side]) : side.out[of_side];
        const int factor = alone_in && column < wide ? column : -1;
        struct Set {
            double row, scale, added[W];
        };
        const auto fetch = [&](int j) {
            Set set = {chain_row[j][x], 0.0, {}};
            const int i = j - 1;
            if (j == 0 || !(price || mass)) return set;
            if (alone) {
                set.scale = price ? out[i] : -out[i];
            } else {
                set.scale = price ? -weight[i] : weight[i] * out[i];
                read_column(set.added, rows + i, apart, wide);
            }
            return set;
        };
        const int last = smaller((panel + 1) * PANEL, sets);
        Set next = fetch(panel * PANEL);
        METRICFIT_ROLLED
        for (int j = panel * PANEL; j < last; ++j) {
            const Set set = next;
            if (j + 1 < last) next = fetch(j + 1);
            METRICFIT_UNROLL
            for (int r = 0; r < W; ++r) state[r] += alone ? (r == factor ? set.scale : 0.0) : set.scale * set.added[r];
            const double value = correct(state, chain_on[j], kalman_gain[j], set.row);
            if (again) innovation[j][place] = value;
        }
    };
    // Twice, from zeros and from what is known then: the same code for both.
    for (int pass = 0; pass < 2; ++pass) {
        each(panels, width, [&](int panel, int x) {
            const Matrix kept = states(panel);
            double state[W];
            METRICFIT_UNROLL
            for (int r = 0; r < W; ++r) state[r] = pass == 1 && r < wide ? kept[r][x] : 0.0;
            take(panel, x, state, pass == 1);
            METRICFIT_UNROLL
            for (int r = 0; r < W; ++r) {
                if (pass == 0 && r < wide) kept[r][x] = state[r];
            }
        });
        if (pass == 0) carry_states<W>(w, panels, width);
    }
    const int until = whole_eights(border.m);
    each(sets, until - border.m, [&](int j, int x) { innovation[j][border.m + x] = 0.0; });
}

// Eliminates the chain and completes the border's Schur complement, with the innovations of all sets. A thread has four by
// four of its entries.
METRICFIT_FUNCTION void filter_chain(const Problem& problem, const Iterate& it, const Workspace& w) {
    by_factors(w.wide, [&](auto factors) {
        constexpr int most = decltype(factors)::most;
        const int sets = problem.groups + 1, wide = w.wide;
        each(sets, most - wide, [&](int j, int r) { w.chain_on[j][wide + r] = 0.0; });
        find_gains<decltype(factors)::most>(problem, it, w);
        find_passing<decltype(factors)::most>(problem, w);
        innovate<decltype(factors)::most>(problem, it, w);
    });
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

// Carries the state from panel to panel, forwards or backwards, from what each panel makes of a state of zeros; one warp's work.
template <int W>
METRICFIT_FUNCTION void carry(const Workspace& w, int panels, bool back) {
    constexpr int ROWS = (W + WARP - 1) / WARP;
    const int wide = w.wide;
    const Matrix carried = w.carried;
    METRICFIT_SHARED double both[2][W];
    struct Rows {
        double pass[ROWS][W], found[ROWS];
    };
    const auto fetch = [&](int panel) {
        Rows rows;
        const Matrix pass = passing(w, panel);
        METRICFIT_UNROLL
        for (int row = 0; row < ROWS; ++row) {
            const int r = lane() + row * WARP;
            METRICFIT_UNROLL
            for (int k = 0; k < W; ++k) rows.pass[row][k] = r < wide && k < wide ? (back ? pass[k][r] : pass[r][k]) : 0.0;
            rows.found[row] = r < wide ? carried[panel][r] : 0.0;
        }
        return rows;
    };
    by_lanes([&] {
        for (int r = lane(); r < W; r += WARP) both[0][r] = 0.0;
        Rows next = fetch(back ? panels - 1 : 0);
        lanes_meet();
        for (int step = 0; step < panels; ++step) {
            const int panel = back ? panels - 1 - step : step;
            const Rows rows = next;
            if (step + 1 < panels) next = fetch(back ? panel - 1 : panel + 1);
            double state[W];
            read_row(state, both[step % 2]);
            METRICFIT_UNROLL
            for (int row = 0; row < ROWS; ++row) {
                const int r = lane() + row * WARP;
                if (r < wide) carried[panel][r] = both[step % 2][r];
                if (r < W) both[(step + 1) % 2][r] = rows.found[row] + inner(rows.pass[row], state);
            }
            lanes_meet();
        }
    });
}

// take(panel, state, again) for every panel: from a state of zeros, whose end is carried to the next panel, and again.
template <int W, class Take>
METRICFIT_INLINE void take_panels(const Workspace& w, int panels, bool back, Take take) {
    const int wide = w.wide;
    const Matrix carried = w.carried;
    for (int pass = 0; pass < 2; ++pass) {
        each(panels, [&](int panel) {
            double state[W];
            METRICFIT_UNROLL
            for (int r = 0; r < W; ++r) state[r] = pass == 1 && r < wide ? carried[panel][r] : 0.0;
            take(panel, state, pass == 1);
            METRICFIT_UNROLL
            for (int r = 0; r < W; ++r) {
                if (pass == 0 && r < wide) carried[panel][r] = state[r];
            }
        });
        if (pass == 0) carry<W>(w, panels, back);
    }
}

template <int W>
METRICFIT_FUNCTION void filter_panels(const Problem& problem, const Workspace& w, double* METRICFIT_RESTRICT scaled) {
    const int wide = w.wide, sets = problem.groups + 1, apart = whole_eights(problem.groups);
    const double* seen = w.seen;
    const double *residual = w.residual_chain, *comp = w.comp_chain, *precision = w.precision, *weight = problem.weight;
    const Matrix chain_on = w.chain_on, kalman_gain = w.kalman_gain;
    take_panels<W>(w, panels_of(sets), false, [&](int panel, double (&state)[W], bool again) {
        struct Set {
            double value, times, added[W];
        };
        const auto fetch = [&](int j) {
            Set set = {residual[j] + comp[j], 0.0, {}};
            if (j == 0 || wide == 0) return set;
            read_column(set.added, seen + j - 1, apart, wide);
            set.times = weight[j - 1];
            return set;
        };
        const int last = smaller((panel + 1) * PANEL, sets);
        Set next = fetch(panel * PANEL);
        METRICFIT_ROLLED
        for (int j = panel * PANEL; j < last; ++j) {
            const Set set = next;
            if (j + 1 < last) next = fetch(j + 1);
            METRICFIT_UNROLL
            for (int r = 0; r < W; ++r) state[r] += set.times * set.added[r];
            const double value = correct(state, chain_on[j], kalman_gain[j], set.value);
            if (again) scaled[j] = value * precision[j];
        }
    });
}

template <int W>
METRICFIT_FUNCTION void solve_panels(const Problem& problem, const Workspace& w, const double* scaled, const double* innovated) {
    const int wide = w.wide, sets = problem.groups + 1;
    const int apart = whole_eights(problem.groups);
    const double* precision = w.precision;
    double *METRICFIT_RESTRICT step = w.step_chain, *pull = w.pull;
    const Matrix chain_on = w.chain_on, kalman_gain = w.kalman_gain;
    take_panels<W>(w, panels_of(sets), true, [&](int panel, double (&state)[W], bool again) {
        const int last = smaller((panel + 1) * PANEL, sets);
        METRICFIT_ROLLED
        for (int j = last - 1; j >= panel * PANEL; --j) {
            double on[W], gain[W];
            read_row(on, chain_on[j]);
            read_row(gain, kalman_gain[j]);
            const double value = scaled[j] + innovated[j] * precision[j] - inner(gain, state);
            if (again) step[j] = value;
            METRICFIT_UNROLL
            for (int r = 0; r < W; ++r) {
                state[r] += on[r] * value;
                if (again && j > 0 && r < wide) pull[r * apart + j - 1] = -state[r];
            }
        }
    });
}

// Filters the chain's right-hand side; `scaled` receives what its sets observe, divided by the variance.
METRICFIT_FUNCTION void filter_right_hand_side(const Problem& problem, const Workspace& w, double* scaled) {
    by_factors(w.wide, [&](auto factors) { filter_panels<decltype(factors)::most>(problem, w, scaled); });
}

// The chain's step backwards, and with its running sum what the items have to answer, `pull`.
METRICFIT_FUNCTION void solve_chain(const Problem& problem, const Workspace& w, const double* scaled, const double* innovated) {
    by_factors(w.wide, [&](auto factors) { solve_panels<decltype(factors)::most>(problem, w, scaled, innovated); });
}

}  // namespace metricfit::METRICFIT_TARGET
