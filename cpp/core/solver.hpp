// A primal-dual interior point method whose linear program grows while it is being solved.
//
// With sizes L in play for the adversary, all chain sets and the sizes F for the predictor, the adversary's problem is
//
//     min over Q, s, lambda, rho of   rho - sum_{i, l in L} m_i psi_i Q_il
//     subject to   sum_l beta_kl s_l + sum_l alpha_kl sum_{i in S} m_i Q_il + sum_c lambda_c (g_ck |S n Y| + o_ck) <= rho
//                      for S in the chain and all |S| = k in F,
//                  0 <= Q_il <= s_l,   sum_i m_i Q_il = l s_l,   sum_l s_l = 1,   lambda >= 0.
//
// Mehrotra's predictor-corrector follows the central path. Whenever the duality gap has shrunk by a fixed factor, both
// players' exact best responses over all sizes are computed; the comments call this a look. They bound the value of the
// whole game, and sizes that improve it join L and F. Neighbours with the same decision share their unknowns
// (merging.hpp).
//
// How far to go before the next look, what to add and with how much mass, and the numbers of stepping.hpp and restoring.hpp
// depend on each other. They were found together; see parameters.hpp.
#pragma once

#include "best.hpp"
#include "cleaning.hpp"
#include "growth.hpp"
#include "merging.hpp"
#include "newton.hpp"
#include "pricing.hpp"
#include "restoring.hpp"
#include "settings.hpp"
#include "start.hpp"
#include "state.hpp"
#include "stepping.hpp"

