// Random games of every kind through the solver and the referee, in several threads with shapes of their own.
//
//     stress GAMES THREADS [print]
//
// Thread t solves games t, t + THREADS, ... of a list that depends on nothing else. A certificate must hold whatever the
// strategies are: the lower bound is no larger than the upper one. With `print` every game's bounds and steps are written, so
// that builds can be compared.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "core/playing.hpp"

using namespace metricfit;

namespace {

struct Entry {
    double alpha, beta;
};

// metric = alpha * true positives + beta of a few metrics, for k predicted and l actual positives of n.
Entry entry_of(int metric, int k, int l, int n) {
    const double both = k + l, product = double(k) * l, chance = product + double(n - k) * (n - l);
    switch (metric) {
        case 0: return both == 0.0 ? Entry{0.0, 1.0} : Entry{2.0 / both, 0.0};               // F1
        case 1: return {2.0 / n, (n - both) / n};                                             // accuracy
        case 2: return {k == 0 ? 0.0 : 1.0 / k, double(k == 0 && l == 0)};                    // precision
        case 3: {                                                                             // kappa
            const double whole = double(n) * n - chance;
            return whole == 0.0 ? Entry{0.0, 1.0} : Entry{2.0 * n / whole, (n * (n - both) - chance) / whole};
        }
        default: {                                                                            // MCC
            const double whole = std::sqrt(product * double(n - k) * double(n - l));
            return whole == 0.0 ? Entry{0.0, double(k == l)} : Entry{n / whole, -product / whole};
        }
    }
}

// A game: single items or blocks, with or without constraints on recall and specificity.
struct Game {
    Setting setting;
    std::vector<double> scores;
    Table alpha, beta;  // the metric's own
    bool judged;

    explicit Game(int number) {
        std::mt19937 engine(number);
        const auto uniform = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine); };
        const auto integer = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine); };
        const int n = integer(0, 3) == 0 ? integer(60, 130) : integer(1, 40), metric = integer(0, 4), width = n + 1;
        const int kind = integer(0, 5), shape = integer(0, 3);
        const bool constrained = shape == 1 && n > 1, in_blocks = shape == 2 && n > 4;
        judged = !constrained && !in_blocks;
        const double scale = std::pow(10.0, uniform(-3.0, 3.0)) / n;
        std::normal_distribution<double> normal;
        for (int i = 0; i < n; ++i) {
            double score = normal(engine) - 0.3;
            if (kind == 0) score = std::round(2.0 * score) / 2.0;                // ties
            if (kind == 1) score = score > 0.0 ? 1e9 : -1e9;                     // saturated
            if (kind == 2) score = 0.0;
            scores.push_back(scale * score);
        }
        const int split = constrained ? integer(1, n) : n;
        setting.split = split;
        setting.constraints = constrained ? integer(1, 2) : 0;
        std::vector<Index> ends = {0};
        for (int i = 1; i < n; ++i) {
            if (!in_blocks || integer(0, 2) == 0) ends.push_back(i);
        }
        ends.push_back(n);
        setting.blocks = ends;
        const int groups = setting.groups();
        const double unit = double(n) / groups;
        if (!constrained) {
            for (int g = 0; g < groups; ++g) setting.order.push_back(g);
        }
        const auto rows = constrained ? all_sizes(n) : ends, columns = all_sizes(n);
        setting.rows = rows;
        setting.columns = columns;
        const int k_count = int(rows.size()), l_count = int(columns.size());
        setting.alpha = setting.beta = Table(k_count, l_count);
        setting.alpha_t = setting.beta_t = Table(l_count, k_count);
        alpha = beta = Table(width, width);
        double steepest = 0.0;
        for (int k = 0; k < width; ++k) {
            for (int l = 0; l < width; ++l) {
                const Entry entry = entry_of(metric, k, l, n);
                alpha[k][l] = entry.alpha;
                beta[k][l] = entry.beta;
                if (k > 0 && l > 0) steepest = std::max(steepest, std::fabs(entry.alpha));
            }
        }
        for (int x = 0; x < k_count; ++x) {
            for (int y = 0; y < l_count; ++y) {
                const Index k = rows[x], l = columns[y];
                Entry entry = {alpha[int(k)][l], beta[int(k)][l]};
                if (l == n) entry.beta += entry.alpha * double(k);
                if (k == 0 || l == 0 || l == n) entry.alpha = 0.0;
                setting.alpha[x][y] = setting.alpha_t[y][x] = entry.alpha * unit;
                setting.beta[x][y] = setting.beta_t[y][x] = entry.beta;
            }
        }
        for (const Index k : rows) setting.predictor_sizes.push_back(double(k) / unit);
        for (const Index l : columns) setting.adversary_sizes.push_back(double(l) / unit);
        for (int g = 0; g <= groups; ++g) setting.chain.push_back(g);
        setting.gain = setting.offset = Table(setting.constraints, k_count);
        for (int c = 0; c < setting.constraints; ++c) {
            for (int x = 0; x < k_count; ++x) {
                const double negatives = std::max(n - split, 1);
                setting.gain[c][x] = 1.0 / (c == 0 ? split : negatives) * unit;
                setting.offset[c][x] = c == 0 ? -0.6 : 0.8 - double(rows[x]) / negatives;
            }
        }
        if (constrained) setting.opening = {split};  // all positives, and nothing else, meet every constraint
        setting.reach = 2.0 * n * steepest + 1.0;
    }

    static std::vector<Index> all_sizes(int n) {
        std::vector<Index> sizes(n + 1);
        for (int k = 0; k <= n; ++k) sizes[k] = k;
        return sizes;
    }
};

