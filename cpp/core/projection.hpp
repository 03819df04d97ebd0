// Euclidean projection onto the marginals of mixtures over sets, for the ADMM of the paper.
//
// One row per size k = 1 ... n, one column per item:
//
//     min 1/2 |p - a|^2   such that   0 <= p_ki <= r_k,   sum_i p_ki = k r_k,   sum_k r_k <= 1
//
// For a price eta >= 0 of the last constraint the rows separate, and row k is clip(a - t, 0, r). The stationarity conditions
// say that the convex function phi(x) = k x + sum_i max(a_i - x, 0) takes the same value c at t and at t + r, and that
// eta = c - k r. So each row is a falling, piecewise linear curve from r to eta, whose corners follow from sorting the row
// once, and the price is found on the sum of these curves. This replaces the numerical search of the paper's Appendix D and
// is exact.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "core/arrays.hpp"

namespace metricfit {

// The curve of one row.
class RowCurve {
public:
    RowCurve(const double* row, int n, int k) : n_(n), k_(k) {
        std::vector<double> values(row, row + n);
        std::sort(values.begin(), values.end(), std::greater<double>());
        double level = 0.0;
        for (int i = 0; i < k; ++i) level += values[i];
        corners_.push_back({0.0, level, values[k - 1]});
        if (k == n) return;
        double upper = values[k - 1], lower = values[k];
        corners_.push_back({upper - lower, level - k * (upper - lower), lower});
        constexpr double NEVER = std::numeric_limits<double>::infinity();
        for (int capped = k - 1, positive = k + 1; capped > 0 || positive < n;) {
            const double rise_right = capped > 0 ? (values[capped - 1] - upper) * (k - capped) : NEVER;
            const double rise_left = positive < n ? (lower - values[positive]) * (positive - k) : NEVER;
            const double rise = std::min(rise_right, rise_left);
            level += rise;
            upper += rise / (k - capped);
            lower -= rise / (positive - k);
            if (rise_right <= rise_left) {
                upper = values[--capped];
            } else {
                lower = values[positive++];
            }
            corners_.push_back({upper - lower, level - k * (upper - lower), lower});
        }
    }

    struct Point {
        double r, slope, t;
    };

    // r at a price, its slope there, and t.
    Point at(double price) const {
        const Corner &first = corners_.front(), &last = corners_.back();
        if (price >= first.price) return {0.0, 0.0, first.t};
        if (price <= last.price) {
            // Beyond the last corner every item is strictly between its bounds.
            const double k = k_, n = n_, more = (last.price - price) * n / (k * k);
            return {last.r + more, -n / (k * k), last.t - more * k / n};
        }
        const auto next = std::partition_point(corners_.begin(), corners_.end(),
                                               [=](const Corner& corner) { return corner.price > price; });
        const Corner &low = *(next - 1), &high = *next;
        const double fall = low.price - high.price, share = (low.price - price) / fall;
        return {low.r + share * (high.r - low.r), (low.r - high.r) / fall, low.t + share * (high.t - low.t)};
    }

    double highest_price() const { return corners_.front().price; }

private:
    struct Corner {
        double r, price, t;
    };
    int n_, k_;
    std::vector<Corner> corners_;  // prices fall
};

// result = the projection of `matrix`; both (n, n).
inline void project(ConstMatrix matrix, int n, Matrix result) {
    std::vector<RowCurve> curves;
    curves.reserve(n);
    for (int row = 0; row < n; ++row) curves.emplace_back(matrix[row], n, row + 1);

    struct Sum {
        double total, slope;
    };
    const auto sum_at = [&](double price) {
        Sum sum = {0.0, 0.0};
        for (const RowCurve& curve : curves) {
            const RowCurve::Point point = curve.at(price);
            sum.total += point.r;
            sum.slope += point.slope;
        }
        return sum;
    };
    double low = 0.0, high = 0.0, price = 0.0;
    for (const RowCurve& curve : curves) high = std::max(high, curve.highest_price());
    // The sum falls from above one to zero at the highest price: Newton's method, with bisection as safeguard.
    constexpr int MOST_STEPS = 200;
    Sum sum = sum_at(price);
    for (int step = 0; step < MOST_STEPS && (step > 0 || sum.total > 1.0); ++step) {
        (sum.total > 1.0 ? low : high) = price;
        double next = sum.slope < 0.0 ? price + (1.0 - sum.total) / sum.slope : low;
        if (!(low < next && next < high)) next = 0.5 * (low + high);
        if (next == price || !(low < next && next < high)) break;
        price = next;
        sum = sum_at(price);
        if (std::abs(sum.total - 1.0) < 1e-15) break;
    }
    for (int row = 0; row < n; ++row) {
        const RowCurve::Point point = curves[row].at(price);
        for (int i = 0; i < n; ++i) {
            const double value = row == n - 1 ? point.r : matrix[row][i] - point.t;
            result[row][i] = std::min(std::max(value, 0.0), point.r);
        }
    }
}

}  // namespace metricfit
