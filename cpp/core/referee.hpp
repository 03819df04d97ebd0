// Both players' best responses for every size: the bounds of the value that any strategies prove.
//
// Given the size of the answer, a best response takes the items of largest (for the predictor) or smallest (for the
// adversary) value, so sorting is all there is to it. Nothing here knows how a strategy was found.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/strategy.hpp"

namespace metricfit {

// The constraints of a game, for every size of the predictor: value = gain * (items before the split) + offset.
struct Limits {
    int count = 0;
    ConstMatrix gain, offset;  // (C, n + 1)
};

// What each item and each size is worth against a strategy, for every size of the other player.
inline void expected_payoffs(ConstMatrix alpha, ConstMatrix beta, int sizes, const Strategy& strategy, bool transposed,
                             Table& item_values, std::vector<double>& size_values) {
    const int count = static_cast<int>(strategy.sizes.size()), width = strategy.marginals.columns;
    item_values = Table(sizes, width);
    size_values.assign(sizes, 0.0);
    for (int row = 0; row < sizes; ++row) {
        double* values = item_values[row];
        for (int j = 0; j < count; ++j) {
            const Index size = strategy.sizes[j];
            const double factor = transposed ? alpha[size][row] : alpha[row][size];
            size_values[row] += strategy.weights[j] * (transposed ? beta[size][row] : beta[row][size]);
            const double* marginals = strategy.marginals[j];
            for (int b = 0; b < width; ++b) values[b] += factor * marginals[b];
        }
    }
}

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

// values[k]: the sum of the k largest item values, and what does not depend on the items, for sizes from `start` on.
inline void top_sums(ConstMatrix item_values, int rows, int width, const Index* blocks, Index split, Index start,
                     const double* multipliers, const Limits& limits, const double* size_values, double paid,
                     double* values) {
    std::vector<double> keys(width);
    std::vector<Index> order(width);
    std::iota(order.begin(), order.end(), 0);
    for (int row = 0; row < rows; ++row) {
        const Index k = start + row;
        double shift = 0.0, constant = size_values[row] - paid;
        for (int c = 0; c < limits.count; ++c) {
            shift += multipliers[c] * limits.gain[c][k];
            constant += multipliers[c] * limits.offset[c][k];
        }
        for (int b = 0; b < width; ++b) keys[b] = -(item_values[row][b] + (blocks[b] < split ? shift : 0.0));
        sort_ascending(keys.data(), order.data(), width);
        Index left = k;
        double total = 0.0;
        for (int position = 0; position < width && left > 0; ++position) {
            const Index b = order[position], taken = std::min(left, blocks[b + 1] - blocks[b]);
            total -= static_cast<double>(taken) * keys[b];
            left -= taken;
        }
        values[k] = total + constant;
    }
}

// values[l]: the sum of the l smallest item values less scores, and the constant, for sizes from `start` on.
inline void bottom_sums(ConstMatrix item_values, int rows, int width, const Index* blocks, const double* scores,
                        Index items, Index start, const double* constant, double* values) {
    std::vector<double> keys(items);
    std::vector<Index> order(items);
    std::iota(order.begin(), order.end(), 0);
    for (int row = 0; row < rows; ++row) {
        for (int b = 0; b < width; ++b) {
            for (Index i = blocks[b]; i < blocks[b + 1]; ++i) keys[i] = item_values[row][b] - scores[i];
        }
        sort_ascending(keys.data(), order.data(), static_cast<int>(items));
        double total = 0.0;
        for (Index position = 0; position < start + row; ++position) total += keys[order[position]];
        values[start + row] = total + constant[row];
    }
}

// The payoff of the predictor's best set of each size; the maximum is an upper bound of the value of the game.
inline std::vector<double> predictor_values(ConstMatrix alpha, ConstMatrix beta, const double* scores, Index items,
                                            Index split, const Strategy& adversary, const double* multipliers,
                                            const Limits& limits) {
    Table item_values;
    std::vector<double> size_values, values(items + 1);
    const int sizes = static_cast<int>(items) + 1, width = adversary.marginals.columns;
    expected_payoffs(alpha, beta, sizes, adversary, false, item_values, size_values);
    const double paid = expected_score(scores, adversary.marginals.view(), adversary.marginals.rows, width,
                                       adversary.blocks.data());
    top_sums(item_values.view(), sizes, width, adversary.blocks.data(), split, 0, multipliers, limits,
             size_values.data(), paid, values.data());
    return values;
}

// The payoff of the adversary's best set of each size; if the predictor meets the constraints, the minimum is a lower bound.
inline std::vector<double> adversary_values(ConstMatrix alpha, ConstMatrix beta, const double* scores, Index items,
                                            const Strategy& predictor) {
    Table item_values;
    std::vector<double> size_values, values(items + 1);
    const int sizes = static_cast<int>(items) + 1;
    expected_payoffs(alpha, beta, sizes, predictor, true, item_values, size_values);
    bottom_sums(item_values.view(), sizes, predictor.marginals.columns, predictor.blocks.data(), scores, items, 0,
                size_values.data(), values.data());
    return values;
}

// Lower bounds of what bottom_sums computes, without sorting all items for every size.
//
// For every level t the sum of the l smallest of g is at least l t - sum_i max(t - g_i, 0), a concave function of t whose
// slope is l less the number of items below t. Its maximum is exact. It is bracketed, starting from the level of the size
// before, and cut by tangents.
class LevelSearch {
public:
    LevelSearch(ConstMatrix item_values, int width, const Index* blocks, const double* scores, const double* running)
        : item_values_(item_values), width_(width), blocks_(blocks), scores_(scores), running_(running) {}

