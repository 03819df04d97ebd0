// A primal-dual interior point method whose linear program grows while it is being solved, one block to a game.
//
// The method is that of cpp/core/solver.hpp, without constraints and with every item on its own. Both bounds are exact
// best responses over all sizes, computed here: they are the certificate.

constexpr int ATTEMPTS = 3;
constexpr int COARSE_ABOVE = 64;  // with more items, sizes are priced coarsely until the gap is small

// What is wrong with a game that was not solved to the tolerance.
constexpr int SOLVED = 0, MISSED = 1, NOT_FINITE = 2;

// A centred first point: sizes near the number of positive scores, a uniform chain. Returns the magnitude of the
// game's numbers and mu.
DEVICE Pair start(Solver& s) {
    const int n = s.n, sets = n + 1, last = n;
    double top = 0.0, positive = 0.0;
    EACH(i, n) {
        top = larger(top, absolute(s.score[i]));
        if (s.score[i] > 0.0) positive += 1.0;
    }
    top = block_maximum(s.slots, top);
    const int middle = static_cast<int>(block_sum(s.slots, positive));
    const int first = larger(1, smaller(middle - 1, last - 3));
    const int final = smaller(last - 1, larger(middle + 1, 3));
    // Sets of one item are in the solution of most metrics whose denominator counts positives.
    const int columns = final - first + (first == 1 ? 1 : 2);
    const int typical = smaller(last, larger(1, smaller(last - 1, middle)));
    double steepest = 0.0;
    EACH(j, sets) steepest = larger(steepest, absolute(s.alpha_t[typical * sets + j]));
    steepest = block_maximum(s.slots, steepest);
    // The empty and the full set are rarely used, so that a large mass would put them far off the path.
    const double end = columns > 0 ? 0.02 : 0.5;
    const double mass = columns > 0 ? (1.0 - 2.0 * end) / columns : end;
    const double mu = (smaller(top, steepest) + 0.1 * steepest + 0.02 * top + 1e-12) * mass / n;

    EACH(j, sets) {
        s.chain_mass[j] = 1.0 / sets;
        s.chain_slack[j] = 0.0;
        s.adversary.member[j] = j == 0 || j == last;
        s.predictor.member[j] = j == 0 || j == last;
    }
    EACH(a, CAPACITY + 2) {
        s.adversary.mass[a] = s.adversary.dual_mass[a] = 0.0;
        s.predictor.mass[a] = s.predictor.dual_mass[a] = 0.0;
    }
    if (thread() == 0) {
        s.adversary.used = s.predictor.used = 0;
        s.level = s.value = 0.0;
    }
    barrier();
    if (first > 1) add_adversary(s, 1, mass, mu);
    for (int l = first; l <= final; ++l) add_adversary(s, l, mass, mu);
    // All columns were to have the same mass; each was diluted by those that came after it.
    Columns& adversary = s.adversary;
    EACH(x, columns * n) {
        const double scale = mass / adversary.mass[x / n];
        adversary.inside[x] *= scale;
        adversary.outside[x] *= scale;
        adversary.dual_inside[x] /= scale;
        adversary.dual_outside[x] /= scale;
    }
    barrier();
    EACH(b, columns) adversary.mass[b] = mass;
    EACH(b, 2) adversary.mass[CAPACITY + b] = end;
    barrier();
    return {top + steepest, mu};
}

// Best responses of both players to the current strategies, which are mixed into those that prove the bounds.
struct Prices {
    double inner_k, inner_l, needed_k;
    double* gains;  // the predictor's, against the better of the adversary and its average
};

