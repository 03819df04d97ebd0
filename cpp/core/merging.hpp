// Neighbouring items for which the adversary decides alike become one group for some steps, which makes a step faster.
//
// Take items in the order of the chain. For column l of the adversary let c_il be the reduced cost of item i, the difference
// of its two duals: positive if sets of this size leave the item out, negative if they hold it. If the predictor gives
// neighbours the same probabilities, their reduced costs differ only by their scores. So treating them alike loses
// nothing if no score is further from the mean than the group's margin, the smallest |c_il| of any column: every column
// would then decide for each of them as for the group. Even in games that need many sizes this holds for about half of
// the items.
//
// Margins change along the path. Whenever best responses are computed, groups that have become too wide are split; when
// columns join, after which residuals are restored anyway, groups are merged as well. Best responses treat all items
// separately, so the bounds hold for the game without groups.
#pragma once

#include "state.hpp"

namespace metricfit::METRICFIT_TARGET {

// The margin of each group's decision, and whether (1 or 0) the decision differs from that of the group before.
METRICFIT_FUNCTION void find_margins(const Columns& adversary, int groups, double* METRICFIT_RESTRICT margin,
                         double* METRICFIT_RESTRICT apart) {
    each(groups, [=](int g) {
        margin[g] = INFINITY;
        apart[g] = 0.0;
    });
    for (int b = 0; b < adversary.used; ++b) {
        const double *inside = adversary.dual_inside[b], *outside = adversary.dual_outside[b];
        each(groups, [=](int g) { margin[g] = smaller(margin[g], std::fabs(inside[g] - outside[g])); });
        each(groups - 1, [=](int g) {
            const bool otherwise = (inside[g + 1] - outside[g + 1]) * (inside[g] - outside[g]) < 0.0;
            apart[g + 1] = otherwise ? 1.0 : apart[g + 1];
        });
    }
}

// Write down where new groups begin, how many there are, and if any group was split. `spare` is how far scores may be from
// the mean in any case.
METRICFIT_FUNCTION void choose_groups(const Problem& whole, const Problem& problem, Grouping& grouping, const double* margin,
                          const double* apart, double spare) {
    using parameters::merging::SPAN;
    const double *scores = whole.score, *labels = whole.positive;
    const int *blocks = grouping.blocks, groups = problem.groups;
    int *coming = grouping.coming, count = 0;
    bool split = false;
    double limit = -1.0;                      // margin of the group being made
    double high = -INFINITY, low = INFINITY;  // and its scores
    for (int g = 0; g < groups; ++g) {
        const int first = blocks[g], length = blocks[g + 1] - first;
        double own_high = scores[first], own_low = scores[first];
        for (int i = first + 1; i < first + length; ++i) {
            own_high = larger(own_high, scores[i]);
            own_low = smaller(own_low, scores[i]);
        }
        const double own_limit = margin[g] + spare;
        const bool alike = apart[g] == 0.0 && labels[first] == labels[larger(first - 1, 0)];
        if (alike && larger(high, own_high) - smaller(low, own_low) <= SPAN * smaller(limit, own_limit)) {
            limit = smaller(limit, own_limit);
            high = larger(high, own_high);
            low = smaller(low, own_low);
            continue;
        }
        limit = own_limit;
        high = own_high;
        low = own_low;
        const double mean = problem.score[g], furthest = larger(high - mean, mean - low);
        int pieces = 1;
        if (length > 1 && furthest > limit + spare) {
            pieces = furthest < limit * length ? static_cast<int>(furthest / limit) + 1 : length;
            split = true;
            limit = -1.0;
        }
        for (int x = 0; x < pieces; ++x) coming[count++] = first + length * x / pieces;
    }
    coming[count] = whole.groups;
    grouping.count = count;
    grouping.split = split;
}

// Weight of items from one to another.
METRICFIT_INLINE double weight_of(const double* weight, int first, int last) {
    double total = 0.0;
    for (int i = first; i < last; ++i) total += weight[i];
    return total;
}

// Let the chain's sets end with the new groups. `wide` has room for a number per item and one more.
//
// The probability of a removed set is given to its neighbours, and a new set gets a small part of theirs, in shares
// that keep every group's probability. The slack of a new set is that of its neighbours until it is computed.
METRICFIT_FUNCTION void regroup_chain(const Problem& whole, Iterate& it, const Grouping& grouping, int groups, double* wide) {
    const double* weight = whole.weight;
    const int *blocks = grouping.blocks, *coming = grouping.coming, count = grouping.count;
    double *mass = it.chain_mass, *slack = it.chain_slack;
    each(groups + 1, [=](int g) { wide[blocks[g]] = slack[g]; });
    each(groups, [=](int g) {
        const double least = smaller(wide[blocks[g]], wide[blocks[g + 1]]);
        for (int j = blocks[g] + 1; j < blocks[g + 1]; ++j) wide[j] = least;
    });
    each(count + 1, [=](int g) { slack[g] = wide[coming[g]]; });

    each(groups + 1, [=](int g) { wide[blocks[g]] = mass[g]; });
    once([&] {
        for (int g = 0; g < groups; ++g) {
            const int first = blocks[g], last = blocks[g + 1];
            const double own = parameters::merging::NEW_SETS * smaller(wide[first], wide[last]) / (last - first);
            const double total = weight_of(weight, first, last);
            double done = 0.0;
            for (int j = first + 1; j < last; ++j) {
                done += weight[j - 1];
                wide[j] = own;
                wide[first] -= own * (1.0 - done / total);
                wide[last] -= own * (done / total);
            }
        }
        mass[0] = wide[0];
        for (int g = 0; g < count; ++g) {
            const int first = coming[g], last = coming[g + 1];
            const double total = weight_of(weight, first, last);
            double done = 0.0;
            mass[g + 1] = wide[last];
            for (int j = first + 1; j < last; ++j) {
                done += weight[j - 1];
                mass[g] += wide[j] * (1.0 - done / total);
                mass[g + 1] += wide[j] * (done / total);
            }
        }
    });
}

// The first old group that each new one has items of; last, how many old groups there are. A new group is part of an old
// one, or made of whole ones.
METRICFIT_FUNCTION void find_origins(const Grouping& grouping, int* origin) {
    const int *blocks = grouping.blocks, *coming = grouping.coming, count = grouping.count;
    int old = 0;
    for (int g = 0; g < count; ++g) {
        while (blocks[old + 1] <= coming[g]) ++old;
        origin[g] = old;
    }
    while (blocks[old] < coming[count]) ++old;
    origin[count] = old;
}

// Give parts of an old group its numbers, and groups made of several the means. `old` has room for a row.
METRICFIT_FUNCTION void regroup_rows(Matrix rows, int used, const double* weight, int groups, int count, const int* origin,
                         double* METRICFIT_RESTRICT old) {
    for (int a = 0; a < used; ++a) {
        double* METRICFIT_RESTRICT row = rows[a];
        each(groups, [=](int g) { old[g] = row[g]; });
        each(count, [=](int g) {
            const int first = origin[g], last = origin[g + 1];
            if (last <= first + 1) {
                row[g] = old[first];
                return;
            }
            double total = 0.0, items = 0.0;
            for (int h = first; h < last; ++h) {
                total += weight[h] * old[h];
                items += weight[h];
            }
            row[g] = total / items;
        });
    }
}

METRICFIT_FUNCTION void regroup_columns(const Columns& columns, const double* weight, int groups, int count, const int* origin,
                            double* old) {
    regroup_rows(columns.inside, columns.used, weight, groups, count, origin, old);
    regroup_rows(columns.outside, columns.used, weight, groups, count, origin, old);
    regroup_rows(columns.dual_inside, columns.used, weight, groups, count, origin, old);
    regroup_rows(columns.dual_outside, columns.used, weight, groups, count, origin, old);
}

// Write down items and chain of the new groups.
METRICFIT_FUNCTION void write_problem(const Problem& whole, Grouping& grouping) {
    const int *coming = grouping.coming, count = grouping.count;
    each(count + 1, [&](int g) {
        const int first = coming[g];
        grouping.blocks[g] = first;
        grouping.chain[g] = whole.chain[first];
        for (int c = 0; c < whole.constraints; ++c) grouping.gain[c][g] = whole.chain_gain[c][first];
    });
    each(count, [&](int g) {
        double total = 0.0, score = 0.0;
        for (int i = coming[g]; i < coming[g + 1]; ++i) {
            total += whole.weight[i];
            score += whole.weight[i] * whole.score[i];
        }
        grouping.weight[g] = total;
        grouping.score[g] = score / total;
        grouping.positive[g] = whole.positive[coming[g]];
    });
}

// The problem on the groups that were written down.
METRICFIT_FUNCTION Problem on_groups(const Problem& whole, const Grouping& grouping) {
    Problem problem = whole;
    problem.groups = grouping.count;
    problem.weight = grouping.weight;
    problem.score = grouping.score;
    problem.positive = grouping.positive;
    problem.chain = grouping.chain;
    problem.chain_gain = {grouping.gain.data, grouping.gain.stride};
    return problem;
}

// Choose groups anew, and adapt the iterate, of which residuals and slacks are to be restored; returns whether anything was
// done. `problem` is on the groups so far. Without `merge`, nothing is done unless a group has to be split.
METRICFIT_FUNCTION bool regroup(const Problem& whole, const Problem& problem, Iterate& it, Workspace& w, Grouping& grouping, double gap,
                    bool merge) {
    const int groups = problem.groups;
    double *margin = w.scratch[0], *apart = w.scratch[1], *wide = w.factor;
    const double total = sum(whole.groups, [&](int i) { return whole.weight[i]; });
    find_margins(it.adversary, groups, margin, apart);
    const double spare = parameters::merging::COSTS * gap / total;
    once([&] { choose_groups(whole, problem, grouping, margin, apart, spare); });
    if (!(grouping.split || (merge && grouping.count < groups))) return false;
    regroup_chain(whole, it, grouping, groups, wide);
    int* origin = w.order;
    once([&] { find_origins(grouping, origin); });
    regroup_columns(it.adversary, problem.weight, groups, grouping.count, origin, wide);
    regroup_columns(it.predictor, problem.weight, groups, grouping.count, origin, wide);
    write_problem(whole, grouping);
    return true;
}

}  // namespace metricfit::METRICFIT_TARGET
