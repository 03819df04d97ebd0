// What a block works on: the game, the current point of the interior point method, and work space.
//
// Items come in the order of their scores, highest first. The chain are the n + 1 sets of the first 0, 1, ..., n
// items. Each player has some sizes in play as columns; the adversary also has the empty and the full set.

// Marginals of one player for the sizes in play, with their dual variables. Column a has probability mass[a];
// in inside[a * n + i] of it item i is in the set, in outside = mass - inside it is not.
struct Columns {
    double *inside, *outside, *dual_inside, *dual_outside;  // (CAPACITY, n)
    double *mass, *dual_mass;  // (CAPACITY + 2); the adversary keeps the empty and the full set in the last two
    double* price;  // (CAPACITY) multiplier of sum(inside) = size * mass
    int* size;  // (CAPACITY)
    int* member;  // (n + 1) is this size in play
    int used;  // number of columns in play
};

// The right-hand sides of the complementarity equations of one player, and the step of its marginals.
struct Targets {
    double *inside, *outside, *mass, *step;
};

struct Solver {
    int n;
    const double *alpha, *beta;  // (n + 1, n + 1): predictor size by adversary size
    const double *alpha_t, *beta_t;  // transposed
    double* score;  // (n)

    Columns adversary, predictor;
    double *chain_mass, *chain_slack;  // (n + 1) probability of each set; how far it falls short of the value
    double level, value;  // multiplier of sum of the adversary's masses = 1, and the value of the game

    Columns best_adversary, best_predictor;
    double* best_chain;
    double upper, lower;

    Pair* slots;
    double *covariance, *product;  // (CAPACITY, CAPACITY), (2, CAPACITY)
    double* border;  // (m, m)
    double *near_border, *far_border;  // memory for it: quick, if it is small enough, or large
    int near_size;

    double* chain_alpha;  // (n + 1, padded columns) alpha of each set against each column, then zeros
    double *cross, *cross_t;  // (predictor, adversary) alpha between the columns of both, and transposed
    double *curvature_out, *predictor_out;  // (columns, n)
    double* predictor_inverse;  // (predictor, n)
    double* inverse;  // (n, adversary, adversary) the inverse of each item's block
    double* mixed;  // (n, predictor, adversary)
    double* left;  // (n, predictor, predictor) what remains between the predictor's marginals of each item
    double* pivots;  // (n, adversary + 1)
    double *kalman_gain, *precision;  // (n + 1, padded), (n + 1) gains and inverse variances of the filter
    double *noise, *rhs_chain;  // (n + 1) variances that the chain adds; its right-hand side
    double* innovation;  // (n + 1, m)
    double *scale, *next_scale, *pivot_inverse;  // (m)
    int *pivot_row, *rank;  // (m)
    double *step, *border_sum;  // (m)
    double* step_chain;  // (n + 1)
    double *rhs_item, *own, *rhs_predictor, *along;  // (columns, n)
    double *running;  // (adversary, n + 1)
    double *residual_item, *residual_predictor, *residual_chain, *residual_border;
    double *sum_outside, *sum_inside, *sum_beta;  // (2 CAPACITY + 4) sums along the items and the chain
    Targets goal, goal_predictor;
    double* goal_chain;
    double *cost, *share;  // (n)
    double* grid;  // (n, n + 1) every item's value in every size
    double *value_k, *value_l, *value_pooled;  // (n + 1)
    Columns pooled;
    int *first, *order;  // (n + 1), (n)
    int pools;
    double *pool_level, *pool_weight;  // (n)
};

// Hands out memory; with a null base it only counts.
struct Arena {
    double* base;
    long long used;
    INLINE_MEMBER double* take(long long count) {
        double* result = base ? base + used : nullptr;
        used += count;
        return result;
    }
    INLINE_MEMBER int* take_ints(long long count) { return reinterpret_cast<int*>(take((count + 1) / 2)); }
};

DEVICE void take_strategy(Arena& arena, Columns& columns, int n) {
    columns.inside = arena.take(CAPACITY * n);
    columns.mass = arena.take(CAPACITY + 2);
    columns.size = arena.take_ints(CAPACITY);
    columns.used = 0;
}

DEVICE void take_columns(Arena& arena, Columns& columns, int n) {
    take_strategy(arena, columns, n);
    columns.outside = arena.take(CAPACITY * n);
    columns.dual_inside = arena.take(CAPACITY * n);
    columns.dual_outside = arena.take(CAPACITY * n);
    columns.dual_mass = arena.take(CAPACITY + 2);
    columns.price = arena.take(CAPACITY);
    columns.member = arena.take_ints(n + 1);
}

