// Small games for the tests: tables of a few metrics, a problem that owns what it is made of, random interior points.
#pragma once

#include <cmath>
#include <vector>

#include "checks.hpp"
#include "core/memory.hpp"

namespace games {

using namespace metricfit;
using checks::Random;

// metric = alpha * true positives + beta, for k predicted and l actual positives of n.
struct Entry {
    double alpha, beta;
};
using Metric = Entry (*)(int k, int l, int n);

inline Entry f1(int k, int l, int) { return k + l == 0 ? Entry{0.0, 1.0} : Entry{2.0 / (k + l), 0.0}; }
inline Entry accuracy(int k, int l, int n) { return {2.0 / n, (n - k - l) / double(n)}; }
inline Entry kappa(int k, int l, int n) {
    const double chance = double(k) * l + double(n - k) * (n - l), whole = double(n) * n - chance;
    if (whole == 0.0) return {0.0, 1.0};
    return {2.0 * n / whole, (double(n) * (n - k - l) - chance) / whole};
}
inline Entry mcc(int k, int l, int n) {
    if (k == 0 || l == 0 || k == n || l == n) return {0.0, double(k == l)};
    const double whole = std::sqrt(double(k) * (n - k) * double(l) * (n - l));
    return {n / whole, -double(k) * l / whole};
}

// A game of single items with all of its sizes. Weights may be other than one for tests of what does not need a solution.
struct Game {
    int n, constraints;
    std::vector<double> alpha, beta, alpha_t, beta_t, sizes, weight, score, positive, gain, offset, chain_gain;
    std::vector<int> chain;

    Game(Metric metric, std::vector<double> scores, std::vector<double> labels, int constraints_ = 0)
        : n(static_cast<int>(scores.size())), constraints(constraints_), weight(n, 1.0), score(std::move(scores)),
          positive(std::move(labels)) {
        const int width = n + 1;
        alpha.resize(width * width), beta = alpha_t = beta_t = alpha;
        for (int k = 0; k < width; ++k) {
            sizes.push_back(k);
            chain.push_back(k);
            for (int l = 0; l < width; ++l) {
                Entry entry = metric(k, l, n);
                if (l == n) entry.beta += entry.alpha * k;  // a full set is hit by every item
                if (k == 0 || l == 0 || l == n) entry.alpha = 0.0;
                alpha[k * width + l] = alpha_t[l * width + k] = entry.alpha;
                beta[k * width + l] = beta_t[l * width + k] = entry.beta;
            }
        }
        double positives = 0.0;
        for (const double label : positive) positives += label;
        for (int c = 0; c < constraints; ++c) {  // recall >= 0.4, then specificity >= 0.3
            double hits = 0.0;
            for (int k = 0; k < width; ++k) {
                const double negatives = larger(n - positives, 1.0), per = c == 0 ? 1.0 / larger(positives, 1.0) : 1.0 / negatives;
                gain.push_back(per);
                offset.push_back(c == 0 ? -0.4 : 0.7 - k / negatives);
                chain_gain.push_back(0.0);
            }
            for (int j = 0; j < width; ++j) {
                chain_gain[c * width + j] = gain[c * width + j] * hits + offset[c * width + j];
                if (j < n) hits += positive[j];
            }
        }
    }

    Problem problem() const {
        Problem result;
        const int width = n + 1;
        result.groups = n;
        result.rows = result.columns = width;
        result.constraints = constraints;
        result.alpha = {alpha.data(), width};
        result.beta = {beta.data(), width};
        result.alpha_t = {alpha_t.data(), width};
        result.beta_t = {beta_t.data(), width};
        result.predictor_sizes = result.adversary_sizes = sizes.data();
        result.weight = weight.data();
        result.score = score.data();
        result.positive = positive.data();
        result.chain = chain.data();
        result.gain = {gain.data(), width};
        result.offset = {offset.data(), width};
        result.chain_gain = {chain_gain.data(), width};
        return result;
    }
};

// Falling scores and random labels.
inline Game random_game(Metric metric, int n, Random& random, int constraints = 0, double scale = 0.1) {
    std::vector<double> scores(n), labels(n, 0.0);
    for (double& score : scores) score = scale * random.normal();
    std::sort(scores.begin(), scores.end(), [](double a, double b) { return a > b; });
    if (constraints > 0) {
        for (double& label : labels) label = random.chance(0.4);
    }
    return Game(metric, scores, labels, constraints);
}

// Memory in which everything that nobody writes is not a number.
struct PoisonedMemory : Memory {
    explicit PoisonedMemory(const Problem& problem)
        : Memory({problem.groups, problem.constraints, problem.rows, problem.columns}) {
        fill(0xFF);
    }
};

// Random columns of these sizes; masses sum up to `total`.
inline void random_columns(Columns& columns, const std::vector<int>& sizes, int items, double total, Random& random) {
    const int used = static_cast<int>(sizes.size());
    const std::vector<double> shares = random.shares(used + 1);
    for (int a = 0; a < MAX_COLUMNS + 2; ++a) columns.mass[a] = columns.dual_mass[a] = 0.0;
    for (int a = 0; a < MAX_COLUMNS; ++a) columns.price[a] = 0.0;
    for (int x = 0; x < columns.sizes; ++x) columns.member[x] = columns.dropped[x] = false;
    for (int a = 0; a < used; ++a) {
        columns.mass[a] = total * (shares[a] + 0.01);
        columns.dual_mass[a] = random.uniform(0.01, 1.0);
        columns.price[a] = random.normal();
        columns.size_index[a] = sizes[a];
        columns.member[sizes[a]] = true;
        for (int i = 0; i < items; ++i) {
            columns.inside[a][i] = columns.mass[a] * random.uniform(0.01, 0.99);
            columns.outside[a][i] = columns.mass[a] - columns.inside[a][i];
            columns.dual_inside[a][i] = random.uniform(0.01, 1.0);
            columns.dual_outside[a][i] = random.uniform(0.01, 1.0);
        }
    }
    columns.used = used;
}

// A strictly positive point, near no equation's solution.
inline void random_iterate(const Problem& problem, Iterate& it, const std::vector<int>& adversary,
                           const std::vector<int>& predictor, Random& random) {
    random_columns(it.adversary, adversary, problem.groups, 0.8, random);
    random_columns(it.predictor, predictor, problem.groups, 0.5, random);
    for (int e = 0; e < 2; ++e) {
        it.adversary.mass[MAX_COLUMNS + e] = random.uniform(0.05, 0.2);
        it.adversary.dual_mass[MAX_COLUMNS + e] = random.uniform(0.01, 1.0);
    }
    for (int j = 0; j <= problem.groups; ++j) {
        it.chain_mass[j] = random.uniform(0.01, 1.0) / problem.groups;
        it.chain_slack[j] = random.uniform(0.01, 1.0);
    }
    for (int c = 0; c < problem.constraints; ++c) {
        it.multiplier[c] = random.uniform(0.1, 1.0);
        it.multiplier_slack[c] = random.uniform(0.1, 1.0);
    }
    it.eta = random.normal();
    it.rho = random.normal();
}

}  // namespace games
