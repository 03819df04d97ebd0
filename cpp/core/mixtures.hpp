// From the columns of the interior-point method back to mixtures over sets of items.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/parameters.hpp"
#include "core/strategy.hpp"
#include "core/target.hpp"

namespace metricfit {

// The groups of a restricted game, and the sizes of its tables in items.
struct Grid {
    const std::vector<Index>& order;    // (G) which block each group of the chain is
    const std::vector<Index>& blocks;   // (G + 1)
    const std::vector<Index>& rows;     // (K)
    const std::vector<Index>& columns;  // (L)
    const std::vector<int>& chain;      // (G + 1)
};

// The adversary's mixture in canonical order.
inline Strategy adversary_mixture(const SolvedColumns& columns, const Grid& grid) {
    const int groups = static_cast<int>(grid.order.size()), used = columns.used;
    std::vector<int> by_size(used);
    std::iota(by_size.begin(), by_size.end(), 0);
    std::sort(by_size.begin(), by_size.end(),
              [&](int a, int b) { return columns.size_index[a] < columns.size_index[b]; });
    Strategy result{std::vector<Index>(used + 2), std::vector<double>(used + 2), Table(used + 2, groups), grid.blocks};
    result.sizes[0] = grid.columns.front();
    result.weights[0] = columns.mass[MAX_COLUMNS];
    for (int x = 0; x < used; ++x) {
        const int a = by_size[x];
        result.sizes[x + 1] = grid.columns[columns.size_index[a]];
        result.weights[x + 1] = columns.mass[a];
        const double* inside = columns.inside + a * columns.stride;
        for (int g = 0; g < groups; ++g) result.marginals[x + 1][grid.order[g]] = inside[g];
    }
    result.sizes[used + 1] = grid.columns.back();
    result.weights[used + 1] = columns.mass[MAX_COLUMNS + 1];
    std::fill_n(result.marginals[used + 1], groups, columns.mass[MAX_COLUMNS + 1]);
    return result;
}

// The predictor's mixture in canonical order. Sets of the chain with the smallest probabilities, `spare` in total, are
// left out.
inline Strategy predictor_mixture(const SolvedColumns& columns, const double* chain_mass, const Grid& grid, double spare) {
    const int groups = static_cast<int>(grid.order.size()), rows = static_cast<int>(grid.rows.size());
    std::vector<double> kept(chain_mass, chain_mass + groups + 1);
    std::vector<int> rising(groups + 1);
    std::iota(rising.begin(), rising.end(), 0);
    std::stable_sort(rising.begin(), rising.end(), [&](int a, int b) { return chain_mass[a] < chain_mass[b]; });
    for (const int j : rising) {
        spare -= chain_mass[j];
        if (spare < 0.0) break;
        kept[j] = 0.0;
    }
    constexpr int UNUSED = -1;
    std::vector<int> slot(rows, UNUSED);
    for (int j = 0; j <= groups; ++j) {
        if (kept[j] > 0.0) slot[grid.chain[j]] = 0;
    }
    for (int a = 0; a < columns.used; ++a) slot[columns.size_index[a]] = 0;
    Strategy result;
    for (int row = 0; row < rows; ++row) {
        if (slot[row] == UNUSED) continue;
        slot[row] = static_cast<int>(result.sizes.size());
        result.sizes.push_back(grid.rows[row]);
    }
    result.weights.assign(result.sizes.size(), 0.0);
    result.marginals = Table(static_cast<int>(result.sizes.size()), groups);
    result.blocks = grid.blocks;
    for (int j = 0; j <= groups; ++j) {
        if (!(kept[j] > 0.0)) continue;
        const int x = slot[grid.chain[j]];
        result.weights[x] += kept[j];
        for (int g = 0; g < j; ++g) result.marginals[x][grid.order[g]] += kept[j];
    }
    for (int a = 0; a < columns.used; ++a) {
        const int x = slot[columns.size_index[a]];
        const double* inside = columns.inside + a * columns.stride;
        result.weights[x] += columns.mass[a];
        for (int g = 0; g < groups; ++g) result.marginals[x][grid.order[g]] += inside[g];
    }
    return result;
}

// Give the adversary every item whose score exceeds `reach`, and none below -reach. The interior-point method leaves such
// items within rounding of 0 or 1, and a large score makes much of that. Sizes that cannot hold the decided items are
// dropped.
inline void settle(const double* scores, double reach, Strategy& strategy) {
    const int width = strategy.marginals.columns, count = static_cast<int>(strategy.sizes.size());
    const std::vector<Index>& blocks = strategy.blocks;
    std::vector<int> decided(width, 0);  // 1 for blocks that are taken, -1 for those that are left
    Index taken = 0, open = blocks[width];
    for (int b = 0; b < width; ++b) {
        if (scores[blocks[b + 1] - 1] > reach) {
            decided[b] = 1;
            taken += blocks[b + 1] - blocks[b];
        } else if (scores[blocks[b]] < -reach) {
            decided[b] = -1;
        }
        if (decided[b] != 0) open -= blocks[b + 1] - blocks[b];
    }
    const auto possible = [&](int j) {
        const Index rest = strategy.sizes[j] - taken;
        return 0 <= rest && rest <= open && strategy.weights[j] > 0.0;
    };
    int kept = 0;
    double total = 0.0;
    for (int j = 0; j < count; ++j) {
        if (!possible(j)) continue;
        ++kept;
        total += strategy.weights[j];
    }
    if (open == blocks[width] || kept == 0) return;
    Strategy result{{}, {}, Table(kept, width), blocks};
    for (int j = 0; j < count; ++j) {
        if (!possible(j)) continue;
        const double rest = static_cast<double>(strategy.sizes[j] - taken), weight = strategy.weights[j] / total;
        const double* row = strategy.marginals[j];
        double filled = 0.0;
        for (int b = 0; b < width; ++b) {
            if (decided[b] == 0) filled += row[b] / strategy.weights[j] * static_cast<double>(blocks[b + 1] - blocks[b]);
        }
        double* target = result.marginals[static_cast<int>(result.sizes.size())];
        for (int b = 0; b < width; ++b) {
            double inside = row[b] / strategy.weights[j];
            if (decided[b] != 0) {
                inside = decided[b] > 0 ? 1.0 : 0.0;
            } else if (rest >= filled) {
                inside += (1.0 - inside) * ((rest - filled) / std::max(static_cast<double>(open) - filled, 1e-300));
            } else {
                inside *= rest / filled;
            }
            target[b] = inside * weight;
        }
        result.sizes.push_back(strategy.sizes[j]);
        result.weights.push_back(weight);
    }
    strategy = std::move(result);
}

}  // namespace metricfit