DEVICE Prices judge(Solver& s, double tolerance, int stride) {
    const int n = s.n, sets = n + 1;
    price_predictor(s, s.adversary, stride, s.value_k);
    price_adversary(s, stride);
    double inner_k = chain_value(s);
    Pair inside = {-HUGE_VALUE, -HUGE_VALUE};
    EACH(x, sets) {
        if (s.predictor.member[x]) inside.first = larger(inside.first, s.value_k[x]);
        if (s.adversary.member[x]) inside.second = larger(inside.second, -s.value_l[x]);
    }
    inside = block_maxima(s.slots, inside.first, inside.second);
    inner_k = larger(inner_k, inside.first);
    const double inner_l = -inside.second;
    const double needed_k = inner_k + 0.1 * larger(inner_k - inner_l, 0.0) + 0.1 * tolerance;
    Prices prices = {inner_k, inner_l, needed_k, s.value_k};
    Pair best = largest(s, s.value_k);
    bool pooled = false;
    if (best.first > inner_k + 0.1 * tolerance) {
        pool(s, static_cast<int>(best.second));
        price_predictor(s, s.pooled, stride, s.value_pooled);
        const Pair average = largest(s, s.value_pooled);
        if (average.first < best.first) {
            pooled = true;
            best = average;
            if (best.first <= needed_k) prices.gains = s.value_pooled;
        }
    }
    if (stride > 1) return prices;
    const double *earned = pooled ? s.value_pooled : s.value_k, *paid = s.value_l;
    const bool none_yet = !(s.upper < HUGE_VALUE);
    blend(s, s.best_adversary, pooled ? s.pooled : s.adversary, s.kept_k, none_yet, [=](int k) { return earned[k]; });
    const double share = blend(s, s.best_predictor, s.predictor, s.kept_l, none_yet, [=](int l) { return -paid[l]; });
    EACH(j, sets) {
        s.best_chain[j] = share == 1.0 ? s.chain_mass[j] : s.best_chain[j] + share * (s.chain_mass[j] - s.best_chain[j]);
    }
    const double upper = largest(s, s.kept_k).first, lower = -largest(s, s.kept_l).first;
    if (thread() == 0) {
        s.upper = upper;
        s.lower = lower;
    }
    barrier();
    return prices;
}

// Bring the sizes into play that the prices recommend; false if there are none.
DEVICE bool grow(Solver& s, const Prices& prices, double tolerance, double mass, double mu) {
    const int radius = larger(1, (s.n + 1) / 24);
    const double inner = larger(prices.inner_k - prices.inner_l, 0.0);
    const double threshold = -(prices.inner_l - 0.05 * inner - 0.1 * tolerance);
    bool grown = false;
    for (int count = 0; count < 4 && s.adversary.used < CAPACITY; ++count) {
        const int l = most_promising(s, s.value_l, -1.0, s.adversary.member, threshold, radius);
        if (l < 0) break;
        if (!split_adversary(s, l, mu, 0.05 * mass)) add_adversary(s, l, mass, mu);
        grown = true;
    }
    for (int count = 0; count < 6 && s.predictor.used < CAPACITY; ++count) {
        const int k = most_promising(s, prices.gains, 1.0, s.predictor.member, prices.needed_k, radius);
        if (k < 0) break;
        add_predictor(s, k, mass, mu);
        grown = true;
    }
    return grown;
}

// Run the interior point method from its start; returns the number of Newton steps.
DEVICE int attempt(Solver& s, double tolerance, int most, double regularisation) {
    const Pair begun = start(s);
    const double magnitude = begun.first;
    double mu = begun.second, aim = 0.5;
    bool unbalanced = true, priced = false;
    int iterations = 0;
    while (true) {
        evaluate(s);
        if (unbalanced) {
            restore(s, mu);
            unbalanced = false;
            continue;
        }
        const Pair measure = complementarity(s);
        const double gap = measure.first, pairs = measure.second;
        if (!(gap >= 0.0 && gap < 1e15)) break;
        const bool done = iterations >= most;
        if ((gap < aim || done) && !priced) {
            tidy(s);
            const bool fine = done || s.n <= COARSE_ABOVE || gap < 20.0 * tolerance;
            const Prices prices = judge(s, tolerance, fine ? 1 : larger(1, (s.n + 1) / 40));
            if (fine && (done || s.upper - s.lower <= tolerance)) break;
            mu = gap / pairs;
            drop_columns(s.adversary, s.n, s.value_l, -1.0, prices.inner_l, gap);
            drop_columns(s.predictor, s.n, prices.gains, 1.0, prices.inner_k, gap);
            unbalanced = grow(s, prices, tolerance, smaller(0.1, 3.0 * gap / magnitude), mu);
            aim = larger(0.4 * tolerance, 0.7 * gap);
            priced = true;
            continue;
        }
        priced = false;
        ++iterations;
        if (!newton_step(s, gap / pairs, pairs, regularisation)) break;
    }
    barrier();
    return iterations;
}

