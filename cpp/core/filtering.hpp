// The chain of sets, eliminated from the Newton system by a Kalman filter.
//
// In the chain's equations (elimination.hpp) the matrix Theta + U W U' has W(j, k) = sum of m_i Y_i T_i over items
// i < min(j, k), because the sets of the chain are nested; Y_i T_i is what the chain sees of item i if it pulls at it
// (items.hpp). That is the covariance of noisy observations u_j' xi_j of a random walk xi with independent increments of
// covariance m_i Y_i T_i. A Kalman filter therefore is its LDL' factorisation: the innovations are L^-1 times the right-hand
// side, and the backward pass is the solve with L'. The cost is O(G m^2) for G groups and m border unknowns, where a dense
// factorisation would need O(G^3).
//
// The filter takes one item after the other, so it wants what belongs to an item next to each other, while items.hpp keeps
// items next to each other: what the chain sees is transposed on the way, eight items at a time. And it wants all rows to
// begin and end with whole vectors, so it has an order of its own, with room in between.
#pragma once

#include "border.hpp"
#include "items.hpp"

namespace metricfit::METRICFIT_TARGET {

// Where the filter keeps what belongs to an unknown of the border. First the prices of the columns, which are the
// adversary's, the predictor's, and constraints; a constraint's is minus its multiplier. Then, after a whole number of
// eights, the columns' masses, those of both ends, and the levels.
struct Order {
    int columns, masses, ends, levels, width;
};
METRICFIT_INLINE Order order_of(int columns) {
    const int masses = whole_eights(columns), ends = masses + columns;
    return {columns, masses, ends, ends + 2, whole_eights(ends + 4)};
}

// Fills in the entries between the chain's sets and the border, without the part of the items.
inline void lay_out_chain(const Problem& problem, const Iterate& it, const Workspace& w) {
    const int q = it.adversary.used, f = it.predictor.used, constraints = problem.constraints;
    const Order order = order_of(q + f + constraints);
    for (int j = 0; j <= problem.groups; ++j) {
        double* row = w.chain_row[j];
        for (int x = 0; x < order.width; ++x) row[x] = 0.0;
        for (int b = 0; b < q; ++b) row[order.masses + b] = w.chain_beta[j][b];
        row[order.ends] = w.chain_beta[j][q];
        row[order.ends + 1] = w.chain_beta[j][q + 1];
        row[order.levels + 1] = -1.0;
        for (int c = 0; c < constraints; ++c) row[q + f + c] = problem.chain_gain[c][j];
    }
}

// What the chain sees of eight items, and their `out`, item by item: rows of all columns, one for each factor, and one more.
struct Share {
    double* data;
    int wide, masses;
    METRICFIT_INLINE double* row(int item, int r) const { return data + (item * (wide + 1) + r) * masses; }
};

// Copies what the chain sees of eight items. Columns that are not there have none.
inline void gather(const Workspace& w, const Answers& answers, int eight, const Share& share) {
    const int q = answers.q, f = answers.f, columns = q + f + answers.constraints, first = LANES * eight;
    for (int x = 0; x < columns; ++x) {
        const Matrix seen = answers.seen(x);
        for (int r = 0; r < share.wide; ++r) {
            for (int i = 0; i < LANES; ++i) share.row(i, r)[x] = seen[r][first + i];
        }
        const double* out = x < q ? w.adversary.out[x] : x < q + f ? w.predictor.out[x - q] : nullptr;
        for (int i = 0; i < LANES; ++i) share.row(i, share.wide)[x] = out ? out[first + i] : 0.0;
    }
    for (int i = 0; i < LANES; ++i) {
        for (int r = 0; r <= share.wide; ++r) {
            for (int x = columns; x < share.masses; ++x) share.row(i, r)[x] = 0.0;
        }
    }
}

// What the filter remembers from one set to the next.
struct Filter {
    Matrix state;       // (factors, order.width) mean of the walk for each unknown of the border
    double* observed;   // (order.width) what the set before observed of it
    double* gain;       // (factors) of that set
};

// The walk takes the step of an item where each column is a factor of its own.
METRICFIT_INLINE void step_alone(const Filter& filter, const Order& order, const Side& adversary, int q, int i) {
    for (int b = 0; b < q; ++b) {
        filter.state[b][b] += adversary.weighed[b][i];
        filter.state[b][order.masses + b] -= adversary.weighed_out[b][i];
    }
}

// The walk takes in what the set before observed and takes a step; then a set observes it: its row, less what it sees.
// FACTORS is their number if it is known, otherwise 0.
template <int FACTORS, bool has_item>
METRICFIT_INLINE void observe(const Filter& filter, const Order& order, const double* row, const double* on, const Share& share,
                              int item, double weight) {
    const int wide = FACTORS > 0 ? FACTORS : share.wide;
    double* METRICFIT_RESTRICT observed = filter.observed;
    int x = 0;
    if (has_item) {
        for (; x < order.masses; x += WIDTH) {  // prices, and the masses of the same columns
            const Vector before = load(observed + x), before_m = load(observed + order.masses + x);
            const Vector out = load(share.row(item, wide) + x);
            Vector value[2] = {load(row + x)}, value_m[2] = {load(row + order.masses + x)};  // two sums wait less
#pragma GCC unroll 8
            for (int r = 0; r < wide; ++r) {
                double *price = filter.state[r] + x, *mass = price + order.masses;
                const Vector answer = weight * load(share.row(item, r) + x);
                const Vector p = load(price) + filter.gain[r] * before - answer;
                const Vector m = load(mass) + filter.gain[r] * before_m + answer * out;
                store(price, p);
                store(mass, m);
                value[r % 2] -= on[r] * p;
                value_m[r % 2] -= on[r] * m;
            }
            store(observed + x, value[0] + value[1]);
            store(observed + order.masses + x, value_m[0] + value_m[1]);
        }
        x += order.masses;
    }
    for (; x < order.width; x += WIDTH) {
        const Vector before = load(observed + x);
        Vector value[2] = {load(row + x)};
#pragma GCC unroll 8
        for (int r = 0; r < wide; ++r) {
            const Vector s = load(filter.state[r] + x) + filter.gain[r] * before;
            store(filter.state[r] + x, s);
            value[r % 2] -= on[r] * s;
        }
        store(observed + x, value[0] + value[1]);
    }
}

// The walk's covariance with what a set observes; returns the variance of that.
//
// The columns of the prices are the walk's posterior covariance: a price enters every item of its column alike.
template <int FACTORS>
METRICFIT_INLINE double covary(double* covariance, const Workspace& w, const double* of_prices, const double* on, int q) {
    const int wide = FACTORS > 0 ? FACTORS : w.wide;
    double variance = 0.0;
    for (int first = 0; first < wide; first += 4) {
        Vector total[4] = {}, seen = {};
        for (int b = 0; b < q; b += WIDTH) {
            const Vector value = load(of_prices + b);
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k) total[k] -= value * load(w.basis_t[first + k] + b);
        }
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) seen += on[first + k] * total[k];
        for (int k = 0; k < 4; ++k) covariance[first + k] = sum_of(total[k]);
        variance += sum_of(seen);
    }
    return variance;
}

