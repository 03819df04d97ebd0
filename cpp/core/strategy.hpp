// A player's mixture over sets of items, written by its marginals: see metricfit.game.Strategy.
//
// Row j of the marginals belongs to the sets of sizes[j] items, which have probability weights[j]; its entry b is the
// probability that an item of block b is in the set and the set has that size. Block b holds the items blocks[b] up to
// blocks[b + 1] - 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "arrays.hpp"

namespace metricfit {

using Index = std::int64_t;

// A matrix that owns its memory.
struct Table {
    int rows = 0, columns = 0;
    std::vector<double> numbers;

    Table() = default;
    Table(int rows_, int columns_) : rows(rows_), columns(columns_), numbers(std::size_t(rows_) * columns_, 0.0) {}
    double* operator[](int row) { return numbers.data() + std::size_t(row) * columns; }
    const double* operator[](int row) const { return numbers.data() + std::size_t(row) * columns; }
    ConstMatrix view() const { return {numbers.data(), columns}; }
};

struct Strategy {
    std::vector<Index> sizes;
    std::vector<double> weights;
    Table marginals;  // (sizes, blocks)
    std::vector<Index> blocks;
};

// Sort `order` by rising key; in linear time if it is sorted but for a few neighbours, which is how one size leaves it to
// the next. Otherwise coarser passes come first (Shell's sort). Stable where it is nearly sorted, and always the same.
template <class Order>
inline void sort_ascending(const double* keys, Order* order, int count) {
    int inversions = 0;
    for (int i = 1; i < count; ++i) inversions += keys[order[i - 1]] > keys[order[i]];
    int gap = 1;
    if (8 * inversions > count) {
        while (gap < count / 3) gap = 3 * gap + 1;
    }
    for (; gap >= 1; gap /= 3) {
        for (int i = gap; i < count; ++i) {
            const Order item = order[i];
            const double key = keys[item];
            int j = i - gap;
            while (j >= 0 && keys[order[j]] > key) {
                order[j + gap] = order[j];
                j -= gap;
            }
            order[j + gap] = item;
        }
    }
}

// Make weights and marginals exactly those of a mixture: weights are clipped and normalised; in each row the marginals are
// clipped and then moved towards 0 or towards the weight, whichever makes their sum right. Returns false if an entry is not
// finite or no weight is positive.
inline bool clean(const Index* sizes, double* weights, double* marginals, const Index* blocks, int count, int width) {
    const double items = static_cast<double>(blocks[width]);
    double total = 0.0;
    for (int j = 0; j < count; ++j) {
        if (!std::isfinite(weights[j])) return false;
        weights[j] = std::max(weights[j], 0.0);
        total += weights[j];
    }
    if (!(total > 0.0)) return false;
    for (int j = 0; j < count; ++j) {
        // The row is rescaled with its weight, so that a rough normalisation does not change its shape.
        const double weight = weights[j] / total;
        double* row = marginals + std::size_t(j) * width;
        weights[j] = weight;
        double have = 0.0;
        for (int b = 0; b < width; ++b) {
            const double value = row[b] / total;
            if (!std::isfinite(value)) return false;
            row[b] = std::min(std::max(value, 0.0), weight);
            have += row[b] * static_cast<double>(blocks[b + 1] - blocks[b]);
        }
        const double need = static_cast<double>(sizes[j]) * weight;
        // Rounding in the sum is no reason to change them: zeros stay zeros, on which the referee saves time.
        if (std::abs(have - need) <= std::numeric_limits<double>::epsilon() * width * need) continue;
        if (have > need) {
            const double factor = need / have;
            for (int b = 0; b < width; ++b) row[b] *= factor;
        } else if (have < need) {
            const double factor = (items * weight - need) / (items * weight - have);
            for (int b = 0; b < width; ++b) row[b] = weight - (weight - row[b]) * factor;
        }
    }
    return true;
}

inline bool cuts_a_tie(const double* scores, Index split, const std::vector<Index>& blocks) {
    for (std::size_t b = 1; b + 1 < blocks.size(); ++b) {
        const Index edge = blocks[b];
        if (edge != split && scores[edge - 1] == scores[edge]) return true;
    }
    return false;
}

// Blocks in which every tie that a block boundary cuts has become a block of its own.
inline std::vector<Index> tie_blocks(const double* scores, Index items, Index split, const std::vector<Index>& blocks) {
    std::vector<char> edge(items + 1, 0);
    for (const Index place : blocks) edge[place] = 1;
    for (Index start = 0; start < items;) {
        Index stop = start + 1;
        bool cut = false;
        for (; stop < items && stop != split && scores[stop] == scores[start]; ++stop) {
            cut = cut || edge[stop];
            edge[stop] = 0;
        }
        if (cut) edge[start] = edge[stop] = 1;
        start = stop;
    }
    std::vector<Index> merged;
    for (Index place = 0; place <= items; ++place) {
        if (edge[place]) merged.push_back(place);
    }
    return merged;
}

// The same marginals on other blocks: each gets the mean of the items in it.
inline Table averaged(ConstMatrix marginals, int count, const std::vector<Index>& blocks, const std::vector<Index>& merged) {
    const int width = static_cast<int>(merged.size()) - 1;
    Table result(count, width);
    std::size_t old = 0;
    for (int next = 0; next < width; ++next) {
        while (blocks[old + 1] <= merged[next]) ++old;
        for (std::size_t b = old; b + 1 < blocks.size() && blocks[b] < merged[next + 1]; ++b) {
            const Index overlap = std::min(blocks[b + 1], merged[next + 1]) - std::max(blocks[b], merged[next]);
            const double share = static_cast<double>(overlap) / static_cast<double>(merged[next + 1] - merged[next]);
            for (int j = 0; j < count; ++j) result[j][next] += share * marginals[j][b];
        }
    }
    return result;
}

// Give items of equal score, on the same side of the split, the same marginals. The game does not change when such items
// are swapped, so by convexity the averaged strategy guarantees its player at least as much.
inline void average_ties(const double* scores, Index items, Index split, Strategy& strategy) {
    if (!cuts_a_tie(scores, split, strategy.blocks)) return;
    std::vector<Index> merged = tie_blocks(scores, items, split, strategy.blocks);
    strategy.marginals = averaged(strategy.marginals.view(), strategy.marginals.rows, strategy.blocks, merged);
    strategy.blocks = std::move(merged);
}

// The probability of each item to be in the set, in the user's order.
inline void inclusion_in_order(ConstMatrix marginals, int count, int width, const Index* blocks, const Index* order,
                               double* result) {
    for (int b = 0; b < width; ++b) {
        double included = 0.0;
        for (int j = 0; j < count; ++j) included += marginals[j][b];
        for (Index i = blocks[b]; i < blocks[b + 1]; ++i) result[order[i]] = included;
    }
}

}  // namespace metricfit
