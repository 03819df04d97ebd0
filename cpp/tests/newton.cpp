// Residuals and the Newton step against the optimality conditions themselves, written down one by one.
//
// The conditions are affine but for the complementary products, so that a dense Jacobian follows from differences exactly.
#include "core/stepping.hpp"
#include "games.hpp"

using namespace games;

// All unknowns in a row, and the optimality conditions as functions of them.
struct Conditions {
    const Problem& problem;
    const Iterate& shape;  // which sizes are in play

    int n() const { return problem.groups; }
    int q() const { return shape.adversary.used; }
    int f() const { return shape.predictor.used; }
    double weight(int i) const { return problem.weight[i]; }
    double size_of(bool adversary, int a) const {
        return adversary ? problem.adversary_sizes[shape.adversary.size_index[a]]
                         : problem.predictor_sizes[shape.predictor.size_index[a]];
    }

    // Where the unknowns of one player begin: inside, dual inside, dual outside for each column; mass, dual, price.
    int marginal(bool adversary, int kind, int a, int i) const {
        const int before = adversary ? 0 : 3 * q() * n(), count = adversary ? q() : f();
        return before + (kind * count + a) * n() + i;
    }
    int marginals() const { return 3 * (q() + f()) * n(); }
    // kind: 0 mass, 1 dual of the mass; the adversary's empty and full set are its columns q and q + 1.
    int mass(bool adversary, int kind, int a) const {
        return marginals() + (adversary ? kind * (q() + 2) : 2 * (q() + 2) + kind * f()) + a;
    }
    int price(bool adversary, int a) const { return marginals() + 2 * (q() + 2 + f()) + (adversary ? 0 : q()) + a; }
    int chain(int kind, int j) const { return price(false, f()) + kind * (n() + 1) + j; }
    int multiplier(int kind, int c) const { return chain(1, n() + 1) + kind * problem.constraints + c; }
    int eta() const { return multiplier(1, problem.constraints); }
    int rho() const { return eta() + 1; }
    int count() const { return rho() + 1; }

    std::vector<double> unknowns(const Iterate& it) const {
        std::vector<double> x(count());
        for (const bool adversary : {true, false}) {
            const Columns& columns = adversary ? it.adversary : it.predictor;
            for (int a = 0; a < columns.used; ++a) {
                for (int i = 0; i < n(); ++i) {
                    x[marginal(adversary, 0, a, i)] = columns.inside[a][i];
                    x[marginal(adversary, 1, a, i)] = columns.dual_inside[a][i];
                    x[marginal(adversary, 2, a, i)] = columns.dual_outside[a][i];
                }
                x[mass(adversary, 0, a)] = columns.mass[a];
                x[mass(adversary, 1, a)] = columns.dual_mass[a];
                x[price(adversary, a)] = columns.price[a];
            }
        }
        for (int e = 0; e < 2; ++e) {
            x[mass(true, 0, q() + e)] = it.adversary.mass[MAX_COLUMNS + e];
            x[mass(true, 1, q() + e)] = it.adversary.dual_mass[MAX_COLUMNS + e];
        }
        for (int j = 0; j <= n(); ++j) {
            x[chain(0, j)] = it.chain_mass[j];
            x[chain(1, j)] = it.chain_slack[j];
        }
        for (int c = 0; c < problem.constraints; ++c) {
            x[multiplier(0, c)] = it.multiplier[c];
            x[multiplier(1, c)] = it.multiplier_slack[c];
        }
        x[eta()] = it.eta;
        x[rho()] = it.rho;
        return x;
    }

    // What each item costs the adversary in a set of this size; the chain's sets hold the items before their number.
    double cost(const std::vector<double>& x, int l, int i) const {
        double total = -problem.score[i];
        for (int j = i + 1; j <= n(); ++j) total += x[chain(0, j)] * problem.alpha[problem.chain[j]][l];
        for (int a = 0; a < f(); ++a) total += x[marginal(false, 0, a, i)] * problem.alpha[shape.predictor.size_index[a]][l];
        return total;
    }
    // The adversary's sizes: those of the columns, then the empty and the full set.
    int adversary_size(int b) const { return b < q() ? shape.adversary.size_index[b] : b == q() ? 0 : problem.columns - 1; }

