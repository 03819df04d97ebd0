// Both players' best responses for every size: the bounds of the value that any strategies prove.
//
// Given its size, a best response consists of the items with the largest (for the predictor) or smallest (for the
// adversary) values, so sorting finds it. For most sizes a bound shows that they are not the best, and nothing is
// sorted. Nothing here depends on how a strategy was found.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "levels.hpp"
#include "parameters.hpp"
#include "strategy.hpp"

namespace metricfit {

// The constraints of a game, for every size of the predictor: value = gain * (items before the split) + offset.
struct Limits {
    int count = 0;
    ConstMatrix gain, offset;  // (C, n + 1)
};

// How many of the first blocks a row of marginals is spread over evenly, with zero after them; -1 if it is of another kind.
inline int prefix_end(const double* marginals, int width) {
    int end = 0;
    while (end < width && marginals[end] == marginals[0] && marginals[0] > 0.0) ++end;
    for (int b = end; b < width; ++b) {
        if (marginals[b] != 0.0) return -1;
    }
    return end;
}

// The value of each block and each size against a strategy, for some sizes of the other player. The tables have a row
// for each of these, and a column for each size of the strategy.
//
// Rows are worked out when they are asked for, and remembered unless all of them would take many megabytes, which the
// system hands out page by page. Most sets of a predictor are prefixes. Their total value is a running sum from the last block to the first.
class Payoffs {
public:
    Payoffs(ConstMatrix alpha, ConstMatrix beta, int rows, const Strategy& strategy)
        : alpha_(alpha),
          beta_(beta),
          strategy_(strategy),
          ends_(strategy.sizes.size()),
          zeros_(strategy.marginals.columns, 0.0),
          of_prefixes_(strategy.marginals.columns + 1) {
        const int width = strategy.marginals.columns;
        const std::size_t all = std::size_t(rows) * width;
        if (all <= parameters::referee::MOST_REMEMBERED) known_.resize(rows, 0);
        values_.reset(new double[known_.empty() ? width : all]);  // not cleared
        for (int j = 0; j < count(); ++j) {
            ends_[j] = prefix_end(strategy.marginals[j], width);
            if (ends_[j] < 0) others_.push_back(j);
        }
    }

    double size_value(int row) const {
        double value = 0.0;
        for (int j = 0; j < count(); ++j) value += strategy_.weights[j] * beta_[row][j];
        return value;
    }

    // Valid until another row is asked for.
    const double* block_values(int row) {
        if (known_.empty()) {
            work_out(row, values_.get());
            return values_.get();
        }
        double* values = values_.get() + std::size_t(row) * strategy_.marginals.columns;
        if (!known_[row]) work_out(row, values);
        known_[row] = 1;
        return values;
    }

    void work_out(int row, double* values) {
        constexpr std::size_t TOGETHER = 4;  // rows of marginals that are added at a time, to read and write sums less often
        const int width = strategy_.marginals.columns;
        std::fill(of_prefixes_.begin(), of_prefixes_.end(), 0.0);
        for (int j = 0; j < count(); ++j) {
            if (ends_[j] >= 0) of_prefixes_[ends_[j]] += strategy_.marginals[j][0] * alpha_[row][j];
        }
        double total = 0.0;
        for (int b = width - 1; b >= 0; --b) values[b] = total += of_prefixes_[b + 1];
        for (std::size_t first = 0; first < others_.size(); first += TOGETHER) {
            const double* marginals[TOGETHER];
            double factors[TOGETHER];
            for (std::size_t x = 0; x < TOGETHER; ++x) {
                const bool real = first + x < others_.size();
                marginals[x] = real ? strategy_.marginals[others_[first + x]] : zeros_.data();
                factors[x] = real ? alpha_[row][others_[first + x]] : 0.0;
            }
            const double *m0 = marginals[0], *m1 = marginals[1], *m2 = marginals[2], *m3 = marginals[3];
            for (int b = 0; b < width; ++b) {
                values[b] += (factors[0] * m0[b] + factors[1] * m1[b]) + (factors[2] * m2[b] + factors[3] * m3[b]);
            }
        }
    }

private:
    int count() const { return static_cast<int>(strategy_.sizes.size()); }

