// Groups of items that are decided alike: which they are, and that nothing else changes with them.
#include "core/merging.hpp"
#include "games.hpp"

using namespace games;

CASE(the_margin_is_that_of_the_least_decided_column) {
    Random random(1);
    const Game game = random_game(f1, 4, random);
    PoisonedMemory memory(game.problem());
    Columns& columns = memory.room.iterate.adversary;
    random_columns(columns, {1, 2}, 4, 1.0, random);
    const double cost[2][4] = {{-3.0, -1.0, 2.0, 4.0}, {1.0, 2.0, 3.0, 0.5}}, wanted[] = {1.0, 1.0, 2.0, 0.5};
    for (int b = 0; b < 2; ++b) {
        for (int i = 0; i < 4; ++i) {
            columns.dual_inside[b][i] = larger(cost[b][i], 0.0) + 1e-3;
            columns.dual_outside[b][i] = larger(-cost[b][i], 0.0) + 1e-3;
        }
    }
    double margin[4], apart[4];
    find_margins(columns, 4, margin, apart);
    for (int i = 0; i < 4; ++i) {
        CHECK_NEAR(margin[i], wanted[i], 1e-12);
        CHECK(apart[i] == (i == 2 ? 1.0 : 0.0));
    }
}

// A game with groups, random ones unless they are given, and an iterate on them.
struct Grouped {
    Game game;
    Problem whole, problem;
    PoisonedMemory memory;
    Grouping& grouping;
    std::vector<int> blocks;

    static Game weighed(std::vector<double> scores, std::vector<double> labels, Random& random, bool heavy) {
        Game result(f1, std::move(scores), std::move(labels), 2);
        if (heavy) {
            for (double& weight : result.weight) weight = random.integer(1, 2);
        }
        return result;
    }
    static std::vector<double> falling(int n, Random& random) {
        std::vector<double> scores(n);
        for (double& score : scores) score = random.normal();
        std::sort(scores.begin(), scores.end(), [](double a, double b) { return a > b; });
        return scores;
    }
    static std::vector<double> drawn_labels(int n, double rate, Random& random) {
        std::vector<double> labels(n);
        for (double& label : labels) label = random.chance(rate);
        return labels;
    }

    Grouped(std::vector<double> scores, std::vector<double> labels, std::vector<int> given, bool heavy, Random& random)
        : game(weighed(std::move(scores), std::move(labels), random, heavy)), whole(game.problem()), memory(whole),
          grouping(memory.room.grouping), blocks(std::move(given)) {
        const int n = game.n;
        if (blocks.empty()) {
            blocks.push_back(0);
            for (int i = 1; i < n; ++i) {
                if (random.chance(0.5) || game.positive[i] != game.positive[i - 1]) blocks.push_back(i);
            }
            blocks.push_back(n);
        }
        set_coming(blocks);
        write_problem(whole, grouping);
        problem = on_groups(whole, grouping);
        Iterate& it = memory.room.iterate;
        random_iterate(problem, it, {1}, {}, random);
        const std::vector<double> shares = random.shares(groups() + 1);
        for (int j = 0; j <= groups(); ++j) it.chain_mass[j] = shares[j];
    }
    Grouped(int n, double rate, Random& random) : Grouped(falling(n, random), drawn_labels(n, rate, random), {}, true, random) {}

    int groups() const { return static_cast<int>(blocks.size()) - 1; }
    void set_coming(const std::vector<int>& begins) {
        for (std::size_t g = 0; g < begins.size(); ++g) grouping.coming[g] = begins[g];
        grouping.count = static_cast<int>(begins.size()) - 1;
    }
};

CASE(no_group_is_much_wider_than_its_margin) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        Random random(seed);
        Grouped at(random.integer(1, 12), seed % 2 ? 0.3 : 0.0, random);
        const int groups = at.groups(), n = at.game.n;
        const double spare = seed % 3 ? 0.05 : 0.0;
        std::vector<double> margin(groups), apart(groups);
        for (double& x : margin) x = -std::log(random.uniform(1e-9, 1.0));
        for (double& x : apart) x = random.chance(0.2);
        choose_groups(at.whole, at.problem, at.grouping, margin.data(), apart.data(), spare);
        const int *begins = at.grouping.coming, count = at.grouping.count;
        CHECK(begins[0] == 0 && begins[count] == n);
        bool split = false;
        for (int x = 0; x < count; ++x) {
            CHECK(begins[x] < begins[x + 1]);
            double least = INFINITY;
            int inside = 0, first = -1;
            for (int g = 0; g < groups; ++g) {
                if (at.blocks[g] >= begins[x + 1] || at.blocks[g + 1] <= begins[x]) continue;
                if (first < 0) first = g;
                CHECK(inside == 0 || apart[g] == 0.0);
                ++inside;
                least = std::fmin(least, margin[g]);
            }
            for (int i = begins[x]; i < begins[x + 1]; ++i) CHECK(at.game.positive[i] == at.game.positive[begins[x]]);
            if (inside > 1) {
                CHECK(at.game.score[begins[x]] - at.game.score[begins[x + 1] - 1] <= parameters::merging::SPAN * (least + spare) + 1e-12);
            }
            split |= begins[x + 1] - begins[x] < at.blocks[first + 1] - at.blocks[first];
        }
        CHECK(at.grouping.split == split);
    }
}

