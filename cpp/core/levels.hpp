// The adversary's best responses in large games, bounded without sorting the items.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "strategy.hpp"

namespace metricfit {

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

    // A lower bound that is `enough`, or within `precision`, for one size, and the level to start from for the next.
    double bound(int row, Index size, double precision, double enough, double& level, double& stride) const {
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

// values[l]: lower bounds of what bottom_sums computes, within `precision` for the lowest, for sizes from `start` on.
inline void bottom_bounds(ConstMatrix item_values, int rows, int width, const Index* blocks, const double* scores,
                          const double* running, Index items, Index start, const double* constant, double precision,
                          double* values) {
    // A few sizes first: of most others, any bound shows then that they are not the best.
    constexpr int SAMPLES = 8;
    const LevelSearch search(item_values, width, blocks, scores, running);
    double level = -std::numeric_limits<double>::infinity(), stride = 1.0;
    for (int b = 0; b < width; ++b) level = std::max(level, item_values[0][b] - scores[blocks[b + 1] - 1]);
    double lowest = start > 0 ? *std::min_element(values, values + start) : INFINITY;
    const auto solve = [&](int row) {
        const Index size = start + row;
        double total = 0.0;
        if (size == items) {
            for (int b = 0; b < width; ++b) total += item_values[row][b] * static_cast<double>(blocks[b + 1] - blocks[b]);
            total -= running[items];
        } else if (size > 0) {
            total = search.bound(row, size, precision, lowest - constant[row], level, stride);
        }
        values[size] = total + constant[row];
        lowest = std::min(lowest, values[size]);
    };
    const int step = std::max(1, rows / SAMPLES);
    for (int row = 0; row < rows; row += step) solve(row);
    for (int row = 0; row < rows; ++row) {
        if (row % step != 0) solve(row);
    }
}

}  // namespace metricfit