DEVICE void take_targets(Arena& arena, Targets& targets, int n) {
    targets.inside = arena.take(CAPACITY * n);
    targets.outside = arena.take(CAPACITY * n);
    targets.mass = arena.take(CAPACITY + 2);
    targets.step = arena.take(CAPACITY * n);
}

constexpr int LARGEST_BORDER = 4 * CAPACITY + 4;

// Lay the work space of a game of n items out; called by one thread.
DEVICE void take_workspace(Arena& arena, Solver& s, int n) {
    const int wide = CAPACITY * n, sets = n + 1, m = LARGEST_BORDER;
    s.n = n;
    s.score = arena.take(n);
    take_columns(arena, s.adversary, n);
    take_columns(arena, s.predictor, n);
    take_strategy(arena, s.best_adversary, n);
    take_strategy(arena, s.best_predictor, n);
    take_strategy(arena, s.pooled, n);
    s.chain_mass = arena.take(sets);
    s.chain_slack = arena.take(sets);
    s.best_chain = arena.take(sets);
    s.far_border = arena.take(m * m);
    s.chain_alpha = arena.take(CAPACITY * sets);
    s.cross = arena.take(CAPACITY * CAPACITY);
    s.cross_t = arena.take(CAPACITY * CAPACITY);
    s.curvature_out = arena.take(wide);
    s.predictor_out = arena.take(wide);
    s.predictor_inverse = arena.take(wide);
    s.inverse = arena.take(CAPACITY * wide);
    s.mixed = arena.take(CAPACITY * wide);
    s.left = arena.take(CAPACITY * wide);
    s.pivots = arena.take((CAPACITY + 1) * n);
    s.kalman_gain = arena.take(CAPACITY * sets);
    s.precision = arena.take(sets);
    s.noise = arena.take(sets);
    s.rhs_chain = arena.take(sets);
    s.innovation = arena.take(m * sets);
    s.scale = arena.take(m);
    s.next_scale = arena.take(m);
    s.pivot_inverse = arena.take(m);
    s.pivot_row = arena.take_ints(m);
    s.rank = arena.take_ints(m);
    s.step = arena.take(m);
    s.border_sum = arena.take(m);
    s.step_chain = arena.take(sets);
    s.rhs_item = arena.take(wide);
    s.own = arena.take(wide);
    s.rhs_predictor = arena.take(wide);
    s.along = arena.take(wide);
    s.running = arena.take(CAPACITY * sets);
    s.residual_item = arena.take(wide);
    s.residual_predictor = arena.take(wide);
    s.residual_chain = arena.take(sets);
    s.residual_border = arena.take(m);
    s.sum_outside = arena.take(m);
    s.sum_inside = arena.take(m);
    s.sum_beta = arena.take(m);
    take_targets(arena, s.goal, n);
    take_targets(arena, s.goal_predictor, n);
    s.goal_chain = arena.take(sets);
    s.cost = arena.take(n);
    s.share = arena.take(n);
    s.grid = arena.take(static_cast<long long>(n) * sets);
    s.value_k = arena.take(sets);
    s.value_l = arena.take(sets);
    s.value_pooled = arena.take(sets);
    s.first = arena.take_ints(sets);
    s.order = arena.take_ints(n);
    s.pool_level = arena.take(n);
    s.pool_weight = arena.take(n);
}

// Where the parts of the border begin: predictor masses (f), adversary prices (q), adversary masses (q + 2),
// predictor prices (f), the two levels.
struct Border {
    int q, f, prices, masses, prices_p, levels, m;
};

INLINE Border border_of(const Solver& s) {
    const int q = s.adversary.used, f = s.predictor.used;
    return {q, f, f, f + q, f + 2 * q + 2, 2 * f + 2 * q + 2, 2 * f + 2 * q + 4};
}

// Columns are padded to one of four widths, so that loops over them can be unrolled.
INLINE int padded(int q) { return q <= 8 ? 8 : q <= 16 ? 16 : q <= 24 ? 24 : CAPACITY; }

// Call a template with the width of the columns.
#define BY_WIDTH(width, function, ...)                    \
    do {                                                  \
        if ((width) == 8) function<8>(__VA_ARGS__);       \
        else if ((width) == 16) function<16>(__VA_ARGS__); \
        else if ((width) == 24) function<24>(__VA_ARGS__); \
        else function<CAPACITY>(__VA_ARGS__);             \
    } while (false)