    // All conditions, where products are to be `target`. The masses' conditions contain sum(weight * dual outside), since
    // outside = mass - inside.
    std::vector<double> values(const std::vector<double>& x, double target) const {
        std::vector<double> result;
        const double item_target = parameters::path::ITEM_SHARE * target;
        const int constraints = problem.constraints;
        for (int b = 0; b < q() + 2; ++b) {
            const int l = adversary_size(b);
            double dual = x[eta()] - x[mass(true, 1, b)], held = 0.0;
            for (int j = 0; j <= n(); ++j) dual += x[chain(0, j)] * problem.beta[problem.chain[j]][l];
            for (int a = 0; a < f(); ++a) dual += x[mass(false, 0, a)] * problem.beta[shape.predictor.size_index[a]][l];
            if (b == q() + 1) {
                for (int i = 0; i < n(); ++i) dual -= weight(i) * problem.score[i];
            }
            result.push_back(x[mass(true, 0, b)] * x[mass(true, 1, b)] - target);
            if (b < q()) {
                dual -= size_of(true, b) * x[price(true, b)];
                for (int i = 0; i < n(); ++i) {
                    const double inside = x[marginal(true, 0, b, i)], outside = x[mass(true, 0, b)] - inside;
                    const double z = x[marginal(true, 1, b, i)], v = x[marginal(true, 2, b, i)];
                    dual -= weight(i) * v;
                    held += weight(i) * inside;
                    result.push_back(cost(x, l, i) + x[price(true, b)] - z + v);
                    result.push_back(inside * z - item_target);
                    result.push_back(outside * v - item_target);
                }
                result.push_back(held - size_of(true, b) * x[mass(true, 0, b)]);
            }
            result.push_back(dual);
        }
        for (int a = 0; a < f(); ++a) {
            const int k = shape.predictor.size_index[a];
            double dual = x[rho()] - x[mass(false, 1, a)] - size_of(false, a) * x[price(false, a)], held = 0.0;
            for (int b = 0; b < q() + 2; ++b) dual -= x[mass(true, 0, b)] * problem.beta[k][adversary_size(b)];
            for (int c = 0; c < constraints; ++c) dual -= x[multiplier(0, c)] * problem.offset[c][k];
            for (int i = 0; i < n(); ++i) {
                const double inside = x[marginal(false, 0, a, i)], outside = x[mass(false, 0, a)] - inside;
                const double z = x[marginal(false, 1, a, i)], v = x[marginal(false, 2, a, i)];
                double worth = 0.0;
                for (int b = 0; b < q(); ++b) worth += x[marginal(true, 0, b, i)] * problem.alpha[k][adversary_size(b)];
                for (int c = 0; c < constraints; ++c) worth += x[multiplier(0, c)] * problem.gain[c][k] * problem.positive[i];
                dual -= weight(i) * v;
                held += weight(i) * inside;
                result.push_back(-worth + x[price(false, a)] - z + v);
                result.push_back(inside * z - item_target);
                result.push_back(outside * v - item_target);
            }
            result.push_back(held - size_of(false, a) * x[mass(false, 0, a)]);
            result.push_back(x[mass(false, 0, a)] * x[mass(false, 1, a)] - target);
            result.push_back(dual);
        }
        std::vector<double> hits(q(), 0.0);
        for (int j = 0; j <= n(); ++j) {
            const int k = problem.chain[j];
            double slack = x[rho()] - x[chain(1, j)];
            for (int b = 0; b < q(); ++b) {
                if (j > 0) hits[b] += weight(j - 1) * x[marginal(true, 0, b, j - 1)];
                slack -= problem.alpha[k][adversary_size(b)] * hits[b];
            }
            for (int b = 0; b < q() + 2; ++b) slack -= x[mass(true, 0, b)] * problem.beta[k][adversary_size(b)];
            for (int c = 0; c < constraints; ++c) slack -= x[multiplier(0, c)] * problem.chain_gain[c][j];
            result.push_back(slack);
            result.push_back(x[chain(0, j)] * x[chain(1, j)] - target);
        }
        for (int c = 0; c < constraints; ++c) {
            double slack = -x[multiplier(1, c)];
            for (int j = 0; j <= n(); ++j) slack += x[chain(0, j)] * problem.chain_gain[c][j];
            for (int a = 0; a < f(); ++a) {
                const int k = shape.predictor.size_index[a];
                slack += x[mass(false, 0, a)] * problem.offset[c][k];
                for (int i = 0; i < n(); ++i) {
                    slack += problem.gain[c][k] * weight(i) * problem.positive[i] * x[marginal(false, 0, a, i)];
                }
            }
            result.push_back(slack);
            result.push_back(x[multiplier(0, c)] * x[multiplier(1, c)] - target);
        }
        double total = -1.0, total_p = -1.0;
        for (int b = 0; b < q() + 2; ++b) total += x[mass(true, 0, b)];
        for (int j = 0; j <= n(); ++j) total_p += x[chain(0, j)];
        for (int a = 0; a < f(); ++a) total_p += x[mass(false, 0, a)];
        result.push_back(total);
        result.push_back(total_p);
        return result;
    }

    // Newton's step from x, by a dense Jacobian. Central differences of quadratic functions are exact.
    std::vector<double> newton(const std::vector<double>& x, double target) const {
        const int m = count();
        std::vector<double> jacobian(m * m), side = values(x, target);
        for (int c = 0; c < m; ++c) {
            std::vector<double> more = x, less = x;
            more[c] += 0.5;
            less[c] -= 0.5;
            const std::vector<double> high = values(more, target), low = values(less, target);
            for (int r = 0; r < m; ++r) jacobian[r * m + c] = high[r] - low[r];
        }
        for (double& value : side) value = -value;
        return checks::dense_solve(jacobian, side);
    }
};

