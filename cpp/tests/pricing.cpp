// Best responses of both players for every size, and the least total that they are made of, against sorting.
#include "core/pricing.hpp"
#include "games.hpp"

using namespace games;

// The sum of the smallest values; of the last item only a part may be taken.
static double by_sorting(const std::vector<double>& value, const std::vector<double>& weight, double size) {
    std::vector<int> order(value.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::sort(order.begin(), order.end(), [&](int a, int b) { return value[a] < value[b]; });
    double total = 0.0;
    for (const int i : order) {
        const double taken = std::fmin(size, weight[i]);
        total += taken * value[i];
        size -= taken;
    }
    return total;
}

struct Offer {
    std::vector<double> value, weight;
    double items = 0.0;

    Offer(Random& random, int count, bool weighed, bool ties) {
        for (int i = 0; i < count; ++i) {
            value.push_back(ties ? random.integer(-2, 2) : random.uniform(-10.0, 10.0));
            weight.push_back(weighed ? random.integer(1, 4) : 1.0);
            items += weight.back();
        }
    }
    double least(double size, double enough, Ranking& ranking) const {
        return least_total(value.data(), weight.data(), static_cast<int>(value.size()), size, enough, ranking);
    }
};

static void check_totals(double enough) {
    Random random(1);
    for (int trial = 0; trial < 2000; ++trial) {
        const Offer offer(random, random.integer(1, 30), random.chance(0.5), random.chance(0.3));
        std::vector<int> order = random.permutation(static_cast<int>(offer.value.size()));
        const double size = random.chance(0.5) ? offer.items * random.uniform() : random.integer(0, int(offer.items));
        Ranking ranking = {order.data()};
        const double wanted = by_sorting(offer.value, offer.weight, size), found = offer.least(size, enough, ranking);
        CHECK(found <= wanted + 1e-9);
        if (enough == INFINITY) CHECK_NEAR(found, wanted, 1e-9);
        if (found < enough) CHECK_NEAR(found, wanted, 1e-9);
    }
}

CASE(the_least_total_is_that_of_the_smallest_values) { check_totals(INFINITY); }

CASE(a_bound_that_is_enough_is_never_above_the_least_total) {
    for (const double enough : {-100.0, -10.0, 0.0, 10.0}) check_totals(enough);
}

CASE(a_place_is_found_from_that_of_a_smaller_size_on) {
    Random random(2);
    for (int trial = 0; trial < 300; ++trial) {
        const Offer offer(random, random.integer(1, 30), random.chance(0.5), random.chance(0.3));
        std::vector<int> order = random.permutation(static_cast<int>(offer.value.size()));
        Ranking ranking = {order.data()};
        for (double size = 1.0; size < offer.items; size += 1.0) {
            CHECK_NEAR(offer.least(size, INFINITY, ranking), by_sorting(offer.value, offer.weight, size), 1e-9);
        }
    }
}

CASE(sorting_keeps_every_group_and_ends_in_order) {
    Random random(3);
    for (int count = 0; count < 60; ++count) {
        std::vector<double> value(count);
        for (double& x : value) x = random.integer(0, 20);
        std::vector<int> order = random.permutation(count), seen(count, 0);
        sort_by(value.data(), order.data(), count);
        for (int a = 1; a < count; ++a) CHECK(value[order[a - 1]] <= value[order[a]]);
        for (const int g : order) ++seen[g];
        for (const int times : seen) CHECK(times == 1);
    }
}

// Best responses against random strategies, from the definition.
static void check_prices(Metric metric, int n, int constraints, unsigned seed) {
    Random random(seed);
    const Game game = random_game(metric, n, random, constraints);
    const Problem problem = game.problem();
    PoisonedMemory memory(problem);
    Iterate& it = memory.room.iterate;
    random_iterate(problem, it, {1, 3, n - 1}, {2, n - 2}, random);
    const Columns &adversary = it.adversary, &predictor = it.predictor;
    std::vector<double> found(n + 1), ones(n, 1.0), whole(n);
    std::vector<int> blocks(n + 1);
    for (int i = 0; i <= n; ++i) blocks[i] = i;
    double chosen = 0.0;
    for (int i = 0; i < n; ++i) {
        double included = adversary.mass[MAX_COLUMNS + 1];
        for (int b = 0; b < adversary.used; ++b) included += adversary.inside[b][i];
        chosen += problem.score[i] * included;
    }
    price_predictor(problem, adversary, memory.workspace, it.multiplier, predictor.member, 1, INFINITY, found.data());
    double best = -INFINITY;
    std::vector<double> wanted(n + 1);
    for (int k = 0; k <= n; ++k) {
        double total = -chosen;
        total += problem.beta[k][0] * adversary.mass[MAX_COLUMNS] + problem.beta[k][n] * adversary.mass[MAX_COLUMNS + 1];
        for (int b = 0; b < adversary.used; ++b) total += problem.beta[k][adversary.size_index[b]] * adversary.mass[b];
        for (int c = 0; c < constraints; ++c) total += it.multiplier[c] * problem.offset[c][k];
        for (int i = 0; i < n; ++i) {
            whole[i] = 0.0;
            for (int b = 0; b < adversary.used; ++b) whole[i] -= problem.alpha[k][adversary.size_index[b]] * adversary.inside[b][i];
            for (int c = 0; c < constraints; ++c) whole[i] -= it.multiplier[c] * problem.gain[c][k] * problem.positive[i];
        }
        wanted[k] = total - by_sorting(whole, ones, k);
        best = std::fmax(best, wanted[k]);
        CHECK(found[k] >= wanted[k] - 1e-9);
    }
    // Where another size is better, a bound will do.
    CHECK_NEAR(found[largest(found.data(), n + 1)], best, 1e-9);

    price_adversary(problem, problem, it, memory.workspace, blocks.data(), 1, INFINITY, found.data());
    best = INFINITY;
    for (int l = 0; l <= n; ++l) {
        double total = 0.0;
        for (int j = 0; j <= n; ++j) total += it.chain_mass[j] * problem.beta[j][l];
        for (int a = 0; a < predictor.used; ++a) total += predictor.mass[a] * problem.beta[predictor.size_index[a]][l];
        for (int i = 0; i < n; ++i) {
            whole[i] = -problem.score[i];
            for (int j = i + 1; j <= n; ++j) whole[i] += it.chain_mass[j] * problem.alpha[j][l];
            for (int a = 0; a < predictor.used; ++a) whole[i] += predictor.inside[a][i] * problem.alpha[predictor.size_index[a]][l];
        }
        wanted[l] = total + by_sorting(whole, ones, l);
        best = std::fmin(best, wanted[l]);
        CHECK(found[l] <= wanted[l] + 1e-9);
        if (adversary.member[l]) CHECK_NEAR(found[l], wanted[l], 1e-9);
    }
    double least = INFINITY;
    for (const double value : found) least = std::fmin(least, value);
    CHECK_NEAR(least, best, 1e-9);
}

CASE(prices_are_payoffs_of_best_responses) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        for (const Metric metric : {f1, kappa, accuracy}) check_prices(metric, 6 + static_cast<int>(seed), 0, seed);
    }
}

CASE(prices_of_the_predictor_contain_what_constraints_pay) {
    for (unsigned seed = 0; seed < 20; ++seed) check_prices(f1, 6 + static_cast<int>(seed), 1 + static_cast<int>(seed) % 2, seed);
}

CASE(the_neighbourhood_of_a_promising_size_is_struck_out) {
    std::vector<double> value = {5.0, 1.0, 2.0, 9.0, 8.0, 3.0};
    const bool member[] = {true, false, false, false, false, false};
    CHECK(most_promising(value.data(), member, 6, 0.0, 1) == 3);
    CHECK(most_promising(value.data(), member, 6, 0.0, 1) == 5);
    CHECK(most_promising(value.data(), member, 6, 0.0, 1) == 1);
    CHECK(most_promising(value.data(), member, 6, 0.0, 1) == -1);
}
