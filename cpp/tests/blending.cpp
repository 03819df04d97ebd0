// Mixtures of strategies: the best share, and that columns of the same size find each other.
#include "core/blending.hpp"
#include "games.hpp"

using namespace games;

static double top(const std::vector<double>& kept, const std::vector<double>& added, double shift, double t) {
    double most = -INFINITY;
    for (std::size_t x = 0; x < kept.size(); ++x) most = std::fmax(most, (1.0 - t) * kept[x] + t * (added[x] + shift));
    return most;
}

CASE(no_share_is_better) {
    Random random(1);
    for (int trial = 0; trial < 1000; ++trial) {
        const int count = random.integer(1, 12);
        std::vector<double> kept(count), added(count);
        for (double& x : kept) x = random.uniform(-1.0, 1.0);
        for (double& x : added) x = random.uniform(-1.0, 1.0);
        const double shift = random.uniform(-0.5, 0.5);
        const double share = best_share({kept.data(), added.data(), shift, count});
        CHECK(0.0 <= share && share <= 1.0);
        double best = INFINITY;
        for (int x = 0; x <= 100; ++x) best = std::fmin(best, top(kept, added, shift, 0.01 * x));
        CHECK(top(kept, added, shift, share) <= best + 1e-12);
    }
}

// A player's columns of these sizes, in memory of its own.
struct Player {
    Game game;
    PoisonedMemory memory;
    Columns& columns;

    Player(const std::vector<int>& sizes, int items, Random& random)
        : game(random_game(f1, items, random)), memory(game.problem()), columns(memory.room.iterate.adversary) {
        random_columns(columns, sizes, items, 1.0, random);
    }
    int place(int size) const {
        int found = -1;
        for (int a = 0; a < columns.used; ++a) {
            if (columns.size_index[a] == size) {
                CHECK(found < 0);
                found = a;
            }
        }
        return found;
    }
    double mass(int size) const { return place(size) < 0 ? 0.0 : columns.mass[place(size)]; }
    double inside(int size, int i) const { return place(size) < 0 ? 0.0 : columns.inside[place(size)][i]; }
};

static const int EVERY[] = {0, 1, 2, 3, 4, 5};

CASE(columns_of_one_size_are_mixed_and_others_kept) {
    Random random(2), again(2);
    Player one({3, 1}, 5, random), before({3, 1}, 5, again);
    const Player other({1, 4, 2}, 5, random);
    mix_columns(one.columns, other.columns, 0.25, EVERY, 5, 5);
    CHECK(one.columns.used == 4);
    for (int size = 1; size <= 4; ++size) {
        CHECK_NEAR(one.mass(size), 0.75 * before.mass(size) + 0.25 * other.mass(size), 1e-15);
        for (int i = 0; i < 5; ++i) CHECK_NEAR(one.inside(size, i), 0.75 * before.inside(size, i) + 0.25 * other.inside(size, i), 1e-15);
    }
}

CASE(a_whole_share_replaces_what_was_there) {
    Random random(3);
    Player one({3, 1}, 5, random);
    const Player other({1, 4}, 5, random);
    mix_columns(one.columns, other.columns, 1.0, EVERY, 5, 5);
    CHECK(one.columns.used == 2 && one.place(1) >= 0 && one.place(4) >= 0);
    for (int i = 0; i < 5; ++i) CHECK(one.inside(4, i) == other.inside(4, i));
}

CASE(items_of_a_group_get_what_the_group_has) {
    Random random(4), again(4);
    Player one({3, 1}, 5, random), before({3, 1}, 5, again);
    const Player other({1}, 5, random);
    const int blocks[] = {0, 2, 5}, group[] = {0, 0, 1, 1, 1};
    mix_columns(one.columns, other.columns, 0.25, blocks, 2, 5);
    for (int i = 0; i < 5; ++i) CHECK_NEAR(one.inside(1, i), 0.75 * before.inside(1, i) + 0.25 * other.inside(1, group[i]), 1e-15);
}

CASE(sets_of_the_chain_end_with_groups) {
    double chain[6];
    for (double& x : chain) x = 1.0 / 6.0;
    const double added[] = {0.5, 0.2, 0.3}, wanted[] = {0.5, 0.0, 0.2, 0.0, 0.0, 0.3};
    const int blocks[] = {0, 2, 5};
    mix_chain(chain, added, 0.5, blocks, 2, 5);
    for (int j = 0; j < 6; ++j) CHECK_NEAR(chain[j], 0.5 / 6.0 + 0.5 * wanted[j], 1e-15);
}

CASE(strategies_that_do_not_fit_together_are_not_mixed) {
    Random random(5);
    std::vector<int> low, high;
    for (int size = 0; size < 60; ++size) {
        low.push_back(size + 1);
        high.push_back(size + 51);
    }
    const Player one(low, 120, random), other(high, 120, random), few({1, 2, 3}, 120, random);
    const double good[] = {0.0, 1.0}, bad[] = {0.9, 0.0};
    CHECK(share_of(one.columns, other.columns, {good, bad, 0.0, 2}) == 1.0);
    CHECK(share_of(one.columns, other.columns, {bad, good, 0.0, 2}) == 0.0);
    const double share = share_of(one.columns, few.columns, {good, bad, 0.0, 2});
    CHECK(0.0 < share && share < 1.0);
}

CASE(a_mixture_loses_no_more_than_either_strategy) {
    Random random(6);
    Player one({3, 1}, 5, random);
    const Player other({1, 4}, 5, random);
    double losses[] = {0.5, 0.1, 0.2};
    const double added[] = {0.0, 0.6, 0.2};
    const double share = blend(one.columns, other.columns, losses, added, 0.0, 3, true, EVERY, 5, 5);
    CHECK_NEAR(share, 0.4, 1e-12);
    CHECK_NEAR(losses[0], 0.3, 1e-12);
    CHECK_NEAR(losses[1], 0.3, 1e-12);
    CHECK_NEAR(losses[2], 0.2, 1e-12);
}
