// What keeps the iterate feasible while columns come and go.
#include "core/growth.hpp"
#include "core/restoring.hpp"
#include "games.hpp"

using namespace games;

static constexpr int ITEMS = 9;
static constexpr double SHARE = parameters::path::ITEM_SHARE;

// A game with random columns of the adversary.
struct State {
    Game game;
    Problem problem;
    PoisonedMemory memory;
    Columns& columns;

    State(const std::vector<int>& sizes, Random& random)
        : game(random_game(f1, ITEMS, random)), problem(game.problem()), memory(problem),
          columns(memory.room.iterate.adversary) {
        random_columns(columns, sizes, ITEMS, 0.9, random);
    }
};

// Solves mu / x - mu / (1 - x) = mass * (value - price), the slow way.
static double central_share(double value, double price, double mass, double mu) {
    double low = 0.0, high = 1.0;
    for (int pass = 0; pass < 100; ++pass) {
        const double x = 0.5 * (low + high);
        (mu / x - mu / (1.0 - x) > mass * (value - price) ? low : high) = x;
    }
    return 0.5 * (low + high);
}

CASE(at_the_central_price_shares_sum_up_to_the_size) {
    Random random(1);
    for (int trial = 0; trial < 300; ++trial) {
        double value[ITEMS], weight[ITEMS], total = 0.0, held = 0.0;
        for (int i = 0; i < ITEMS; ++i) {
            value[i] = random.normal();
            total += weight[i] = random.integer(1, 3);
        }
        const double size = 1.0 + random.uniform() * (total - 2.0), mass = random.uniform(0.01, 1.0);
        const double mu = std::pow(10.0, random.uniform(-6.0, 1.0)), guess = random.chance(0.5) ? INFINITY : 0.0;
        const double price = central_price(value, weight, ITEMS, size, mass, mu, guess, 1e-10);
        for (int i = 0; i < ITEMS; ++i) held += weight[i] * central_share(value[i], price, mass, mu);
        CHECK_NEAR(held, size, 1e-6 * size);
    }
}

CASE(a_column_that_joins_is_on_the_central_path) {
    Random random(3);
    State state({2, 5}, random);
    Columns& columns = state.columns;
    const double mass = 0.02, mu = 1e-4;
    double value[ITEMS], share[ITEMS];
    for (double& x : value) x = 30.0 * random.normal();
    const double price = open_column(state.problem, columns, 4, value, 4.0, mass, mu, share);
    for (int i = 0; i < ITEMS; ++i) {
        CHECK_NEAR(share[i], central_share(value[i], price, mass, SHARE * mu), 1e-6);
        CHECK_NEAR(columns.inside[2][i], mass * share[i], 1e-15);
        CHECK_NEAR(columns.inside[2][i] + columns.outside[2][i], mass, 1e-15);
        CHECK_NEAR(columns.dual_inside[2][i] - columns.dual_outside[2][i], value[i] - price, 1e-6 * std::fabs(value[i]) + 1e-9);
        CHECK_NEAR(columns.inside[2][i] * columns.dual_inside[2][i], SHARE * mu, 1e-12);
    }
    CHECK(columns.used == 3 && columns.size_index[2] == 4 && columns.member[4]);
    CHECK(columns.price[2] == -price);
}

CASE(a_balanced_column_has_the_new_values_and_positive_duals) {
    Random random(4);
    for (int trial = 0; trial < 300; ++trial) {
        const int size = random.integer(1, ITEMS - 1);
        State state({size}, random);
        Columns& columns = state.columns;
        const double mu = std::pow(10.0, random.uniform(-8.0, 0.0)), before = columns.price[0];
        double change[ITEMS], excess[ITEMS], outside[ITEMS], above = 0.0, grown = 0.0;
        for (int i = 0; i < ITEMS; ++i) {
            change[i] = random.normal();
            outside[i] = columns.dual_outside[0][i];
            excess[i] = columns.dual_inside[0][i] - outside[i];
        }
        const double growth = balance(state.problem, columns, state.memory.workspace, 0, change, 1.0, size, ITEMS, mu);
        const double shift = before - columns.price[0];
        for (int i = 0; i < ITEMS; ++i) {
            const double z = columns.dual_inside[0][i], v = columns.dual_outside[0][i];
            CHECK(z > 0.0 && v > 0.0);
            CHECK_NEAR(z - v, excess[i] + change[i] - shift, 1e-12);
            above += smaller(z, v);
            grown += v - outside[i];
        }
        CHECK_NEAR(growth, size * shift - grown, 1e-9);
        CHECK(above <= parameters::restoring::MOST_LIFT * mu * (1.0 + 2.0 * SHARE * ITEMS) * (1.0 + 1e-9));
    }
}

CASE(only_columns_without_hope_and_without_mass_are_dropped) {
    Random random(7);
    State state({1, 3, 4, 8}, random);
    Columns& columns = state.columns;
    double gain[ITEMS + 1] = {};
    columns.mass[0] = columns.mass[2] = columns.mass[3] = 1e-6;
    columns.mass[1] = 0.5;
    gain[1] = gain[3] = gain[8] = -1.0;
    gain[4] = -1e-3;
    double kept[2][ITEMS];
    for (int a = 0; a < 2; ++a) {
        for (int i = 0; i < ITEMS; ++i) kept[a][i] = columns.dual_outside[a + 1][i];
    }
    CHECK(drop_columns(columns, gain, 0.0, 1e-3, ITEMS));
    CHECK(columns.used == 2 && columns.size_index[0] == 3 && columns.size_index[1] == 4);
    for (int size = 0; size <= ITEMS; ++size) CHECK(columns.member[size] == (size == 3 || size == 4));
    for (int a = 0; a < 2; ++a) {
        for (int i = 0; i < ITEMS; ++i) CHECK(columns.dual_outside[a][i] == kept[a][i]);
    }
    CHECK(!drop_columns(columns, gain, 0.0, 1e-3, ITEMS));
}

CASE(a_size_that_had_to_join_again_stays) {
    Random random(8);
    State state({1, 3, 4}, random);
    Columns& columns = state.columns;
    columns.mass[0] = 0.5;
    columns.mass[1] = columns.mass[2] = 1e-6;
    columns.dropped[3] = true;
    double gain[ITEMS + 1];
    for (double& x : gain) x = -1.0;
    CHECK(drop_columns(columns, gain, 0.0, 1e-3, ITEMS));
    CHECK(columns.used == 2 && columns.size_index[0] == 1 && columns.size_index[1] == 3);
    CHECK(columns.dropped[3] && columns.dropped[4]);
}