    ConstMatrix alpha_, beta_;
    const Strategy& strategy_;
    std::vector<int> ends_, others_;
    std::vector<double> zeros_, of_prefixes_;
    std::vector<char> known_;             // for each row, if they are remembered
    std::unique_ptr<double[]> values_;    // of all rows, or of the last one
};

// The expected sum of the scores of the items in the set.
inline double expected_score(const double* scores, ConstMatrix marginals, int count, int width, const Index* blocks) {
    double total = 0.0;
    for (int b = 0; b < width; ++b) {
        double inside = 0.0, included = 0.0;
        for (Index i = blocks[b]; i < blocks[b + 1]; ++i) inside += scores[i];
        for (int j = 0; j < count; ++j) included += marginals[j][b];
        total += inside * included;
    }
    return total;
}

// The blocks of a game for one player's best responses: how many items each holds, and an order in which their costs
// rose for the size before, which is nearly right for the next.
class Ranking {
public:
    explicit Ranking(std::vector<double> lengths) : lengths_(std::move(lengths)), order_(lengths_.size()) {
        std::iota(order_.begin(), order_.end(), 0);
    }

    int width() const { return static_cast<int>(lengths_.size()); }

    // Begin with the smallest sizes again.
    void restart() { place_ = 0, before_ = 0.0; }

    // Go on to the next size; sizes rise.
    void advance(double size) {
        while (place_ + 1 < width() && before_ + lengths_[order_[place_]] < size) before_ += lengths_[order_[place_++]];
    }

    // No set of `size` items costs less. For every level t the cost is at least
    //
    //     size t + sum_b length_b min(cost_b - t, 0),
    //
    // and no less than what is left of it after rounding. The level is the cost of the block that completes a set of this
    // size in the order of the size before.
    double bound(const double* costs, double size) const {
        constexpr int LANES = 4;  // sums that do not wait for each other
        const int count = width();
        const double level = costs[order_[place_]];
        double sums[LANES] = {0.0, 0.0, 0.0, 0.0};
        int b = 0;
        for (; b + LANES <= count; b += LANES) {
            for (int x = 0; x < LANES; ++x) sums[x] += lengths_[b + x] * std::min(costs[b + x] - level, 0.0);
        }
        for (; b < count; ++b) sums[0] += lengths_[b] * std::min(costs[b] - level, 0.0);
        const double below = (sums[0] + sums[1]) + (sums[2] + sums[3]), base = size * level;
        const double rounding = std::numeric_limits<double>::epsilon() * (count + 8) * (std::abs(base) - below);
        return base + below - rounding;
    }