// When everything else failed, both players pick the positive scores.
DEVICE void fall_back(Solver& s) {
    const int n = s.n;
    double positive = 0.0;
    EACH(i, n) positive += s.score[i] > 0.0 ? 1.0 : 0.0;
    const int size = static_cast<int>(block_sum(s.slots, positive));
    EACH(i, n) s.best_adversary.inside[i] = i < size ? 1.0 : 0.0;
    EACH(a, CAPACITY + 2) s.best_adversary.mass[a] = s.best_predictor.mass[a] = 0.0;
    EACH(j, n + 1) s.chain_mass[j] = s.best_chain[j] = j == size ? 1.0 : 0.0;
    EACH(j, n + 1) s.adversary.member[j] = 1;
    barrier();
    if (thread() == 0) {
        const bool whole = size == 0 || size == n;
        s.best_adversary.used = whole ? 0 : 1;
        s.best_adversary.size[0] = size;
        s.best_adversary.mass[size == 0 ? CAPACITY : size == n ? CAPACITY + 1 : 0] = 1.0;
        s.best_predictor.used = s.predictor.used = 0;
    }
    barrier();
    price_adversary(s, 1);
    double lowest = -HUGE_VALUE;
    EACH(l, n + 1) lowest = larger(lowest, -s.value_l[l]);
    lowest = block_maximum(s.slots, lowest);
    if (thread() == 0) s.lower = -lowest;
    barrier();
}

// Sort the scores, highest first, and cut them at the reach; false if one is not finite.
DEVICE bool sort_scores(Solver& s, const double* scores, double reach) {
    const int n = s.n;
    double broken = 0.0;
    EACH(i, n) broken += is_finite(scores[i]) ? 0.0 : 1.0;
    if (block_sum(s.slots, broken) > 0.0) return false;
    EACH(i, n) {
        const double own = scores[i];
        int rank = 0;
        for (int other = 0; other < n; ++other) {
            rank += scores[other] > own || (scores[other] == own && other < i);
        }
        s.order[rank] = i;
        s.score[rank] = larger(-reach, smaller(reach, own));
    }
    barrier();
    return true;
}

// The argument of the kernel. Metrics come as tables: alpha, beta and both transposed, each (n + 1)^2, one after the
// other. With targets, what the loss needs of each game is computed too.
struct Batch {
    const double* scores;  // all games, one after the other
    const double* targets;  // likewise, or null
    const double* best;  // (games, best_stride) the best value of the metric by the number of positives
    const long long* games;  // per game: where its scores begin, its items, where its tables are
    const double* reach;  // per game: no score beyond it makes a difference
    double *adversary, *predictor, *bounds;  // bounds: lower, upper
    double *losses, *slopes;  // per game and per item, of the loss in the scores
    int* report;  // status, Newton steps
    double* workspace;
    long long workspace_size;  // per block
    int count, most, best_stride;
    int quick_size;  // numbers in the quick memory of a block
    double tolerance;
};

// The loss of a game, best - value - <targets, scores>, and its slope, adversary - targets; both are NaN if a target is
// neither 0 nor 1. What was cut off a score belongs to an item whose slope is 0 or +-1.
DEVICE void lose(Solver& s, const Batch& batch, int game, long long at, double reach) {
    double total = 0.0, positives = 0.0;
    EACH(i, s.n) {
        const double target = batch.targets[at + i], score = batch.scores[at + i];
        const double cut = larger(-reach, smaller(reach, score));
        double slope = batch.adversary[at + i] - target;
        if (target * (target - 1.0) != 0.0) slope = undefined();
        total += slope * (score - cut) - target * cut;
        total += slope * 0.0;
        positives += target;
        batch.slopes[at + i] = slope;
    }
    const Pair sums = block_sums(s.slots, total, positives);
    if (thread() == 0) {
        double loss = undefined();
        if (is_finite(sums.first)) {
            const int index = static_cast<int>(sums.second);
            loss = larger(batch.best[game * batch.best_stride + index] - batch.bounds[2 * game + 1] + sums.first, 0.0);
        }
        batch.losses[game] = loss;
    }
    barrier();
}

