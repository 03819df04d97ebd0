// From scores to certified strategies: what the interior-point method needs before it starts, and the referee afterwards.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "mixtures.hpp"
#include "referee.hpp"
#include "target.hpp"

namespace metricfit {

// A restricted game but for its scores: what the games of a batch share. It owns all of its memory.
struct Setting {
    int constraints = 0;
    Table alpha, beta, alpha_t, beta_t;  // (K, L), (L, K)
    std::vector<double> predictor_sizes, adversary_sizes;  // in the unit of the weights
    std::vector<int> chain, opening;
    Table gain, offset;                  // (C, K)
    std::vector<Index> rows, columns;    // sizes in items
    std::vector<Index> blocks;           // (G + 1)
    std::vector<Index> order;            // (G) in which the blocks join the chain; if empty, that of falling scores
    Index split = 0;                     // items before it are positive
    double reach = 0.0;                  // scores beyond it decide their items

    int groups() const { return static_cast<int>(blocks.size()) - 1; }
    Index items() const { return blocks.back(); }
    Limits limits() const { return {constraints, gain.view(), offset.view()}; }
};

// Items of one game as the user has them, and in canonical order: falling scores before the split, then after it.
struct CanonicalScores {
    std::vector<double> scores;
    std::vector<Index> order;

    CanonicalScores(const double* given, Index items, Index split) : scores(items), order(items) {
        std::vector<double> falling(items);
        for (Index i = 0; i < items; ++i) falling[i] = -given[i];
        std::iota(order.begin(), order.end(), 0);
        sort_ascending(falling.data(), order.data(), static_cast<int>(split));
        sort_ascending(falling.data(), order.data() + split, static_cast<int>(items - split));
        for (Index i = 0; i < items; ++i) scores[i] = given[order[i]];
    }
};

// Weight, score and label of every group in the order of the chain, and the constraints of the chain's sets.
//
// Lengths are measured in the average length of a block, which keeps every number of the interior-point method near one
// whatever the number of items. Scores beyond the reach decide their items, so they are clipped there, and settle() rounds
// those items afterwards.
struct Groups {
    std::vector<Index> order;
    std::vector<double> weight, score, positive;
    Table chain_gain;  // (C, G + 1)