    // A level, and the slope and value of the concave function there.
    struct Point {
        double level, slope, value;
    };

    Point at(double level, int row, Index size) const {
        Index number = 0;
        double total = 0.0;
        for (int b = 0; b < width_; ++b) {
            const Index first = blocks_[b], last = blocks_[b + 1];
            const double value = item_values_[row][b], floor = value - level;
            if (scores_[first] <= floor) continue;
            // Scores descend within a block, so those above the floor come first; most blocks are not cut.
            Index stop = last;
            if (scores_[last - 1] <= floor) {
                Index low = first;
                stop = last - 1;
                while (stop - low > 1) {
                    const Index middle = (low + stop) / 2;
                    (scores_[middle] > floor ? low : stop) = middle;
                }
            }
            number += stop - first;
            total += static_cast<double>(stop - first) * value - (running_[stop] - running_[first]);
        }
        const double slope = static_cast<double>(size - number);
        return {level, slope, slope * level + total};
    }

    // A lower bound within `precision` for one size, and the level to start from for the next.
    double bound(int row, Index size, double precision, double& level, double& stride) const {
        const double begin = level;
        Point left = at(level, row, size), right = left;
        double reach = stride;
        while (left.slope < 0.0) {
            right = left;
            left = at(left.level - reach, row, size);
            reach *= 2.0;
        }
        while (right.slope > 0.0) {
            left = right;
            right = at(right.level + reach, row, size);
            reach *= 2.0;
        }
        double best = std::max(left.value, right.value);
        level = left.value >= right.value ? left.level : right.level;
        for (int attempt = 0; attempt < MOST_CUTS; ++attempt) {
            if (left.slope <= 0.0 || right.slope >= 0.0) break;
            const double crossing = (right.value - left.value + left.slope * left.level - right.slope * right.level) /
                                    (left.slope - right.slope);
            if (left.value + left.slope * (crossing - left.level) - best <= precision) break;
            const double middle = attempt % 2 == 0 ? crossing : 0.5 * (left.level + right.level);
            if (!(left.level < middle && middle < right.level)) break;
            const Point point = at(middle, row, size);
            if (point.value > best) {
                best = point.value;
                level = middle;
            }
            (point.slope >= 0.0 ? left : right) = point;
        }
        stride = std::max(2.0 * std::abs(level - begin), 1e-9);
        return best;
    }

private:
    static constexpr int MOST_CUTS = 100;
    ConstMatrix item_values_;
    int width_;
    const Index* blocks_;
    const double *scores_, *running_;
};

inline void bottom_bounds(ConstMatrix item_values, int rows, int width, const Index* blocks, const double* scores,
                          const double* running, Index items, Index start, const double* constant, double precision,
                          double* values) {
    const LevelSearch search(item_values, width, blocks, scores, running);
    double level = -std::numeric_limits<double>::infinity(), stride = 1.0;
    for (int b = 0; b < width; ++b) level = std::max(level, item_values[0][b] - scores[blocks[b + 1] - 1]);
    for (int row = 0; row < rows; ++row) {
        const Index size = start + row;
        double total = 0.0;
        if (size == items) {
            for (int b = 0; b < width; ++b) total += item_values[row][b] * static_cast<double>(blocks[b + 1] - blocks[b]);
            total -= running[items];
        } else if (size > 0) {
            total = search.bound(row, size, precision, level, stride);
        }
        values[size] = total + constant[row];
    }
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
