// The adversary's best responses in large games, bounded without sorting the items.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "strategy.hpp"

namespace metricfit {

// Lower bounds of the payoffs of the adversary's best sets.
//
// For every level t the sum of the l smallest of g is at least l t - sum_i max(t - g_i, 0), a concave function of t whose
// slope is l less the number of items below t. Its maximum is exact. It is bracketed, starting from the level of the size
// before, and cut by tangents.
class LevelSearch {
public:
    LevelSearch(ConstMatrix item_values, int width, const Index* blocks, const double* scores, const double* running)
        : item_values_(item_values), width_(width), blocks_(blocks), scores_(scores), running_(running) {}

    // payoffs[x]: constant[x] and the least cost of `start` + x items, or less. Of sizes that cannot have the least payoff,
    // which is `lowest` or less, they are bounds that are not below it; of the others, within PRECISION.
    void lowest_payoffs(Index start, int rows, const double* constant, double lowest, double* payoffs) const {
        double level = -std::numeric_limits<double>::infinity(), stride = 1.0;
        for (int b = 0; b < width_; ++b) level = std::max(level, item_values_[0][b] - scores_[blocks_[b + 1] - 1]);
        const auto solve = [&](int row) {
            const Index size = start + row, items = blocks_[width_];
            double total = 0.0;
            if (size == items) {
                for (int b = 0; b < width_; ++b) {
                    total += item_values_[row][b] * static_cast<double>(blocks_[b + 1] - blocks_[b]);
                }
                total -= running_[items];
            } else if (size > 0) {
                total = bound(row, size, lowest - constant[row], level, stride);
            }
            payoffs[row] = total + constant[row];
            lowest = std::min(lowest, payoffs[row]);
        };
        // A few sizes first: of most others any bound shows then that they are not the best.
        const int step = std::max(1, rows / SAMPLES);
        for (int row = 0; row < rows; row += step) solve(row);
        for (int row = 0; row < rows; ++row) {
            if (row % step != 0) solve(row);
        }
    }

    static constexpr double PRECISION = 1e-9;

private:
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

    // A lower bound that is `enough`, or within PRECISION, for one size, and the level to start from for the next.
    double bound(int row, Index size, double enough, double& level, double& stride) const {
        const double begin = level;
        Point left = at(level, row, size), right = left;
        if (left.value >= enough) return left.value;
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
            if (left.slope <= 0.0 || right.slope >= 0.0 || best >= enough) break;
            const double crossing = (right.value - left.value + left.slope * left.level - right.slope * right.level) /
                                    (left.slope - right.slope);
            if (left.value + left.slope * (crossing - left.level) - best <= PRECISION) break;
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

    static constexpr int MOST_CUTS = 100, SAMPLES = 8;
    ConstMatrix item_values_;
    int width_;
    const Index* blocks_;
    const double *scores_, *running_;
};

}  // namespace metricfit