// Solve one game. The bounds are those of the game with the scores cut at the reach; what was cut off belongs to
// items that the adversary surely includes, or surely does not, so it shifts both bounds alike.
DEVICE void solve_game(Solver& s, const Batch& batch, int game, long long at, double reach) {
    const int n = s.n;
    const double tolerance = batch.tolerance;
    double *adversary = batch.adversary + at, *predictor = batch.predictor + at, *bounds = batch.bounds + 2 * game;
    int* report = batch.report + 2 * game;
    if (!sort_scores(s, batch.scores + at, reach)) {
        if (rank() > 0) return;
        EACH(i, n) adversary[i] = predictor[i] = undefined();
        EACH(b, 2) bounds[b] = undefined();
        if (thread() == 0) {
            report[0] = NOT_FINITE;
            report[1] = 0;
        }
        barrier();
        return;
    }
    EACH(j, n + 1) s.ones[j] = 1.0;
    if (thread() == 0) {
        s.upper = HUGE_VALUE;
        s.lower = -HUGE_VALUE;
    }
    barrier();
    // The answer is polished to slightly less than is asked for, so that cleaning it up leaves room.
    const double target = 0.99 * tolerance;
    const double regularisation[ATTEMPTS] = {1e-6, 1e-8, 1e-4};
    int iterations = 0;
    for (int run = 0; run < ATTEMPTS && s.upper - s.lower > target; ++run) {
        iterations += attempt(s, target, run == 0 ? batch.most : 4 * batch.most, regularisation[run]);
    }
    if (!(s.upper < HUGE_VALUE && s.lower > -HUGE_VALUE)) fall_back(s);

    double above = 0.0, below = 0.0;
    EACH(i, n) {
        above += s.score[i] >= reach;
        below += s.score[i] <= -reach;
    }
    const Pair decided = block_sums(s.slots, above, below);
    settle(s, s.best_adversary, static_cast<int>(decided.first), static_cast<int>(decided.second));
    average_ties(s, s.best_adversary);
    price_predictor(s, s.best_adversary, 1, s.value_k);
    const double upper = largest(s, s.value_k).first;
    if (rank() > 0) return;
    const Columns &winner = s.best_adversary, &other = s.best_predictor;
    EACH(i, n) {
        double included = winner.mass[CAPACITY + 1];
        for (int b = 0; b < winner.used; ++b) included += winner.inside[b * n + i];
        // The masses sum to 1 but for rounding.
        adversary[s.order[i]] = absolute(included - 1.0) < 1e-14 ? 1.0 : included;
    }
    EACH(i, n) {
        double included = 0.0;
        for (int j = i + 1; j <= n; ++j) included += s.best_chain[j];
        for (int a = 0; a < other.used; ++a) included += other.inside[a * n + i];
        predictor[s.order[i]] = included;
    }
    if (thread() == 0) {
        bounds[0] = s.lower;
        bounds[1] = upper;
        report[0] = upper - s.lower <= tolerance ? SOLVED : MISSED;
        report[1] = iterations;
    }
    barrier();
}

// The near memory of a block: its Solver, then what take_memory lays out, then room.
constexpr int SOLVER_SIZE = (sizeof(Solver) + 2 * sizeof(double) - 1) / (2 * sizeof(double)) * 2;

DEVICE void solve_batch(const Batch& batch, int block, int blocks) {
    Solver& s = *reinterpret_cast<Solver*>(quick);
    for (int game = block / team(); game < batch.count; game += blocks / team()) {
        const long long* about = batch.games + 3 * game;
        const int n = static_cast<int>(about[1]);
        if (thread() == 0) {
            Arena near = {quick, SOLVER_SIZE}, far = {batch.workspace + block * batch.workspace_size, 0};
            take_memory(near, far, s, n);
            share_items(s, batch.workspace_size);
            s.room = static_cast<int>(near.used);
            s.room_size = batch.quick_size - static_cast<int>(near.used);
            const double* tables = reinterpret_cast<const double*>(about[2]);
            const int cells = (n + 1) * (n + 1);
            s.alpha = tables;
            s.beta = tables + cells;
            s.alpha_t = tables + 2 * cells;
            s.beta_t = tables + 3 * cells;
        }
        barrier();
        solve_game(s, batch, game, about[0], batch.reach[game]);
        if (batch.targets && rank() == 0) lose(s, batch, game, about[0], batch.reach[game]);
        team_barrier();  // no block leaves while the other may look into its memory
    }
}

#ifdef __CUDACC__
extern "C" __global__ void __launch_bounds__(MOST_WARPS * LANES) solve_games(Batch batch) {
    solve_batch(batch, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x));
}
#endif