// A random point in a random game, and the whole step from there to complementary products of `target`.
static void check_step(Metric metric, int n, const std::vector<int>& adversary, const std::vector<int>& predictor,
                       int constraints, bool weighed, unsigned seed) {
    Random random(seed);
    Game game = random_game(metric, n, random, constraints);
    if (weighed) {
        for (double& weight : game.weight) weight = random.integer(1, 3);
    }
    const Problem problem = game.problem();
    PoisonedMemory memory(problem);
    Iterate& it = memory.room.iterate;
    Workspace& w = memory.workspace;
    random_iterate(problem, it, adversary, predictor, random);
    const Conditions conditions{problem, it};
    const double target = 0.05;
    const std::vector<double> before = conditions.unknowns(it);
    CHECK(static_cast<int>(conditions.values(before, target).size()) == conditions.count());
    const std::vector<double> truth = conditions.newton(before, target);

    evaluate(problem, it, w, true, 0.0);
    factorise(problem, it, w, 0.0);
    const Border at = border_of(problem, it);
    const Step step = step_of(problem, it, w, at);
    for (const Marginals& m : step.marginals) {
        each(m.columns.used, n, [&](int a, int i) {
            const double to = target * parameters::path::ITEM_SHARE;
            m.side.comp_inside[a][i] = to * m.side.per_inside[a][i] - m.columns.dual_inside[a][i];
            m.side.comp_outside[a][i] = to * m.side.per_outside[a][i] - m.columns.dual_outside[a][i];
        });
    }
    for (const Pairs& pairs : step.pairs) {
        for (int j = 0; j < pairs.count; ++j) pairs.comp[j] = target / pairs.x[j] - pairs.z[j];
    }
    direction(problem, it, w);
    move(step, it, w, at, {1.0, 1.0});
    const std::vector<double> after = conditions.unknowns(it);
    double largest = 0.0;
    for (const double x : truth) largest = std::fmax(largest, std::fabs(x));
    for (int x = 0; x < conditions.count(); ++x) CHECK_NEAR(after[x] - before[x], truth[x], 1e-6 * (1.0 + largest));
    for (int a = 0; a < it.predictor.used; ++a) {
        for (int i = 0; i < n; ++i) {
            CHECK_NEAR(it.predictor.inside[a][i] + it.predictor.outside[a][i], it.predictor.mass[a], 1e-9 * (1.0 + largest));
        }
    }
}

CASE(the_step_solves_the_dense_system) {
    for (const Metric metric : {f1, kappa, mcc, accuracy}) {
        check_step(metric, 9, {1, 3, 4}, {2, 5}, 0, false, 1);
        check_step(metric, 11, {2, 5, 6, 9}, {1, 3, 4, 8, 10}, 0, false, 2);
    }
}

CASE(the_step_solves_it_without_columns_of_the_predictor) {
    for (const int n : {1, 3, 8, 13}) check_step(f1, n, n > 2 ? std::vector<int>{1, 2} : std::vector<int>{}, {}, 0, false, n);
    check_step(kappa, 17, {1, 4, 5, 6, 9, 12}, {}, 0, false, 4);
}

CASE(the_step_solves_it_without_columns_of_the_adversary) {
    for (const Metric metric : {f1, accuracy}) {
        check_step(metric, 5, {}, {1, 3}, 0, false, 12);
        check_step(metric, 2, {}, {1}, 1, false, 13);
    }
}

CASE(the_step_solves_it_under_constraints) {
    for (const Metric metric : {f1, kappa, accuracy}) {
        check_step(metric, 9, {1, 3, 4}, {2, 5}, 1, false, 5);
        check_step(metric, 10, {2, 3, 7}, {1, 4, 6, 8}, 2, false, 6);
        check_step(metric, 10, {2, 3, 7}, {}, 2, false, 7);
    }
}

CASE(the_step_solves_it_for_groups_of_several_items) {
    for (const Metric metric : {f1, kappa}) {
        check_step(metric, 9, {1, 3, 4}, {2, 5}, 0, true, 8);
        check_step(metric, 10, {2, 3, 7}, {1, 4, 6, 8}, 2, true, 9);
    }
}

CASE(many_columns_are_no_different) {
    check_step(kappa, 14, {1, 2, 3, 4, 5, 6, 8, 9, 11, 13}, {1, 2, 4, 5, 7, 9, 10, 12, 13}, 0, false, 10);
}

CASE(only_products_far_off_their_target_are_moved_and_not_too_far) {
    using parameters::stepping::FAR;
    Random random(11);
    for (int trial = 0; trial < 1000; ++trial) {
        const double target = std::pow(10.0, random.uniform(-9.0, 0.0));
        const double product = random.chance(0.2) ? -random.uniform() : target * std::pow(10.0, random.uniform(-4.0, 4.0));
        const double change = nearer(product, target);
        if (target / FAR <= product && product <= target * FAR) {
            CHECK(change == 0.0);
        } else if (product < target) {
            CHECK_NEAR(product + change, target / FAR, 1e-12 * (std::fabs(product) + target));
        } else {
            CHECK(-target * FAR <= change && change < 0.0);
        }
    }
}
