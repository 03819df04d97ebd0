// Random games by the program for GPUs, in the emulated threads of a block: no order of the threads changes a bit of the
// result, and the bounds agree with those of one thread. Memory that nobody has written is not a number.
#include <cstring>
#include <functional>

#include "emulation.hpp"
#include "games.hpp"
#include "gpu/host.hpp"
#include "gpu/solve.hpp"

using namespace games;

namespace {

constexpr Metric METRICS[] = {f1, accuracy, kappa, mcc};

double noise(Random& random, int kind) {
    if (kind == 0) return 0.0;
    if (kind == 1) return std::round(2.0 * random.normal()) / 2.0;
    return random.normal();
}

// A game of random size, with up to two constraints; some have ties, some scores that decide every item.
struct Example {
    Random random;
    int n, constraints;
    std::vector<double> scores, labels, tables, limits, adversary, predictor, multipliers, ranges;
    std::vector<long long> place;
    std::vector<unsigned char> memory;

    Example(int number, int largest)
        : random(number), n(random.integer(1, largest)), constraints(random.integer(0, 3) == 0 ? random.integer(1, 2) : 0) {
        const double scale = std::pow(10.0, random.uniform(-3.0, 3.0)) / n;
        const int kind = random.integer(0, 6);
        for (int i = 0; i < n; ++i) {
            scores.push_back(scale * (noise(random, kind) - 0.3));
            labels.push_back(random.chance(0.4));
        }
        labels[0] = 1.0;
        if (n > 1) labels[1] = 0.0;
        const Metric metric = METRICS[random.integer(0, 3)];
        const Game game(metric, scores, labels, n > 1 ? constraints : 0);
        constraints = game.constraints;
        for (const auto* table : {&game.alpha, &game.beta, &game.alpha_t, &game.beta_t}) {
            tables.insert(tables.end(), table->begin(), table->end());
        }
        write_limits(game);
        // No score beyond twice the span of a metric's values makes a difference; see `reach` in metricfit.game.tables.
        ranges = {4.0, metric == f1 || metric == accuracy ? 0.0 : -1.0};
    }

    // For each number of positives; only that of the labels is read. Choosing the positives meets all constraints.
    void write_limits(const Game& game) {
        const int width = n + 1, positives = static_cast<int>(std::count(labels.begin(), labels.end(), 1.0));
        const std::size_t length = 3 + MOST_OPENINGS + constraints + 2 * constraints * width;
        limits.assign(length * width, NAN);
        std::vector<double> row = {1.0, double(positives)};
        row.resize(1 + MOST_OPENINGS);
        row.insert(row.end(), {0.0, 1.0});
        for (int c = 0; c < constraints; ++c) {
            row.push_back(game.gain[c * width + positives] * positives + game.offset[c * width + positives]);
        }
        row.insert(row.end(), game.gain.begin(), game.gain.end());
        row.insert(row.end(), game.offset.begin(), game.offset.end());
        std::copy(row.begin(), row.end(), limits.begin() + length * positives);
    }

    Batch batch(double* bounds, int* report) {
        Arena measure;
        Block unused;
        lay_out(measure, unused, n, constraints);
        memory.assign(measure.used() + Arena::LINE, 0xFF);
        adversary.assign(n, NAN), predictor.assign(n, NAN), multipliers.assign(constraints + 1, NAN);
        place = {0, n, reinterpret_cast<long long>(tables.data()), reinterpret_cast<long long>(limits.data())};
        unsigned char* aligned = memory.data() + (Arena::LINE - reinterpret_cast<std::size_t>(memory.data()) % Arena::LINE);
        return {scores.data(), labels.data(), place.data(), ranges.data(), adversary.data(), predictor.data(), bounds,
                multipliers.data(), report, aligned, static_cast<long long>(measure.used()), 1, constraints, 150, 1e-4};
    }
};

// What became of a game, as its bits.
struct Result {
    double bounds[2];
    int report[2];
    std::vector<double> numbers;

    explicit Result(Example& example, const std::function<void(const Batch&)>& solve) {
        solve(example.batch(bounds, report));
        numbers = {bounds[0], bounds[1], double(report[0]), double(report[1])};
        for (const auto* found : {&example.adversary, &example.predictor, &example.multipliers}) {
            numbers.insert(numbers.end(), found->begin(), found->end());
        }
    }
    bool operator==(const Result& other) const {
        return numbers.size() == other.numbers.size() &&
               std::memcmp(numbers.data(), other.numbers.data(), numbers.size() * sizeof(double)) == 0;
    }
};

Block shared;

Result by_block(Example& example, int threads, emulation::Block::Order order) {
    emulation::Block block(threads, order);
    emulation::block = &block;
    return Result(example, [&](const Batch& batch) {
        block.run([&] {
            set_teams(false);
            solve_batch(shared, batch, 0, 1);
        });
    });
}

void check_games(int first, int last, int largest, int threads) {
    for (int number = first; number < last; ++number) {
        Example example(number, largest);
        const Result alone(example, [](const Batch& batch) { solve_on_host(&batch, 1); });
        const Result together = by_block(example, threads, emulation::Block::FORWARDS);
        CHECK(by_block(example, threads, emulation::Block::BACKWARDS) == together);
        CHECK(by_block(example, threads, emulation::Block::SHUFFLED) == together);
        // Some games with constraints are missed, and left to the host.
        const bool solved = together.report[0] == SOLVED;
        CHECK(solved || (example.constraints > 0 && together.report[0] == MISSED));
        CHECK(together.bounds[0] <= together.bounds[1] + 1e-12);
        CHECK(!solved || together.bounds[1] - together.bounds[0] <= 1e-4);
        // Each proves its bounds, so no lower one is above an upper one.
        CHECK(together.bounds[0] <= alone.bounds[1] + 1e-12);
        CHECK(alone.bounds[0] <= together.bounds[1] + 1e-12);
    }
}

}  // namespace

CASE(warps_of_one_block) { check_games(0, 30, 40, 32); }
CASE(two_warps) { check_games(100, 115, 40, 64); }
CASE(four_warps) { check_games(200, 210, 40, 128); }