struct Result {
    double upper = 0.0, lower = 0.0;
    int iterations = 0;
    bool wrong = false;
};

Result play(int number) {
    const Game game(number);
    const Settings settings = {1e-4, 150, 1e-6};
    const int n = static_cast<int>(game.setting.items());
    Result result;
    if (game.judged) {
        std::vector<double> adversary(n), predictor(n);
        const Verdict verdict = judge(game.setting, game.scores.data(), settings, game.alpha.view(), game.beta.view(),
                                      adversary.data(), predictor.data());
        result = {verdict.upper, verdict.lower, verdict.iterations, false};
    } else {
        // The canonical order is the caller's matter: falling scores before the split, and after it.
        const CanonicalScores canonical(game.scores.data(), n, game.setting.split);
        Attempt found = attempt(game.setting, canonical.scores, settings);
        result = {found.gap, 0.0, found.iterations, false};
        for (Strategy* strategy : {&found.adversary, &found.predictor}) {
            clean(strategy->sizes.data(), strategy->weights.data(), strategy->marginals.numbers.data(),
                  strategy->blocks.data(), strategy->marginals.rows, strategy->marginals.columns);
        }
    }
    double scale = 1.0;
    for (const double score : game.scores) scale += std::fabs(score);
    result.wrong = std::isfinite(result.upper) && std::isfinite(result.lower) && result.upper - result.lower < -1e-9 * scale;
    return result;
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 3) return 2;
    const int games = std::atoi(arguments[1]), threads = std::atoi(arguments[2]);
    const bool print = count > 3 && std::strcmp(arguments[3], "print") == 0;
    std::vector<Result> results(games);
    std::vector<std::thread> team;
    for (int t = 0; t < threads; ++t) {
        team.emplace_back([&results, t, games, threads] {
            for (int number = t; number < games; number += threads) results[number] = play(number);
        });
    }
    for (std::thread& thread : team) thread.join();
    int wrong = 0, missed = 0;
    for (int number = 0; number < games; ++number) {
        const Result& result = results[number];
        wrong += result.wrong;
        missed += !(result.upper - result.lower <= 1e-4);
        if (print) std::printf("%d %.17g %.17g %d\n", number, result.upper, result.lower, result.iterations);
        if (result.wrong) std::fprintf(stderr, "game %d: %.17g is below %.17g\n", number, result.upper, result.lower);
    }
    std::fprintf(stderr, "%d games, %d missed at the first attempt, %d wrong\n", games, missed, wrong);
    return wrong > 0;
}
