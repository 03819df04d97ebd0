// Bringing new sizes into play without leaving the interior, and taking useless ones out.
//
// A new column gets a little mass, spread over the items as on the central path, or much of its neighbours'. Which linear
// equations no longer hold then is the subject of restoring.hpp.
#pragma once

#include "kernels.hpp"
#include "running.hpp"
#include "state.hpp"

namespace metricfit::METRICFIT_TARGET {

// The price at which a column of this mass is on the central path of its items' values.
//
// There the share x of each item solves mu / x - mu / (1 - x) = mass (value - price), and the shares, weighed, sum up to
// `size`. With the right-hand side divided by mu as c and r = sqrt(c^2 + 4),
//
//     1 - 2 x = c / (2 + r),     dx/dc = -1 / (r (2 + r)),
//
// so that a step of Newton's method takes one division per item. The search ends at a relative precision of the sum, and
// starts at the guess, if that is between the bounds. Those are right for sizes of one and more. Smaller ones, which there
// are where items come in blocks, get the lowest price and shares that are too large: with the right ones some games of
// 1000 items take four times as long.
METRICFIT_FUNCTION double central_price(const double* value, const double* weight, int groups, double size, double mass, double mu,
                            double guess, double precision) {
    const double sharpness = mass / mu;
    const double total = sum(groups, [=](int i) { return weight[i]; });
    const Pair ends = maxima(1, groups, [=](int, int i) { return Pair{-value[i], value[i]}; });
    double low = -ends.first - (total + 2.0) / sharpness;
    double high = ends.second + (total + 2.0) / sharpness;
    double price = low < guess && guess < high ? guess : 0.5 * (low + high);
    for (int pass = 0; pass < parameters::growth::MOST_PASSES; ++pass) {
        const Pair found = sums(groups, [=](int i) {
            const double c = (value[i] - price) * sharpness, r = std::sqrt(c * c + 4.0);
            const double change = weight[i] / (r * (2.0 + r));
            return Pair{c * r * change, change};
        });
        const double missing = size - 0.5 * (total - found.first);
        if (std::fabs(missing) <= precision * size) break;
        if (missing < 0.0) {
            high = price;
        } else {
            low = price;
        }
        price += missing / (found.second * sharpness + 1e-300);
        if (!(low < price && price < high)) price = 0.5 * (low + high);
    }
    return price;
}

// Enter a new column; its marginals are the caller's.
METRICFIT_INLINE void enter(Columns& columns, int a, int size_index, double mass, double price) {
    once([&] {
        columns.mass[a] = mass;
        columns.dual_mass[a] = 0.0;
        columns.price[a] = price;
        columns.size_index[a] = size_index;
        columns.member[size_index] = true;
        columns.used = a + 1;
    });
}

// Put a column of this mass into play, centred at what each item costs (value); returns its central price, which the
// column gets with the opposite sign, and fills in the items' shares.
METRICFIT_FUNCTION double open_column(const Problem& problem, Columns& columns, int size_index, const double* METRICFIT_RESTRICT value,
                          double size, double mass, double mu, double* METRICFIT_RESTRICT share) {
    const int a = columns.used, groups = problem.groups;
    mu *= parameters::path::ITEM_SHARE;
    const double sharpness = mass / mu, precision = parameters::growth::PRECISION;
    const double price = central_price(value, problem.weight, groups, size, mass, mu, INFINITY, precision);
    double *inside = columns.inside[a], *outside = columns.outside[a];
    double *dual_inside = columns.dual_inside[a], *dual_outside = columns.dual_outside[a];
    each(groups, [=](int i) {
        const double c = (value[i] - price) * sharpness;
        // The smaller of share and 1 - share keeps its digits.
        const double least = 2.0 / (std::fabs(c) + 2.0 + std::sqrt(c * c + 4.0));
        const double x = c >= 0.0 ? least : 1.0 - least;
        share[i] = x;
        inside[i] = mass * x;
        outside[i] = mass * (1.0 - x);
        dual_inside[i] = mu / (mass * x);
        dual_outside[i] = mu / (mass * (1.0 - x));
    });
    enter(columns, a, size_index, mass, -price);
    return price;
}

// Scale a player's columns to make room for a new one.
METRICFIT_FUNCTION void dilute(Columns& columns, double factor, int groups) {
    const int used = columns.used;
    each(used, groups, [&](int a, int i) { columns.inside[a][i] *= factor; });
    each(used, groups, [&](int a, int i) { columns.outside[a][i] *= factor; });
    each(used, [&](int a) { columns.mass[a] *= factor; });
    each(2, [&](int b) { columns.mass[MAX_COLUMNS + b] *= factor; });
}

// What each item costs the adversary in a set of this size, against the predictor.
METRICFIT_FUNCTION void item_costs(const Problem& problem, const Iterate& it, Workspace& w, int column,
                       double* METRICFIT_RESTRICT cost) {
    const int groups = problem.groups;
    const double* alpha = problem.alpha_t[column];
    const Columns& predictor = it.predictor;
    const double *chain_mass = it.chain_mass, *score = problem.score;
    const int* chain = problem.chain;
    running_back(groups, [=](int i) { return chain_mass[i + 1] * alpha[chain[i + 1]]; },
                 [=](int i, double of_later_sets) { cost[i] = of_later_sets - score[i]; });
    each(predictor.used, [&](int a) { w.running[a] = -alpha[predictor.size_index[a]]; });
    subtract_rows(cost, w.running, predictor.inside, predictor.used, 0, groups);
}

// Let the adversary play sets of this size too.
METRICFIT_FUNCTION void add_adversary(const Problem& problem, Iterate& it, Workspace& w, int column, double mass, double mu) {
    dilute(it.adversary, 1.0 - mass, problem.groups);
    double* cost = w.scratch[0];
    item_costs(problem, it, w, column, cost);
    open_column(problem, it.adversary, column, cost, problem.adversary_sizes[column], mass, mu, w.scratch[1]);
}

// Minus what each item earns the predictor in a set of this size, against this adversary.
METRICFIT_FUNCTION void item_losses(const Problem& problem, const Columns& adversary, const double* multiplier, Workspace& w, int row,
                        double* METRICFIT_RESTRICT loss) {
    const double* alpha = problem.alpha[row];
    double bonus = 0.0;
    for (int c = 0; c < problem.constraints; ++c) bonus += multiplier[c] * problem.gain[c][row];
    each(problem.groups, [&](int i) { loss[i] = -bonus * problem.positive[i]; });
    each(adversary.used, [&](int b) { w.running[b] = alpha[adversary.size_index[b]]; });
    subtract_rows(loss, w.running, adversary.inside, adversary.used, 0, problem.groups);
}

// Let a player use sets of this size too, in place of sets a little smaller and larger.
//
// The new column interpolates between its neighbours among the sizes in play, whose masses shrink accordingly: every item
// keeps its probability, and since the tables are smooth in the size, the payoffs hardly change. False if the neighbours
// are too rare to give `least` mass.
METRICFIT_FUNCTION bool split_column(const Problem& problem, Iterate& it, Workspace& w, int size_index, double mu, double least,
                         bool of_adversary) {
    Columns& columns = of_adversary ? it.adversary : it.predictor;
    const double* sizes = of_adversary ? problem.adversary_sizes : problem.predictor_sizes;
    const int used = columns.used;
    const double size = sizes[size_index];
    const auto size_of = [&](int a) { return sizes[columns.size_index[a]]; };
    int below = -1, above = -1;
    for (int a = 0; a < used; ++a) {
        const double other = size_of(a);
        if (other < size && (below < 0 || other > size_of(below))) below = a;
        if (other > size && (above < 0 || other < size_of(above))) above = a;
    }
    if (below < 0 || above < 0) return false;
    const double share = (size - size_of(below)) / (size_of(above) - size_of(below));
    const double mass_below = columns.mass[below], mass_above = columns.mass[above];
    const double mass = parameters::growth::SPLIT_SHARE * smaller(mass_below / (1.0 - share), mass_above / share);
    if (mass < least) return false;
    const double from_below = mass * (1.0 - share) / mass_below, from_above = mass * share / mass_above;
    const double price = (1.0 - share) * columns.price[below] + share * columns.price[above];
    double* value = w.scratch[0];
    if (of_adversary) {
        item_costs(problem, it, w, size_index, value);
    } else {
        item_losses(problem, it.adversary, it.multiplier, w, size_index, value);
    }
    double *inside_below = columns.inside[below], *inside_above = columns.inside[above], *inside = columns.inside[used];
    double *outside_below = columns.outside[below], *outside_above = columns.outside[above];
    double *outside = columns.outside[used];
    double *dual_inside = columns.dual_inside[used], *dual_outside = columns.dual_outside[used];
    each(problem.groups, [=](int i) {
        const double x = from_below * inside_below[i] + from_above * inside_above[i];
        const double y = from_below * outside_below[i] + from_above * outside_above[i];
        inside_below[i] *= 1.0 - from_below;
        outside_below[i] *= 1.0 - from_below;
        inside_above[i] *= 1.0 - from_above;
        outside_above[i] *= 1.0 - from_above;
        const double slack = parameters::path::ITEM_SHARE * (mu / larger(x, y)), cost = value[i] + price;
        inside[i] = x;
        outside[i] = y;
        dual_inside[i] = larger(cost, 0.0) + slack;
        dual_outside[i] = larger(-cost, 0.0) + slack;
    });
    once([&] {
        columns.mass[below] *= 1.0 - from_below;
        columns.mass[above] *= 1.0 - from_above;
    });
    enter(columns, used, size_index, mass, price);
    return true;
}

// Sets of the chain from the first to the last.
struct Range {
    int first, last;
};

// Fill in how much of the chain's sets near this size makes sets of this size on average: half of their probability on one
// side, and on the other as much as balances it.
METRICFIT_FUNCTION Range nearby(const Problem& problem, const double* chain_mass, int row, double* METRICFIT_RESTRICT share) {
    const int groups = problem.groups;
    const double *sizes = problem.predictor_sizes, size = sizes[row];
    const int* chain = problem.chain;
    int place = 0;
    while (place < groups && sizes[chain[place]] < size) ++place;
    const int wide = larger(parameters::growth::NEARBY_LEAST, groups / parameters::growth::NEARBY_PARTS);
    const int first = larger(1, place - wide), last = smaller(groups - 1, place + wide), count = last + 1 - first;
    const Pair around = sums(count, [=](int x) {
        const double distance = sizes[chain[first + x]] - size, moment = chain_mass[first + x] * distance;
        return distance < 0.0 ? Pair{-moment, 0.0} : Pair{0.0, moment};
    });
    const double below = around.first, above = around.second;
    const double low = below > 0.0 ? smaller(1.0, above / below) : 0.0;
    const double high = above > 0.0 ? smaller(1.0, below / above) : 0.0;
    each(count, [=](int x) {
        const double distance = sizes[chain[first + x]] - size;
        const double factor = distance < 0.0 ? low : distance > 0.0 ? high : 1.0;
        share[first + x] = parameters::growth::TAKEN * factor * chain_mass[first + x];
    });
    return {first, last};
}

// Let the predictor play all sets of this size, not only the chain's.
//
// The new column gets a little of everything, spread as on the central path, and most of its mass from the chain's sets of
// about its size: what items are worth to the adversary hardly changes by that.
METRICFIT_FUNCTION void add_predictor(const Problem& problem, Iterate& it, Workspace& w, int row, double mass, double mu) {
    Columns& predictor = it.predictor;
    const int groups = problem.groups, a = predictor.used;
    double *loss = w.scratch[0], *share = w.scratch[1], *moved = w.factor, *chain_mass = it.chain_mass;
    mass *= parameters::growth::MASS_SHARE_P;
    dilute(predictor, 1.0 - mass, groups);
    each(groups + 1, [=](int j) { chain_mass[j] *= 1.0 - mass; });
    const Range range = nearby(problem, chain_mass, row, moved);
    const int first = range.first, last = range.last;
    const double taken = sum(last + 1 - first, [=](int x) { return moved[first + x]; });
    item_losses(problem, it.adversary, it.multiplier, w, row, loss);
    const double price =
        open_column(problem, predictor, row, loss, problem.predictor_sizes[row], mass + taken, mu, share);
    each(last + 1 - first, [=](int x) { chain_mass[first + x] -= moved[first + x]; });
    double* above = w.factor_2;  // what the sets that hold an item give
    running_back(groups, [=](int i) { return first <= i + 1 && i + 1 <= last ? moved[i + 1] : 0.0; },
                 [=](int i, double total) { above[i] = total; });
    double *inside = predictor.inside[a], *outside = predictor.outside[a];
    double *dual_inside = predictor.dual_inside[a], *dual_outside = predictor.dual_outside[a];
    each(groups, [=](int i) {
        const double x = mass * share[i] + above[i];
        const double y = mass * (1.0 - share[i]) + larger(taken - above[i], 0.0);
        const double slack = parameters::path::ITEM_SHARE * (mu / larger(x, y)), excess = loss[i] - price;
        inside[i] = x;
        outside[i] = y;
        dual_inside[i] = larger(excess, 0.0) + slack;
        dual_outside[i] = larger(-excess, 0.0) + slack;
    });
}

// Take sizes out of play that no near-optimal strategy uses; returns whether there were any.
//
// A column whose best set gains less than `level` by some amount has at most mass `gap` over that amount in any solution.
// Its mass is missing until the next step, so that only little may go. A size that had to join again stays: some games
// would otherwise drop and add the same sizes forever.
METRICFIT_FUNCTION bool drop_columns(Columns& columns, const double* gain, double level, double gap, int groups) {
    static_assert(MAX_COLUMNS <= 64, "one bit per column");
    const int used = columns.used;
    const double least = parameters::growth::USELESS_GAPS * gap;
    const double most_mass = smaller(parameters::growth::USELESS_MASS, gap);
    std::uint64_t gone = 0;
    for (int a = 0; a < used; ++a) {
        const int size = columns.size_index[a];
        const bool useless = level - gain[size] > least && columns.mass[a] < most_mass;
        if (useless && !columns.dropped[size]) gone |= std::uint64_t{1} << a;
    }
    if (gone == 0) return false;
    int kept = 0;
    for (int a = 0; a < used; ++a) {
        if (gone >> a & 1) {
            once([&] {
                const int size = columns.size_index[a];
                columns.member[size] = false;
                columns.dropped[size] = true;
            });
            continue;
        }
        if (kept < a) {
            each(groups, [&](int i) { columns.inside[kept][i] = columns.inside[a][i]; });
            each(groups, [&](int i) { columns.outside[kept][i] = columns.outside[a][i]; });
            each(groups, [&](int i) { columns.dual_inside[kept][i] = columns.dual_inside[a][i]; });
            each(groups, [&](int i) { columns.dual_outside[kept][i] = columns.dual_outside[a][i]; });
            once([&] {
                columns.mass[kept] = columns.mass[a];
                columns.dual_mass[kept] = columns.dual_mass[a];
                columns.price[kept] = columns.price[a];
                columns.size_index[kept] = columns.size_index[a];
            });
        }
        ++kept;
    }
    once([&] { columns.used = kept; });
    return true;
}

}  // namespace metricfit::METRICFIT_TARGET