namespace metricfit::METRICFIT_TARGET {

struct Outcome {
    double upper, lower;  // bounds of the value on these groups and sizes, proved by the strategies in Room::best
    int iterations;       // Newton steps that were taken
};

// Where the loop stands.
struct Progress {
    Problem problem;                // the game on the groups of the moment
    double gap = 0.0, pairs = 0.0;  // duality gap, and of how many products it is the sum
    double mu = 0.0;                // what each product is to be when columns have joined
    double magnitude = 0.0;         // of scores and alpha
    double aim = parameters::start::FIRST_AIM;          // the next look is due when the gap is below
    double left_aside = parameters::start::LEFT_ASIDE;  // share of alpha that Newton steps leave aside
    double upper = INFINITY, lower = -INFINITY;         // bounds proved so far
    double *value_k = nullptr, *spare_k = nullptr;      // payoffs of the predictor's sizes at the last look, and room
    int iterations = 0, since_look = 0;                 // steps taken
    bool changed = true;     // have columns or groups changed since residuals were computed
    bool unbalanced = true;  // are linear equations to be restored
    bool looked = false;     // has there been no step since the last look
    bool broken = false;     // did a step break down: it is not taken, and the next look is the last
};

// What best responses to the current strategies show.
struct Look {
    double inner_k, inner_l;    // bounds of the restricted game
    double needed_k, needed_l;  // what a size has to gain to join, where the adversary's gains are minus payoffs
    double best_k;              // the bound of the whole game that this strategy of the adversary proves
    const Columns* adversary;
    bool exact;  // was every size looked at
};

// Every group is one item, nothing is in play but what the first point has. The predictor's empty and full set are in the
// chain and never join.
METRICFIT_FUNCTION Progress begin(const Problem& whole, Room& room, Workspace& w, const int* opening, int openings) {
    Iterate& it = room.iterate;
    Progress now;
    now.problem = whole;
    now.value_k = room.value_k;
    now.spare_k = room.value_p;
    clear(whole, it);
    clear(whole, room.best);
    each(whole.groups + 1, [&](int g) { room.grouping.blocks[g] = g; });
    each(whole.rows, [&](int row) {
        it.predictor.member[row] = whole.predictor_sizes[row] <= 0.0 || row == whole.chain[whole.groups];
    });
    const Start first = start(whole, it, w, opening, openings);
    now.magnitude = first.magnitude;
    now.mu = first.mu;
    return now;
}

// Sum of one player's products, of which this thread adds its part, and how many there are; items count for less.
METRICFIT_FUNCTION Pair products(const Problem& problem, const Columns& columns, double total_weight) {
    const double* weight = problem.weight;
    const double items = own_sum(columns.used, problem.groups, [&](int a, int i) {
        const double inside = columns.inside[a][i] * columns.dual_inside[a][i];
        return weight[i] * (inside + columns.outside[a][i] * columns.dual_outside[a][i]);
    });
    const double masses = own_sum(1, columns.used, [&](int, int a) { return columns.mass[a] * columns.dual_mass[a]; });
    return {items + masses, columns.used * (2.0 * parameters::path::ITEM_SHARE * total_weight + 1.0)};
}

// Compute the duality gap, which is the sum of all complementary products, and how many there are.
METRICFIT_FUNCTION void measure(Progress& now, const Iterate& it) {
    const Problem& problem = now.problem;
    const int sets = problem.groups + 1;
    const double total_weight = sum(problem.groups, [&](int i) { return problem.weight[i]; });
    const Pair own = products(problem, it.adversary, total_weight), other = products(problem, it.predictor, total_weight);
    const double* ends = it.adversary.mass + MAX_COLUMNS;
    const double* dual_ends = it.adversary.dual_mass + MAX_COLUMNS;
    double gap = own.first + other.first;
    gap += own_sum(1, sets, [&](int, int j) { return it.chain_mass[j] * it.chain_slack[j]; });
    gap += own_sum(1, problem.constraints, [&](int, int c) { return it.multiplier[c] * it.multiplier_slack[c]; });
    now.gap = sum_of_all(gap) + ends[0] * dual_ends[0] + ends[1] * dual_ends[1];
    now.pairs = own.second + other.second + 2.0 + sets + problem.constraints;
}

// By how much the predictor's mixture satisfies constraint c.
METRICFIT_FUNCTION double constraint_slack(const Problem& problem, const Iterate& it, int c) {
    const double *gain = problem.gain[c], *offset = problem.offset[c], *chain_gain = problem.chain_gain[c];
    const Columns& predictor = it.predictor;
    const int* row = predictor.size_index;
    double slack = sum(problem.groups + 1, [&](int j) { return it.chain_mass[j] * chain_gain[j]; });
    slack += sum(predictor.used, [&](int a) { return predictor.mass[a] * offset[row[a]]; });
    return slack + sum(predictor.used, problem.groups, [&](int a, int i) {
        return gain[row[a]] * problem.weight[i] * problem.positive[i] * predictor.inside[a][i];
    });
}

// Price every size of both players, or at first only some. The strategies are made exact before.
METRICFIT_FUNCTION Look price(const Problem& whole, Progress& now, Room& room, Workspace& w, const Settings& settings, bool done) {
    using namespace parameters::solver;
    Iterate& it = room.iterate;
    const Problem& problem = now.problem;
    const int rows = problem.rows, columns = problem.columns;
    const double tolerance = settings.tolerance;
    const bool *member_k = it.predictor.member, *member_l = it.adversary.member;
    double *value_k = now.value_k, *spare_k = now.spare_k, *value_l = room.value_l;
    tidy(problem, it);
    const int stride = done || now.gap < LATE * tolerance ? 1 : larger(1, columns / COARSE_PARTS);
    const ChainResponse response =
        price_predictor(problem, it.adversary, w, it.multiplier, member_k, stride, INFINITY, value_k);
    price_adversary(whole, problem, it, w, room.grouping.blocks, stride, response.best, value_l);
    Look look;
    look.exact = stride == 1;
    look.inner_k = larger(response.best, maximum(rows, [=](int k) { return member_k[k] ? value_k[k] : -INFINITY; }));
    look.inner_l = -maximum(columns, [=](int l) { return member_l[l] ? -value_l[l] : -INFINITY; });
    if (look.inner_k - look.inner_l > TOO_FAR_APART * now.gap) {
        // At a feasible point they differ at most by the gap, so the steps were too inexact.
        now.left_aside *= LESS_ASIDE;
        now.changed = true;
    }
    const double unsolved = larger(look.inner_k - look.inner_l, 0.0);
    const double worth = WORTH_OF_UNSOLVED * unsolved + WORTH_OF_TOLERANCE * tolerance;
    look.needed_k = look.inner_k + worth;
    look.needed_l = -look.inner_l + worth;
    const int row = largest(value_k, rows);
    look.best_k = value_k[row];
    look.adversary = &it.adversary;
    if (look.best_k > look.inner_k + POOLED_FROM * tolerance) {
        pool(problem, it.adversary, w, row, room.pooled);
        // The means of items' gains have no larger sums: what was proved holds but for the scores.
        each(rows, [=](int k) { spare_k[k] = value_k[k]; });
        price_predictor(problem, room.pooled, w, it.multiplier, member_k, stride, response.score, spare_k);
        const double best = spare_k[largest(spare_k, rows)];
        if (best < look.best_k) {
            look.adversary = &room.pooled;
            look.best_k = best;
            if (best <= look.needed_k) {
                now.value_k = spare_k;
                now.spare_k = value_k;
            }
        }
    }
    each(columns, [=](int l) { value_l[l] = -value_l[l]; });
    return look;
}

// Keep the strategies of this look that prove better bounds than those before.
METRICFIT_FUNCTION void improve_bounds(Progress& now, Room& room, const Look& look, int items) {
    const Problem& problem = now.problem;
    const Iterate& it = room.iterate;
    Iterate& best = room.best;
    const int *blocks = room.grouping.blocks, groups = problem.groups;
    if (look.best_k < now.upper) {
        now.upper = look.best_k;
        keep_columns(best.adversary, *look.adversary, blocks, groups);
        each(problem.constraints, [&](int c) { best.multiplier[c] = it.multiplier[c]; });
    }
    double lower = -room.value_l[largest(room.value_l, problem.columns)];
    for (int c = 0; c < problem.constraints; ++c) {
        const double violation = larger(0.0, -constraint_slack(problem, it, c));
        lower -= violation * (1.0 + parameters::solver::PENALTY * it.multiplier[c]);
    }
    if (lower > now.lower) {
        now.lower = lower;
        keep_columns(best.predictor, it.predictor, blocks, groups);
        keep_chain(best.chain_mass, it.chain_mass, blocks, groups, items);
    }
}

// Take unused sizes out of play and add promising ones; then set when the next look is due.
METRICFIT_FUNCTION void grow(Progress& now, Room& room, Workspace& w, const Look& look, const Settings& settings) {
    using namespace parameters::solver;
    Iterate& it = room.iterate;
    Columns &adversary = it.adversary, &predictor = it.predictor;
    const Problem& problem = now.problem;
    const int rows = problem.rows, columns = problem.columns;
    double *value_k = now.value_k, *value_l = room.value_l;
    const double outer = look.best_k + value_l[largest(value_l, columns)];
    const double mass = smaller(MOST_MASS, MASS_PER_GAP * now.gap / now.magnitude);
    now.mu = now.gap / now.pairs;
    bool dropped = drop_columns(adversary, value_l, -look.inner_l, now.gap, problem.groups);
    dropped |= drop_columns(predictor, value_k, look.inner_k, now.gap, problem.groups);
    const bool late = now.gap < LATE * settings.tolerance;
    const int radius = larger(1, columns / (late ? RADIUS_PARTS_LATE : RADIUS_PARTS));
    const int radius_p = larger(1, columns / (late ? RADIUS_PARTS_LATE : RADIUS_PARTS_P));
    bool joined = false;
    for (int count = late ? JOINING_LATE : JOINING; count > 0; --count) {
        const int l = most_promising(value_l, adversary.member, columns, look.needed_l, radius);
        if (l < 0 || adversary.used == MAX_COLUMNS) break;
        const bool found_room = split_column(problem, it, w, l, now.mu, SPLIT_LEAST * mass, true);
        if (!found_room) add_adversary(problem, it, w, l, mass, now.mu);
        joined = true;
    }
    for (int count = late ? JOINING_LATE_P : JOINING_P; count > 0; --count) {
        const int k = most_promising(value_k, predictor.member, rows, look.needed_k, radius_p);
        if (k < 0 || predictor.used == MAX_COLUMNS) break;
        const bool found_room = split_column(problem, it, w, k, now.mu, SPLIT_LEAST_P * mass, false);
        if (!found_room) add_predictor(problem, it, w, k, mass, now.mu);
        joined = true;
    }
    now.aim = larger(HOLD_BACK * settings.tolerance, NEXT_AIM * now.gap);
    if (joined) now.aim = larger(now.aim, NEXT_AIM_OUTER * outer);
    now.unbalanced = joined;
    now.changed = now.changed || dropped || joined;
}

// Choose new groups if a step is expensive enough.
METRICFIT_FUNCTION void group(const Problem& whole, Progress& now, Room& room, Workspace& w) {
    const Iterate& it = room.iterate;
    const bool dear = it.adversary.used + it.predictor.used >= parameters::solver::GROUPED_FROM;
    if (now.problem.groups == whole.groups && !dear) return;
    if (!regroup(whole, now.problem, room.iterate, w, room.grouping, now.gap, now.unbalanced)) return;
    now.problem = on_groups(whole, room.grouping);
    now.unbalanced = now.changed = true;
}

// Take a Newton step. If it makes no progress, the next ones are more exact.
METRICFIT_FUNCTION void step(Progress& now, Room& room, Workspace& w, const Settings& settings) {
    using namespace parameters::solver;
    Iterate& it = room.iterate;
    ++now.iterations;
    if (++now.since_look == PATIENCE) {
        now.left_aside *= MORE_EXACT;
        now.since_look = 0;
        now.changed = true;
    }
    factorise(now.problem, it, w, settings.regularisation);
    now.broken = !newton_step(now.problem, it, w, now.gap / now.pairs, now.pairs);
}

// Solve the game on these groups and sizes until its bounds differ by the tolerance.
//
// The central path is followed while the linear program grows. `opening` lists rows of the tables that the predictor has in
// play from the start; under constraints they must make a feasible mixture possible.
METRICFIT_FUNCTION Outcome follow_path(const Problem& whole, Room& room, Workspace& w, const int* opening, int openings,
                           const Settings& settings) {
    Progress now = begin(whole, room, w, opening, openings);
    while (true) {
        evaluate(now.problem, room.iterate, w, now.changed, now.left_aside);
        now.changed = false;
        if (now.unbalanced) {
            restore(now.problem, room.iterate, w, now.mu);
            now.unbalanced = false;
            continue;
        }
        measure(now, room.iterate);
        if (!(0.0 <= now.gap && now.gap < parameters::path::HIGHEST_GAP)) break;
        const bool done = now.broken || now.iterations >= settings.max_iterations;
        if ((now.gap < now.aim || done) && !now.looked) {
            const Look look = price(whole, now, room, w, settings, done);
            if (look.exact) {
                improve_bounds(now, room, look, whole.groups);
                if (now.upper - now.lower <= settings.tolerance || done) break;
            }
            grow(now, room, w, look, settings);
            group(whole, now, room, w);
            now.looked = true;
            now.since_look = 0;
        } else {
            now.looked = false;
            step(now, room, w, settings);
        }
    }
    return {now.upper, now.lower, now.iterations};
}

}  // namespace metricfit::METRICFIT_TARGET
