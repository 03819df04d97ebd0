// The best strategies so far, as mixtures of those met on the way.
//
// The loss of a mixture of strategies to the best response of one size is at most the mixture of their losses, because
// the loss is convex in the marginals. Strategies from different steps are weak against different sizes, so a mixture
// of two proves a better bound than either.
#pragma once

#include "recentring.hpp"
#include "state.hpp"

namespace metricfit::METRICFIT_TARGET {

// What two strategies lose to each of `count` sizes. The second loses `shift` more than is written down.
struct Losses {
    const double *kept, *added;
    double shift;
    int count;
};

// The largest entry of (1 - t) kept + t (added + shift), and how fast it grows with t.
struct Top {
    double value, slope;
};
METRICFIT_INLINE Top top_at(const Losses& losses, double t) {
    const double *kept = losses.kept, *added = losses.added, shift = losses.shift;
    const auto change = [=](int x) { return added[x] + shift - kept[x]; };
    const int x = argmax(losses.count, -INFINITY, [=](int y) { return kept[y] + t * change(y); });
    if (x < 0) return {-INFINITY, 0.0};
    return {kept[x] + t * change(x), change(x)};
}

// The share t of the second strategy at which the largest entry of the mixture is least.
//
// The largest entry is convex in t and made of straight lines. Those at both ends of an interval meet within it; if no
// other entry is above them there, that is the place, and else the new one narrows the interval.
METRICFIT_FUNCTION double best_share(const Losses& losses) {
    double low = 0.0, high = 1.0;
    Top at_low = top_at(losses, low);
    if (at_low.slope >= 0.0) return low;
    Top at_high = top_at(losses, high);
    if (at_high.slope <= 0.0) return high;
    for (int trial = 0; trial < parameters::blending::MOST_TRIALS; ++trial) {
        const double rise = at_high.value - at_low.value - at_high.slope * (high - low);
        const double t = low + rise / (at_low.slope - at_high.slope);
        if (!(low < t && t < high)) break;
        const Top top = top_at(losses, t);
        if (top.slope == at_low.slope || top.slope == at_high.slope) return t;
        if (top.slope > 0.0) {
            high = t;
            at_high = top;
        } else {
            low = t;
            at_low = top;
        }
    }
    return low;
}

// The column of this size, or the first free one.
METRICFIT_INLINE int place_of(const Columns& columns, int size_index) {
    for (int a = 0; a < columns.used; ++a) {
        if (columns.size_index[a] == size_index) return a;
    }
    return columns.used;
}

// How much of a new strategy to mix into the one that was kept, by what each of them loses. Where the sizes of both do not
// fit together, all or nothing.
METRICFIT_FUNCTION double share_of(const Columns& kept, const Columns& added, const Losses& losses) {
    int together = kept.used;
    for (int a = 0; a < added.used; ++a) together += place_of(kept, added.size_index[a]) == kept.used;
    if (together <= MAX_COLUMNS) return best_share(losses);
    return top_at(losses, 1.0).value < top_at(losses, 0.0).value ? 1.0 : 0.0;
}

// Add this share of what every item of a group has; group g begins at item blocks[g].
METRICFIT_INLINE void add_items(double* METRICFIT_RESTRICT kept, const double* METRICFIT_RESTRICT added, double share,
                                const int* blocks, int groups, int items) {
    if (groups == items) {
        each(groups, [&](int i) { kept[i] += share * added[i]; });
        return;
    }
    each(groups, [&](int g) {
        for (int i = blocks[g]; i < blocks[g + 1]; ++i) kept[i] += share * added[g];
    });
}

// Move the chain's probabilities to their mixture with new ones, which are of fewer sets.
METRICFIT_FUNCTION void mix_chain(double* kept, const double* added, double share, const int* blocks, int groups, int items) {
    each(items + 1, [&](int j) { kept[j] = share == 1.0 ? 0.0 : kept[j] * (1.0 - share); });
    each(groups + 1, [&](int g) { kept[blocks[g]] += share * added[g]; });
}

// Move a player's strategy to its mixture with a new one of these groups, which takes this share.
METRICFIT_FUNCTION void mix_columns(Columns& kept, const Columns& added, double share, const int* blocks, int groups, int items) {
    const int before = share == 1.0 ? 0 : kept.used;
    each(before, items, [&](int a, int i) { kept.inside[a][i] *= 1.0 - share; });
    each(before, [&](int a) { kept.mass[a] *= 1.0 - share; });
    mix(kept.mass + MAX_COLUMNS, added.mass + MAX_COLUMNS, 2, share);
    once([&] {
        kept.used = before;
        for (int a = 0; a < added.used; ++a) {
            const int place = place_of(kept, added.size_index[a]);
            if (place == kept.used) {
                kept.used = place + 1;
                kept.size_index[place] = added.size_index[a];
                kept.mass[place] = 0.0;
            }
            kept.mass[place] += share * added.mass[a];
        }
    });
    each(kept.used - before, items, [&](int a, int i) { kept.inside[before + a][i] = 0.0; });
    for (int a = 0; a < added.used; ++a) {
        double* row = kept.inside[place_of(kept, added.size_index[a])];
        add_items(row, added.inside[a], share, blocks, groups, items);
    }
}

// Mix a new strategy into the one that was kept, if there is one (`known`), and return its share. `losses` becomes what
// the mixture loses to each of `count` sizes; what the new one does is new_losses + shift.
METRICFIT_FUNCTION double blend(Columns& kept, const Columns& added, double* METRICFIT_RESTRICT losses,
                    const double* METRICFIT_RESTRICT new_losses, double shift, int count, bool known, const int* blocks,
                    int groups, int items) {
    const double share = known ? share_of(kept, added, {losses, new_losses, shift, count}) : 1.0;
    if (share > 0.0) {
        mix_columns(kept, added, share, blocks, groups, items);
        each(count, [&](int x) {
            const double change = new_losses[x] + shift;
            losses[x] = share == 1.0 ? change : losses[x] + share * (change - losses[x]);
        });
    }
    return share;
}

}  // namespace metricfit::METRICFIT_TARGET