    Groups(const Setting& setting, const std::vector<double>& scores)
        : order(setting.order),
          weight(setting.groups()),
          score(setting.groups()),
          positive(setting.groups()),
          chain_gain(setting.constraints, setting.groups() + 1) {
        const int groups = setting.groups();
        const std::vector<Index>& blocks = setting.blocks;
        if (order.empty()) order = CanonicalScores(scores.data(), setting.items(), setting.items()).order;
        const double unit = static_cast<double>(setting.items()) / groups;
        double hits = 0.0;
        for (int g = 0; g <= groups; ++g) {
            const int row = setting.chain[g];
            for (int c = 0; c < setting.constraints; ++c) chain_gain[c][g] = setting.gain[c][row] * hits + setting.offset[c][row];
            if (g == groups) break;
            const Index first = blocks[order[g]], last = blocks[order[g] + 1];
            const double length = static_cast<double>(last - first);
            double total = 0.0;
            for (Index i = first; i < last; ++i) total += std::min(std::max(scores[i], -setting.reach), setting.reach);
            weight[g] = length / unit;
            score[g] = total / length * unit;
            positive[g] = first < setting.split ? 1.0 : 0.0;
            hits += positive[g] * length / unit;
        }
    }
};

// The strategies that one run of the interior-point method ends with, not yet cleaned.
struct Attempt {
    double gap;  // in the restricted game
    int iterations;
    std::vector<double> multipliers;
    Strategy adversary, predictor;
};

inline Attempt attempt(const Setting& setting, const std::vector<double>& scores, const Settings& settings) {
    const Groups groups(setting, scores);
    const int count = setting.groups();
    const RestrictedGame game = {
        count,
        static_cast<int>(setting.rows.size()),
        static_cast<int>(setting.columns.size()),
        setting.constraints,
        setting.alpha.numbers.data(),
        setting.beta.numbers.data(),
        setting.alpha_t.numbers.data(),
        setting.beta_t.numbers.data(),
        setting.predictor_sizes.data(),
        setting.adversary_sizes.data(),
        groups.weight.data(),
        groups.score.data(),
        groups.positive.data(),
        setting.chain.data(),
        setting.gain.numbers.data(),
        setting.offset.numbers.data(),
        groups.chain_gain.numbers.data(),
        setting.opening.data(),
        static_cast<int>(setting.opening.size()),
    };
    const SolvedGame found = best_target().solve(game, settings);
    const Grid grid = {groups.order, setting.blocks, setting.rows, setting.columns, setting.chain};
    const bool single = count == setting.items();
    const double spare = (single ? parameters::mixtures::SPARE : parameters::mixtures::SPARE_OF_BLOCKS) * settings.tolerance;
    Attempt result{found.upper - found.lower,
                   found.iterations,
                   std::vector<double>(found.multiplier, found.multiplier + setting.constraints),
                   adversary_mixture(found.adversary, grid),
                   predictor_mixture(found.predictor, found.chain_mass, grid, spare)};
    best_target().release();
    settle(scores.data(), setting.reach, result.adversary);
    return result;
}

// Some columns of a table with `count` rows, or some of its rows as columns.
inline Table columns_of(ConstMatrix table, int count, const std::vector<Index>& chosen) {
    Table result(count, static_cast<int>(chosen.size()));
    for (int row = 0; row < count; ++row) {
        for (int j = 0; j < result.columns; ++j) result[row][j] = table[row][chosen[j]];
    }
    return result;
}
inline Table rows_of(ConstMatrix table, int count, const std::vector<Index>& chosen) {
    Table result(count, static_cast<int>(chosen.size()));
    for (int row = 0; row < count; ++row) {
        for (int j = 0; j < result.columns; ++j) result[row][j] = table[chosen[j]][row];
    }
    return result;
}

// What a player's cleaned strategy proves, and how often it includes each item in the user's order.
struct Verdict {
    double upper = std::numeric_limits<double>::infinity(), lower = -std::numeric_limits<double>::infinity();
    int iterations = 0;
};

// Solve a game without constraints whose items are single, and have the referee judge the answer. `alpha` and `beta` are
// the metric's own tables, (n + 1, n + 1).
inline Verdict judge(const Setting& setting, const double* given, const Settings& settings, ConstMatrix alpha,
                     ConstMatrix beta, double* inclusion_adversary, double* inclusion_predictor) {
    const Index items = setting.items();
    const CanonicalScores canonical(given, items, setting.split);
    const double* scores = canonical.scores.data();
    Attempt found = attempt(setting, canonical.scores, settings);
    Verdict verdict;
    verdict.iterations = found.iterations;
    const auto prepare = [&](Strategy& strategy, double* inclusion) {
        if (!clean(strategy.sizes.data(), strategy.weights.data(), strategy.marginals.numbers.data(),
                   strategy.blocks.data(), strategy.marginals.rows, strategy.marginals.columns)) {
            return false;
        }
        average_ties(scores, items, setting.split, strategy);
        inclusion_in_order(strategy.marginals.view(), strategy.marginals.rows, strategy.marginals.columns,
                           strategy.blocks.data(), canonical.order.data(), inclusion);
        return true;
    };
    // A value that is not a number proves nothing.
    const auto finite = [](const std::vector<double>& values) {
        return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
    };
    const int sizes = static_cast<int>(items) + 1;
    std::vector<double> values(sizes);
    if (prepare(found.adversary, inclusion_adversary)) {
        const Strategy& adversary = found.adversary;
        const double paid = expected_score(scores, adversary.marginals.view(), adversary.marginals.rows,
                                           adversary.marginals.columns, adversary.blocks.data());
        predictor_values(columns_of(alpha, sizes, adversary.sizes).view(), columns_of(beta, sizes, adversary.sizes).view(),
                         sizes, 0, paid, setting.split, adversary, nullptr, Limits{}, values.data());
        if (finite(values)) verdict.upper = *std::max_element(values.begin(), values.end());
    }
    if (prepare(found.predictor, inclusion_predictor)) {
        const Strategy& predictor = found.predictor;
        adversary_values(rows_of(alpha, sizes, predictor.sizes).view(), rows_of(beta, sizes, predictor.sizes).view(), sizes,
                         0, scores, nullptr, predictor, values.data());
        if (finite(values)) verdict.lower = *std::min_element(values.begin(), values.end());
    }
    return verdict;
}

}  // namespace metricfit