CASE(a_group_that_nobody_has_decided_is_taken_apart) {
    Random random(2);
    const struct {
        double margin;
        int count;
        bool split;
    } wanted[] = {{0.0, 4, true}, {1.6, 1, false}, {1.4, 2, true}};
    for (const auto& one : wanted) {
        Grouped at({3.0, 2.0, 1.0, 0.0}, {0.0, 0.0, 0.0, 0.0}, {0, 4}, false, random);
        const double margin[] = {one.margin}, apart[] = {0.0};
        choose_groups(at.whole, at.problem, at.grouping, margin, apart, 0.0);
        CHECK(at.grouping.count == one.count && at.grouping.split == one.split);
    }
}

// Merges groups at random, and splits some of those that are still alone.
static std::vector<int> other_groups(const std::vector<int>& blocks, Random& random) {
    std::vector<int> kept = {0}, result;
    for (std::size_t g = 1; g + 1 < blocks.size(); ++g) {
        if (random.chance(0.5)) kept.push_back(blocks[g]);
    }
    kept.push_back(blocks.back());
    for (std::size_t g = 0; g + 1 < kept.size(); ++g) {
        result.push_back(kept[g]);
        const auto place = std::find(blocks.begin(), blocks.end(), kept[g]);
        if (*(place + 1) != kept[g + 1]) continue;
        for (int i = kept[g] + 1; i < kept[g + 1]; ++i) {
            if (random.chance(0.5)) result.push_back(i);
        }
    }
    result.push_back(blocks.back());
    return result;
}

CASE(probabilities_of_items_stay_on_the_average) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        Random random(seed);
        Grouped at(random.integer(1, 12), 0.0, random);
        const int groups = at.groups(), n = at.game.n;
        Iterate& it = at.memory.room.iterate;
        const std::vector<double>& weight = at.game.weight;
        std::vector<double> of_items(n), chain(it.chain_mass, it.chain_mass + groups + 1);
        const std::vector<double> group_weight(at.problem.weight, at.problem.weight + groups);
        for (int g = 0; g < groups; ++g) {
            for (int i = at.blocks[g]; i < at.blocks[g + 1]; ++i) of_items[i] = it.adversary.inside[0][g];
        }
        const std::vector<int> coming = other_groups(at.blocks, random);
        const int count = static_cast<int>(coming.size()) - 1;
        at.set_coming(coming);
        double* wide = at.memory.workspace.factor;
        int* origin = at.memory.workspace.order;
        regroup_chain(at.whole, it, at.grouping, groups, wide);
        find_origins(at.grouping, origin);
        regroup_columns(it.adversary, group_weight.data(), groups, count, origin, wide);
        write_problem(at.whole, at.grouping);
        const Problem problem = on_groups(at.whole, at.grouping);

        double total = 0.0;
        for (int g = 0; g < count; ++g) {
            double held = 0.0, items = 0.0, score = 0.0;
            for (int i = coming[g]; i < coming[g + 1]; ++i) {
                held += weight[i] * of_items[i];
                score += weight[i] * at.game.score[i];
                items += weight[i];
            }
            CHECK_NEAR(it.adversary.inside[0][g], held / items, 1e-12);
            CHECK_NEAR(problem.weight[g], items, 1e-12);
            CHECK_NEAR(problem.score[g], score / items, 1e-12);
            CHECK(problem.chain[g] == coming[g] && problem.chain_gain[1][g] == at.whole.chain_gain[1][coming[g]]);
        }
        for (int j = 0; j <= count; ++j) {
            CHECK(it.chain_mass[j] > 0.0 && it.chain_slack[j] > 0.0);
            total += it.chain_mass[j];
        }
        CHECK_NEAR(total, 1.0, 1e-12);
        // How much of the items up to a place that ended a group and still does is expected to be taken.
        std::vector<double> reach(n + 1, 0.0);
        for (int i = 0; i < n; ++i) reach[i + 1] = reach[i] + weight[i];
        for (const int end : coming) {
            if (std::find(at.blocks.begin(), at.blocks.end(), end) == at.blocks.end()) continue;
            double before = 0.0, after = 0.0;
            for (int j = 0; j <= groups; ++j) before += chain[j] * std::fmin(reach[at.blocks[j]], reach[end]);
            for (int j = 0; j <= count; ++j) after += it.chain_mass[j] * std::fmin(reach[coming[j]], reach[end]);
            CHECK_NEAR(after, before, 1e-12);
        }
    }
}