    // The cost of the cheapest set of `size` items.
    double least(const double* costs, double size) {
        sort_ascending(costs, order_.data(), width());
        double left = size, total = 0.0;
        before_ = 0.0;
        for (place_ = 0; place_ < width(); ++place_) {
            const double length = lengths_[order_[place_]];
            if (!(length < left)) break;
            total += length * costs[order_[place_]];
            left -= length;
            before_ += length;
        }
        if (left > 0.0) total += left * costs[order_[place_]];
        return total;
    }

private:
    std::vector<double> lengths_;
    std::vector<int> order_;
    int place_ = 0;         // in the order
    double before_ = 0.0;   // items before it
};

// payoffs[x]: constant[x] and the least cost of `start` + x items, where fill(x, costs) writes what each block costs.
//
// For sizes that cannot have the smallest payoff, which is `lowest` or less, the entries are lower bounds that are not
// below it.
template <class Fill>
inline void lowest_payoffs(std::vector<double> lengths, Index start, int rows, Fill fill, const double* constant,
                           double lowest, double* payoffs) {
    std::vector<double> costs(lengths.size());
    Ranking ranking(std::move(lengths));
    const auto solve = [&](int row) {
        fill(row, costs.data());
        payoffs[row] = ranking.least(costs.data(), static_cast<double>(start + row)) + constant[row];
        lowest = std::min(lowest, payoffs[row]);
    };
    solve(rows / 2);
    ranking.restart();
    for (int row = 0; row < rows; ++row) {
        const double size = static_cast<double>(start + row);
        ranking.advance(size);
        fill(row, costs.data());
        payoffs[row] = ranking.bound(costs.data(), size) + constant[row];
    }
    solve(static_cast<int>(std::min_element(payoffs, payoffs + rows) - payoffs));
    for (int row = 0; row < rows; ++row) {
        if (!(payoffs[row] > lowest)) solve(row);
    }
}

// values[k]: the payoff of the predictor's best set of k items, for `rows` sizes from `start` on; for smaller ones it is
// known. Of sizes that cannot be the best, an upper bound. The maximum is an upper bound of the value of the game.
inline void predictor_values(ConstMatrix alpha, ConstMatrix beta, int rows, Index start, double expected_score, Index split,
                             const Strategy& adversary, const double* multipliers, const Limits& limits, double* values) {
    const int width = adversary.marginals.columns;
    const std::vector<Index>& blocks = adversary.blocks;
    Payoffs payoffs(alpha, beta, rows, adversary);
    std::vector<double> constant(rows), shift(rows, 0.0), lengths(width);
    for (int row = 0; row < rows; ++row) {
        constant[row] = expected_score - payoffs.size_value(row);
        for (int c = 0; c < limits.count; ++c) {
            shift[row] += multipliers[c] * limits.gain[c][start + row];
            constant[row] -= multipliers[c] * limits.offset[c][start + row];
        }
    }
    for (int b = 0; b < width; ++b) lengths[b] = static_cast<double>(blocks[b + 1] - blocks[b]);
    const auto fill = [&](int row, double* costs) {
        const double* worth = payoffs.block_values(row);
        for (int b = 0; b < width; ++b) costs[b] = -(worth[b] + (blocks[b] < split ? shift[row] : 0.0));
    };
    const double highest = start > 0 ? *std::max_element(values, values + start) : -INFINITY;
    lowest_payoffs(std::move(lengths), start, rows, fill, constant.data(), -highest, values + start);
    for (int row = 0; row < rows; ++row) values[start + row] = 0.0 - values[start + row];
}

// values[l]: the payoff of the adversary's best set of l items, for `rows` sizes from `start` on; for smaller ones it is
// known. Of sizes that cannot be the best, a lower bound. If the predictor meets the constraints, the minimum is a lower
// bound of the value of the game. Given running sums of the scores no items are sorted, and the minimum is a lower bound to
// within LevelSearch::PRECISION.
inline void adversary_values(ConstMatrix alpha, ConstMatrix beta, int rows, Index start, const double* scores,
                             const double* running, const Strategy& predictor, double* values) {
    const int width = predictor.marginals.columns;
    const std::vector<Index>& blocks = predictor.blocks;
    Payoffs payoffs(alpha, beta, rows, predictor);
    std::vector<double> constant(rows);
    for (int row = 0; row < rows; ++row) constant[row] = payoffs.size_value(row);
    const double lowest = start > 0 ? *std::min_element(values, values + start) : INFINITY;
    if (running != nullptr) {
        Table block_values(rows, width);
        for (int row = 0; row < rows; ++row) payoffs.work_out(row, block_values[row]);
        const LevelSearch search(block_values.view(), width, blocks.data(), scores, running);
        search.lowest_payoffs(start, rows, constant.data(), lowest, values + start);
        return;
    }
    const auto fill = [&](int row, double* costs) {
        const double* worth = payoffs.block_values(row);
        for (int b = 0; b < width; ++b) {
            for (Index i = blocks[b]; i < blocks[b + 1]; ++i) costs[i] = worth[b] - scores[i];
        }
    };
    lowest_payoffs(std::vector<double>(blocks.back(), 1.0), start, rows, fill, constant.data(), lowest, values + start);
}

// By how much a predictor meets each constraint on average; negative if it misses it.
inline std::vector<double> constraint_slacks(const Limits& limits, Index split, const Index* sizes, const double* weights,
                                             ConstMatrix marginals, int count, int width, const Index* blocks) {
    std::vector<double> result(limits.count, 0.0);
    for (int j = 0; j < count; ++j) {
        double hits = 0.0;
        for (int b = 0; b < width && blocks[b] < split; ++b) {
            hits += marginals[j][b] * static_cast<double>(blocks[b + 1] - blocks[b]);
        }
        for (int c = 0; c < limits.count; ++c) {
            result[c] += limits.gain[c][sizes[j]] * hits + limits.offset[c][sizes[j]] * weights[j];
        }
    }
    return result;
}

// One size k of the prediction and average number m of true positives with the largest smallest slack.
struct PureChoice {
    Index k;
    double m, slack;
};

// At fixed k the smallest of affine functions of m is concave, so it peaks at an extreme of m or where two of them cross.
inline PureChoice best_pure(const Limits& limits, Index items, Index split) {
    PureChoice best = {0, 0.0, -std::numeric_limits<double>::infinity()};
    for (Index k = 0; k <= items; ++k) {
        const double low = static_cast<double>(std::max<Index>(k - (items - split), 0));
        const double high = static_cast<double>(std::min(k, split));
        const auto consider = [&](double m) {
            double worst = std::numeric_limits<double>::infinity();
            for (int c = 0; c < limits.count; ++c) worst = std::min(worst, limits.gain[c][k] * m + limits.offset[c][k]);
            if (worst > best.slack) best = {k, m, worst};
        };
        consider(low);
        consider(high);
        for (int first = 0; first < limits.count; ++first) {
            for (int second = 0; second < first; ++second) {
                const double slope = limits.gain[first][k] - limits.gain[second][k];
                const double m = (limits.offset[second][k] - limits.offset[first][k]) / slope;
                if (slope != 0.0 && low < m && m < high) consider(m);
            }
        }
    }
    return best;
}

}  // namespace metricfit
