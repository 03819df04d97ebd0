// Games on a GPU: a block of threads solves one game after the other, by the algorithm of core/solver.hpp.
//
// Both bounds that leave the device are exact best responses over all sizes, computed at the end from the strategies that
// are returned: they are the certificate.
#pragma once

#include "core/memory.hpp"
#include "core/solver.hpp"

namespace metricfit::METRICFIT_TARGET {

// What became of a game.
constexpr int SOLVED = 0, MISSED = 1, NOT_FINITE = 2, INFEASIBLE = 3;

// The argument of the kernel; metricfit.solving.device.batch has the same structure.
//
// Tables are alpha, beta and both transposed, each (n + 1, n + 1), one after the other. Limits are one row for each number of
// positives: how many sizes the predictor opens with (-1 if the constraints cannot be met), up to MOST_OPENINGS of these
// sizes; of the predictor that meets the constraints by the widest margin the probability of a negative and of a positive
// item, and the slacks (C); gain (C, n + 1) and offset (C, n + 1).
struct Batch {
    const double* scores;        // all games, one after the other
    const double* targets;       // likewise 0 or 1; only read under constraints
    const long long* games;      // (count, 4) where the scores of each begin, its items, where its tables and limits are
    const double* reach;         // (count, 2) no score beyond it makes a difference; and the least value of the metric
    double *adversary, *predictor;  // inclusion probabilities, like the scores
    double* bounds;              // (count, 2) lower and upper bound with the scores cut at the reach
    double* multipliers;         // (count, C)
    int* report;                 // (count, 2) what became of each, and the Newton steps
    unsigned char* workspace;
    long long workspace_size;    // bytes of each block
    int count, constraints, max_iterations;
    double tolerance;
};
constexpr double SLACK_TOLERANCE = 5e-10;  // by which a predictor may miss a constraint, for rounding
constexpr int MOST_OPENINGS = 8;
constexpr int TEAMS = 8;       // of a block's threads; the host lays out as many, since it counts the memory
constexpr int MOST_RANK = 16;  // factors of alpha: an item takes memory like their square

// What a block works on, in shared memory. Numbers in it are written by one thread.
struct Block {
    Problem problem;
    Room room;
    Workspace w;
    double *score, *weight, *positive, *sizes;  // (n), (n), (n), (n + 1) in the order of falling scores
    int *order, *chain;                         // (n), (n + 1)
    Matrix chain_gain;                          // (C, n + 1)
    int opening[MOST_OPENINGS], openings;
    const double *safe, *safe_slack;            // (2), (C)
    double upper, lower;                        // proved by what has been written down
};

METRICFIT_INLINE Shape shape_of(int n, int constraints) { return {n, constraints, n + 1, n + 1}; }

// Lays a game out; without a base it only counts. Called by one thread.
METRICFIT_FUNCTION void lay_out(Arena& arena, Block& b, int n, int constraints) {
    const Shape shape = shape_of(n, constraints);
    b.room = lay_out_room(arena, shape);
    b.w = lay_out_workspace(arena, shape, whole_eights(n), MOST_RANK, TEAMS);
    b.score = arena.take<double>(n);
    b.weight = arena.take<double>(n);
    b.positive = arena.take<double>(n);
    b.sizes = arena.take<double>(n + 1);
    b.order = arena.take<int>(n);
    b.chain = arena.take<int>(n + 1);
    b.chain_gain = arena.matrix(constraints, n + 1);
}

METRICFIT_FUNCTION void set_up(Block& b, const Batch& batch, int game, unsigned char* memory) {
    once([&] {
        const int n = static_cast<int>(batch.games[4 * game + 1]), sizes = n + 1;
        const auto* tables = reinterpret_cast<const double*>(batch.games[4 * game + 2]);
        const long long cells = static_cast<long long>(sizes) * sizes;
        Arena arena(memory);
        lay_out(arena, b, n, batch.constraints);
        Problem& p = b.problem;
        p.groups = n;
        p.rows = p.columns = sizes;
        p.constraints = batch.constraints;
        p.alpha = {tables, sizes};
        p.beta = {tables + cells, sizes};
        p.alpha_t = {tables + 2 * cells, sizes};
        p.beta_t = {tables + 3 * cells, sizes};
        p.predictor_sizes = p.adversary_sizes = b.sizes;
        p.weight = b.weight;
        p.score = b.score;
        p.positive = b.positive;
        p.chain = b.chain;
        p.chain_gain = {b.chain_gain.data, b.chain_gain.stride};
        b.openings = 0;
        b.upper = INFINITY;
        b.lower = -INFINITY;
    });
}

METRICFIT_INLINE bool is_finite(double x) { return x - x == 0.0; }

// Sorts the items by falling scores and cuts these at the reach; false if one is not finite, or a target that
// constraints need is neither 0 nor 1.
METRICFIT_FUNCTION bool sort_items(Block& b, const Batch& batch, long long start, double reach) {
    const int n = b.problem.groups;
    const double* scores = batch.scores + start;
    const double* targets = batch.constraints > 0 ? batch.targets + start : nullptr;
    const double unusable = sum(n, [=](int i) {
        const bool usable = is_finite(scores[i]) && (!targets || targets[i] == 0.0 || targets[i] == 1.0);
        return usable ? 0.0 : 1.0;
    });
    if (unusable > 0.0) return false;
    each(n, [&](int i) {
        const double own = scores[i];
        int rank = 0;
        for (int other = 0; other < n; ++other) rank += scores[other] > own || (scores[other] == own && other < i);
        b.order[rank] = i;
        b.score[rank] = larger(-reach, smaller(reach, own));
        b.weight[rank] = 1.0;
        b.positive[rank] = targets ? targets[i] : 0.0;
    });
    each(n + 1, [&](int j) {
        b.sizes[j] = j;
        b.chain[j] = j;
    });
    return true;
}

// Looks up the constraints for the number of positives; false if they cannot be met.
METRICFIT_FUNCTION bool find_limits(Block& b, const Batch& batch, int game) {
    const int n = b.problem.groups, constraints = batch.constraints;
    if (constraints == 0) return true;
    const int positives = static_cast<int>(sum(n, [&](int i) { return b.positive[i]; }));
    const long long length = 3 + MOST_OPENINGS + constraints + 2LL * constraints * (n + 1);
    const double* row = reinterpret_cast<const double*>(batch.games[4 * game + 3]) + positives * length;
    if (row[0] < 0.0) return false;
    once([&] {
        b.openings = static_cast<int>(row[0]);
        for (int x = 0; x < b.openings; ++x) b.opening[x] = static_cast<int>(row[1 + x]);
        b.safe = row + 1 + MOST_OPENINGS;
        b.safe_slack = b.safe + 2;
        const double* gain = b.safe_slack + constraints;
        b.problem.gain = {gain, n + 1};
        b.problem.offset = {gain + static_cast<long long>(constraints) * (n + 1), n + 1};
    });
    for (int c = 0; c < constraints; ++c) {
        const double *gain = b.problem.gain[c], *offset = b.problem.offset[c];
        double* target = b.chain_gain[c];
        once([=] { target[0] = offset[0]; });
        running(n, [&](int i) { return b.positive[i]; },
                [=](int i, double hits) { target[i + 1] = gain[i + 1] * hits + offset[i + 1]; });
    }
    return true;
}

// Gives the adversary every item whose score is at the reach, and none at minus the reach; see settle in mixtures.hpp.
METRICFIT_FUNCTION void settle(const Problem& problem, Columns& columns, double reach) {
    const int n = problem.groups, used = columns.used;
    const double* score = problem.score;
    const int taken = static_cast<int>(sum(n, [=](int i) { return score[i] >= reach ? 1.0 : 0.0; }));
    const int open = n - taken - static_cast<int>(sum(n, [=](int i) { return score[i] <= -reach ? 1.0 : 0.0; }));
    if (open == n) return;
    const auto possible = [=](int size) { return 0 <= size - taken && size - taken <= open; };
    const auto weight_of = [&](int a) {
        const int size = a < used ? columns.size_index[a] : a == used ? 0 : n;
        return possible(size) ? columns.mass[a < used ? a : MAX_COLUMNS + a - used] : 0.0;
    };
    const double total = sum(used + 2, weight_of);
    if (!(total > 0.0)) return;
    each(used, [&](int a) {
        const double mass = columns.mass[a], rest = columns.size_index[a] - taken;
        double* inside = columns.inside[a];
        const double scale = possible(columns.size_index[a]) && mass > 0.0 ? 1.0 / mass : 0.0;
        double filled = 0.0;
        for (int i = 0; i < n; ++i) filled += score[i] < reach && score[i] > -reach ? inside[i] * scale : 0.0;
        for (int i = 0; i < n; ++i) {
            double share = inside[i] * scale;
            if (score[i] >= reach || score[i] <= -reach) {
                share = score[i] > 0.0 ? 1.0 : 0.0;
            } else if (rest >= filled) {
                share += (1.0 - share) * ((rest - filled) / larger(open - filled, 1e-300));
            } else {
                share *= rest / filled;
            }
            inside[i] = scale > 0.0 ? share * mass / total : 0.0;
        }
        columns.mass[a] = scale > 0.0 ? mass / total : 0.0;
    });
    each(2, [&](int e) {
        double& mass = columns.mass[MAX_COLUMNS + e];
        mass = possible(e == 0 ? 0 : n) ? mass / total : 0.0;
    });
}

// Gives items of equal score, and equal label, the mean of their numbers.
METRICFIT_FUNCTION void average_ties(const Problem& problem, double* row, double* scratch) {
    const int n = problem.groups;
    const double *score = problem.score, *positive = problem.positive;
    each(n, [=](int i) {
        double total = 0.0;
        int count = 0, first = i;
        while (first > 0 && score[first - 1] == score[i]) --first;
        for (int other = first; other < n && score[other] == score[i]; ++other) {
            if (positive[other] != positive[i]) continue;
            total += row[other];
            ++count;
        }
        scratch[i] = total / count;
    });
    each(n, [=](int i) { row[i] = scratch[i]; });
}

// What the strategies in room.best prove, and writes them down if that is better than what is known.
METRICFIT_FUNCTION void certify(Block& b, const Batch& batch, int game, long long start, double reach) {
    const Problem& problem = b.problem;
    Iterate& best = b.room.best;
    const int n = problem.groups, constraints = problem.constraints;
    settle(problem, best.adversary, reach);
    // The game does not change when items that are alike are swapped, so by convexity a strategy that treats them alike
    // guarantees at least as much.
    for (int a = 0; a < best.adversary.used; ++a) average_ties(problem, best.adversary.inside[a], b.w.scratch[3]);
    double* value_k = b.room.value_k;
    double* value_l = b.room.value_l;
    const ChainResponse response = price_predictor(problem, best.adversary, b.w, best.multiplier,
                                                   b.room.iterate.predictor.member, 1, INFINITY, value_k);
    const double upper = larger(response.best, maximum(n + 1, [=](int k) { return value_k[k]; }));
    each(n + 1, [&](int g) { b.room.grouping.blocks[g] = g; });
    price_adversary(problem, problem, best, b.w, b.room.grouping.blocks, 1, INFINITY, value_l);
    double lower = -maximum(n + 1, [=](int l) { return -value_l[l]; });
    // A predictor that misses a constraint is mixed with one that meets all of them by the widest margin, whose payoff is at
    // least the least payoff there is.
    double share = 0.0;
    for (int c = 0; c < constraints; ++c) {
        const double slack = constraint_slack(problem, best, c);
        if (slack < -SLACK_TOLERANCE) share = larger(share, slack / (slack - b.safe_slack[c]));
    }
    if (share > 0.0) {
        const double chosen = sum(n, [&](int i) { return larger(problem.score[i], 0.0); });
        lower = share < 1.0 ? (1.0 - share) * lower + share * (batch.reach[2 * game + 1] - chosen) : -INFINITY;
    }
    const bool better = upper - lower < b.upper - b.lower || !(b.upper < INFINITY);
    if (!better) return;
    double *own = b.w.scratch[4], *other = b.w.scratch[5];
    each(n, [&](int i) {
        double inside = best.adversary.mass[MAX_COLUMNS + 1], chosen = 0.0;
        for (int a = 0; a < best.adversary.used; ++a) inside += best.adversary.inside[a][i];
        for (int a = 0; a < best.predictor.used; ++a) chosen += best.predictor.inside[a][i];
        for (int j = i + 1; j <= n; ++j) chosen += best.chain_mass[j];
        if (share > 0.0) chosen += share * (b.safe[static_cast<int>(problem.positive[i])] - chosen);
        // Masses sum to 1 but for rounding.
        own[i] = std::fabs(inside - 1.0) < 1e-14 ? 1.0 : inside;
        other[i] = smaller(chosen, 1.0);
    });
    average_ties(problem, other, b.w.scratch[3]);
    each(n, [&](int i) {
        batch.adversary[start + b.order[i]] = own[i];
        batch.predictor[start + b.order[i]] = other[i];
    });
    each(constraints, [&](int c) { batch.multipliers[game * constraints + c] = best.multiplier[c]; });
    once([&] {
        b.upper = upper;
        b.lower = lower;
    });
}

METRICFIT_FUNCTION void give_up(Block& b, const Batch& batch, int game, long long start, int why) {
    const double undefined = INFINITY - INFINITY;
    each(b.problem.groups, [&](int i) { batch.adversary[start + i] = batch.predictor[start + i] = undefined; });
    once([&] {
        batch.bounds[2 * game] = batch.bounds[2 * game + 1] = undefined;
        batch.report[2 * game] = why;
        batch.report[2 * game + 1] = 0;
    });
}

METRICFIT_FUNCTION void solve_game(Block& b, const Batch& batch, int game, unsigned char* memory) {
    using namespace parameters::attempts;
    const long long start = batch.games[4 * game];
    const double reach = batch.reach[2 * game];
    set_up(b, batch, game, memory);
    if (!sort_items(b, batch, start, reach)) {
        give_up(b, batch, game, start, NOT_FINITE);
        return;
    }
    if (!find_limits(b, batch, game)) {
        give_up(b, batch, game, start, INFEASIBLE);
        return;
    }
    int iterations = 0;
    for (int attempt = 0; attempt < COUNT && !(b.upper - b.lower <= batch.tolerance); ++attempt) {
        const Settings settings = {target(attempt) * batch.tolerance, patience(attempt) * batch.max_iterations,
                                   regularisation(attempt)};
        const Outcome outcome = follow_path(b.problem, b.room, b.w, b.opening, b.openings, settings);
        iterations += outcome.iterations;
        // Without one exact look there are no strategies to certify.
        if (outcome.upper < INFINITY) certify(b, batch, game, start, reach);
    }
    if (!(b.upper < INFINITY)) {
        give_up(b, batch, game, start, MISSED);
        return;
    }
    once([&] {
        batch.bounds[2 * game] = b.lower;
        batch.bounds[2 * game + 1] = b.upper;
        batch.report[2 * game] = b.upper - b.lower <= batch.tolerance ? SOLVED : MISSED;
        batch.report[2 * game + 1] = iterations;
    });
}

// The games of one block.
METRICFIT_FUNCTION void solve_batch(Block& b, const Batch& batch, int block, int blocks) {
    unsigned char* memory = batch.workspace + block * batch.workspace_size;
    for (int game = block; game < batch.count; game += blocks) solve_game(b, batch, game, memory);
}

}  // namespace metricfit::METRICFIT_TARGET