// The same where each column is a factor of its own.
METRICFIT_INLINE double covary_alone(double* covariance, const double* of_prices, const double* on, int wide) {
    double variance = 0.0;
    for (int b = 0; b < wide; ++b) {
        covariance[b] = -of_prices[b];
        variance -= on[b] * of_prices[b];
    }
    return variance;
}

// Copies whole vectors; what they write beyond `count` is to be overwritten.
METRICFIT_INLINE void copy_vectors(double* target, const double* source, int count) {
    for (int x = 0; x < count; x += WIDTH) store(target + x, load(source + x));
}

// Copies an innovation into the order of the border, from the first unknown to the last, and fills up with zeros.
METRICFIT_INLINE void keep(double* innovation, const double* observed, const Order& order, const Border& border, int constraints) {
    const int q = border.q, f = border.f;
    copy_vectors(innovation, observed + order.masses + q, f);
    copy_vectors(innovation + border.prices, observed, q);
    copy_vectors(innovation + border.masses, observed + order.masses, q);
    innovation[border.masses + q] = observed[order.ends];
    innovation[border.masses + q + 1] = observed[order.ends + 1];
    copy_vectors(innovation + border.prices_p, observed + q, f);
    innovation[border.levels] = observed[order.levels];
    innovation[border.levels + 1] = observed[order.levels + 1];
    for (int c = 0; c < constraints; ++c) innovation[border.multipliers + c] = observed[q + f + c];
    for (int x = border.m; x < whole_eights(border.m); ++x) innovation[x] = 0.0;
}

// The innovations of all sets, their precision and gain.
template <int FACTORS, bool alone>
inline void walk(const Problem& problem, const Iterate& it, const Workspace& w) {
    const int q = it.adversary.used, f = it.predictor.used, groups = problem.groups, wide = FACTORS > 0 ? FACTORS : w.wide;
    const Border border = border_of(problem, it);
    const Order order = order_of(q + f + problem.constraints);
    const Answers answers = answers_of(problem, it, w);
    const Share share{w.share, wide, order.masses};
    const Filter filter{{w.filtered, order.width}, w.observed, w.running_2};
    double* covariance = w.running;
    for (int x = 0; x < wide * order.width; ++x) w.filtered[x] = 0.0;
    for (int x = 0; x < order.width; ++x) w.observed[x] = 0.0;
    for (int r = 0; r < wide; ++r) filter.gain[r] = 0.0;
    for (int j = 0; j <= groups; ++j) w.precision[j] = it.chain_slack[j] / it.chain_mass[j];  // the observation's noise
    for (int j = 0; j <= groups; ++j) {
        const int i = j - 1;
        const double* on = w.chain_on[j];
        double variance = 0.0;
        if (j > 0 && !alone) {
            if (i % LANES == 0) gather(w, answers, i / LANES, share);
            observe<FACTORS, true>(filter, order, w.chain_row[j], on, share, i % LANES, problem.weight[i]);
            variance = covary<FACTORS>(covariance, w, w.observed, on, q);
        } else {
            observe<FACTORS, false>(filter, order, w.chain_row[j], on, share, 0, 0.0);
            if (j > 0) variance = covary_alone(covariance, w.observed, on, wide);
            // The step of the next item, early: numbers that were just written are slow to read as vectors.
            if (alone && j < groups) step_alone(filter, order, w.adversary, q, j);
        }
        const double precision = 1.0 / (larger(variance, 0.0) + w.precision[j]);
        w.precision[j] = precision;
        // A variance lost to rounding says that what this set observes was known before.
        const double known = variance <= 0.0 ? 0.0 : precision;
        for (int r = 0; r < wide; ++r) w.kalman_gain[j][r] = filter.gain[r] = known * covariance[r];
        keep(w.innovation[j], w.observed, order, border, problem.constraints);
    }
}

// Eliminates the chain and completes the border's Schur complement, with the innovations of all sets.
inline void filter_chain(const Problem& problem, const Iterate& it, const Workspace& w) {
    const bool alone = it.predictor.used == 0;
    switch (w.wide) {
        case 4: alone ? walk<4, true>(problem, it, w) : walk<4, false>(problem, it, w); break;
        case 8: alone ? walk<8, true>(problem, it, w) : walk<8, false>(problem, it, w); break;
        default: alone ? walk<0, true>(problem, it, w) : walk<0, false>(problem, it, w);
    }
    const int m = border_of(problem, it).m, groups = problem.groups, until = whole_eights(m);
    // Minus the matrix of the innovations, four rows at once; what they get below the diagonal nobody reads.
    for (int x = 0; x < m; x += 4) {
        for (int j = 0; j <= groups; ++j) {
            for (int r = 0; r < 4; ++r) w.factors[4 * j + r] = -w.precision[j] * w.innovation[j][x + r];
        }
        subtract_vectors<4>({w.border[x], w.border.stride}, {w.factors, 4}, w.innovation, groups + 1, x / LANES * LANES, until);
    }
}

}  // namespace metricfit::METRICFIT_TARGET
