// What a block works on: the game, the current point of the interior point method, and work space.
//
// Items come in the order of their scores, highest first. The chain are the n + 1 sets of the first 0, 1, ..., n
// items. Each player has some sizes in play as columns; the adversary also has the empty and the full set.
//
// Memory is of two kinds: near, which is quick and small (shared memory), and far. What is read one after the
// other lies near; large arrays are far unless there is room (place_chain, place_border).

// Where the path is followed to, complementary products of items are this share of all others, as in
// metricfit/solving/fast/state.py.
constexpr double ITEM_SHARE = 0.3;

// Marginals of one player for the sizes in play, with their dual variables. Column a has probability mass[a];
// in inside[a * n + i] of it item i is in the set, in outside = mass - inside it is not.
struct Columns {
    double *inside, *outside, *dual_inside, *dual_outside;  // (CAPACITY, n)
    int* member;  // (n + 1) is this size in play
    double mass[CAPACITY + 2], dual_mass[CAPACITY + 2];  // the adversary keeps the empty and the full set in the end
    double price[CAPACITY];  // multiplier of sum(inside) = size * mass
    int size[CAPACITY];
    int used;  // number of columns in play
};

// The right-hand sides of the complementarity equations of one player, and the step of its marginals.
struct Targets {
    double *inside, *outside, *step;
    double mass[CAPACITY + 2];
};

constexpr int LARGEST_BORDER = 4 * CAPACITY + 4;
constexpr int CROSS_PITCH = CAPACITY + 4;  // tiles are read from it without conflicts between banks
constexpr int PANEL = 16;  // sets of the chain that are filtered together
constexpr int NEAR_ITEMS = 256;  // all vectors along the items lie near up to this many

// Items from begin up to end.
struct Range {
    int begin, end;
};

struct Solver {
    int n;
    const double *alpha, *beta;  // (n + 1, n + 1): predictor size by adversary size
    const double *alpha_t, *beta_t;  // transposed
    double* score;  // (n)

    Columns adversary, predictor;
    double *chain_mass, *chain_slack;  // (n + 1) probability of each set; how far it falls short of the value
    Range mine;  // the items that are this block's share of the work
    unsigned per_item;  // 2^31 over their number, see own_place
    long long away;  // from a number in far memory to the same of the other block; 0 if this one plays alone
    double level, value;  // multiplier of sum of the adversary's masses = 1, and the value of the game

    Columns best_adversary, best_predictor;
    double* best_chain;
    double *kept_k, *kept_l;  // (n + 1) bounds of what these lose to each size of the other
    double upper, lower;
    int source[CAPACITY], is_new[CAPACITY];  // columns of a strategy that is mixed into them

    Pair slots[MOST_WARPS], team_slots[2 * MOST_WARPS];
    double shares[2][LARGEST_BORDER];  // of either block in the right-hand side of the border
    unsigned proposals[2][MOST_WARPS];
    double product[2 * CAPACITY];  // what a warp tells its lanes about the chain
    double vectors[MOST_WARPS][LARGEST_BORDER];  // what each warp tells its lanes, or the others
    double cross[CAPACITY * CROSS_PITCH];  // (predictor, CROSS_PITCH) alpha between the columns of both, then zeros
    double scale[LARGEST_BORDER], next_scale[LARGEST_BORDER], pivot_inverse[LARGEST_BORDER];
    int pivot_row[LARGEST_BORDER], rank[LARGEST_BORDER];
    double step[LARGEST_BORDER], residual_border[LARGEST_BORDER];
    double sum_outside[LARGEST_BORDER], sum_inside[LARGEST_BORDER], sum_beta[LARGEST_BORDER];

    // Places in near memory, as distances from its beginning.
    int noise, precision, step_chain;  // (n + 1) what the chain adds to variances; their inverses; the chain's step
    int carried;  // (panels, CAPACITY) what the sets of a panel add to the state; then the state before it
    int room, room_size;  // for the chain, then for the border or for the warps
    int scratch, scratch_size;  // memory of each warp for itself
    int state, observed, panel;  // (q, m), (PANEL, m), (PANEL, PANEL): the filter's state, observations, covariances
    int curvatures;  // (PANEL, q + f) of a panel's items

    int pitch;  // from one set of the chain to the next in chain_alpha, and in the gains of the filter behind it
    int chain_at, border_at;  // where these are in near memory, or -1 if they are far
    double *far_chain, *far_border, *far_innovation;
    double* chain_alpha;  // (n + 1, pitch) alpha of each set against each column, then zeros; behind it the gains
    double* innovation;  // (n + 1, m)
    double* border;  // (m, m | 1)
    double* rhs_chain;  // (n + 1) right-hand side
    double* added;  // (panels, q, m) what the items of a panel add to the filter's state
    double *coupling, *coupling_t;  // (panels, PANEL, PANEL) inverses of the factors of the panels, and transposed
    double* answered;  // (panels, PANEL, adversary) these inverses times alpha
    double *passing, *passing_t;  // (panels, adversary, adversary) what a panel makes of the state, and transposed
    double* ones;  // (n + 1)
    double *curvature, *curvature_out, *predictor_out, *predictor_inverse;  // (columns, n) diagonals D and E
    double *curvature_out_t, *predictor_out_t;  // (n, columns)
    double* inverse;  // (n, adversary, adversary) the inverse of each item's block
    double* mixed;  // (n, adversary, predictor)
    double* left;  // (n, predictor, predictor) what remains between the predictor's marginals of each item
    double *rhs_item, *own, *rhs_predictor, *along;  // (columns, n)
    double *running;  // (adversary, n + 1)
    double *residual_item, *residual_predictor, *residual_chain;
    Targets goal, goal_predictor;
    double* goal_chain;
    Targets other_goal, other_goal_predictor;  // the direction before the last, or the next one's targets
    double *other_goal_chain, other_step[LARGEST_BORDER];
    int other_step_chain;
    double *cost, *share;  // (n)
    double *value_k, *value_l, *value_pooled;  // (n + 1)
    Columns pooled;
    int *first, *order;  // (n + 1), (n)
    int pools;
    double *pool_level, *pool_weight;  // (n)
};

// Hands out memory, an even number of numbers each time; with a null base it only counts.
struct Arena {
    double* base;
    long long used;
    INLINE_MEMBER double* take(long long count) {
        double* result = base ? base + used : nullptr;
        used += (count + 1) / 2 * 2;
        return result;
    }
    INLINE_MEMBER int place(long long count) {
        take(count);
        return static_cast<int>(used - (count + 1) / 2 * 2);
    }
    INLINE_MEMBER int* take_ints(long long count) { return reinterpret_cast<int*>(take((count + 1) / 2)); }
};

DEVICE void take_strategy(Arena& far, Columns& columns, int n) {
    columns.inside = far.take(CAPACITY * n);
    columns.used = 0;
}

DEVICE void take_columns(Arena& far, Columns& columns, int n) {
    take_strategy(far, columns, n);
    columns.outside = far.take(CAPACITY * n);
    columns.dual_inside = far.take(CAPACITY * n);
    columns.dual_outside = far.take(CAPACITY * n);
    columns.member = far.take_ints(n + 1);
}

DEVICE void take_targets(Arena& far, Targets& targets, int n) {
    targets.inside = far.take(CAPACITY * n);
    targets.outside = far.take(CAPACITY * n);
    targets.step = far.take(CAPACITY * n);
}

// Lay the memory of a game of n items out; called by one thread.
DEVICE void take_memory(Arena& near, Arena& far, Solver& s, int n) {
    const int wide = CAPACITY * n, sets = n + 1, m = LARGEST_BORDER;
    Arena& along = n <= NEAR_ITEMS ? near : far;
    s.n = n;
    s.noise = near.place(sets);
    s.precision = near.place(sets);
    s.step_chain = near.place(sets);
    s.other_step_chain = near.place(sets);
    s.carried = near.place((n / PANEL + 1) * CAPACITY);
    take_columns(far, s.adversary, n);
    take_columns(far, s.predictor, n);
    take_strategy(far, s.best_adversary, n);
    take_strategy(far, s.best_predictor, n);
    take_strategy(far, s.pooled, n);
    take_targets(far, s.goal, n);
    take_targets(far, s.goal_predictor, n);
    take_targets(far, s.other_goal, n);
    take_targets(far, s.other_goal_predictor, n);

    s.score = along.take(n);
    s.chain_mass = along.take(sets);
    s.chain_slack = along.take(sets);
    s.rhs_chain = along.take(sets);
    s.residual_chain = along.take(sets);
    s.goal_chain = along.take(sets);
    s.other_goal_chain = along.take(sets);
    s.cost = along.take(n);
    s.share = along.take(n);
    s.pool_level = along.take(n);
    s.pool_weight = along.take(n);
    s.first = along.take_ints(sets);
    s.value_k = along.take(sets);
    s.value_l = along.take(sets);
    s.value_pooled = along.take(sets);
    s.kept_k = along.take(sets);
    s.kept_l = along.take(sets);

    s.best_chain = far.take(sets);
    s.order = far.take_ints(n);
    s.far_chain = far.take(2 * CROSS_PITCH * sets);
    s.far_border = far.take(m * (m + 1));
    s.far_innovation = far.take(m * sets);
    s.added = far.take((n / PANEL + 1) * CAPACITY * m);
    s.coupling = far.take(PANEL * (sets + PANEL));
    s.coupling_t = far.take(PANEL * (sets + PANEL));
    s.answered = far.take(CAPACITY * (sets + PANEL));
    s.passing = far.take((n / PANEL + 1) * CAPACITY * CAPACITY);
    s.passing_t = far.take((n / PANEL + 1) * CAPACITY * CAPACITY);
    s.ones = far.take(sets);
    s.curvature = far.take(wide);
    s.curvature_out = far.take(wide);
    s.predictor_out = far.take(wide);
    s.predictor_inverse = far.take(wide);
    s.curvature_out_t = far.take(wide);
    s.predictor_out_t = far.take(wide);
    s.inverse = far.take(CAPACITY * wide);
    s.mixed = far.take(CAPACITY * wide);
    s.left = far.take(CAPACITY * wide);
    s.rhs_item = far.take(wide);
    s.own = far.take(wide);
    s.rhs_predictor = far.take(wide);
    s.along = far.take(wide);
    s.running = far.take(CAPACITY * sets);
    s.residual_item = far.take(wide);
    s.residual_predictor = far.take(wide);
}

// A number of columns or items, filled up to strips of two tiles.
INLINE int whole_strips(int count) { return (count + 2 * TILE - 1) / (2 * TILE) * 2 * TILE; }

// Share the items out between the blocks of a team, in whole strips of tiles. The matrices of the items are one block's;
// each of the two writes some and reads all.
DEVICE void share_items(Solver& s, long long size) {
    const int middle = team() == 1 ? s.n : smaller(s.n, whole_strips(s.n / 2));
    s.mine = rank() == 0 ? Range{0, middle} : Range{middle, s.n};
    s.per_item = 0x80000000u / larger(s.mine.end - s.mine.begin, 1) + 1;
    s.away = team() == 1 ? 0 : rank() == 0 ? size : -size;
    if (rank() == 0) return;
    double** const shared[] = {&s.inverse, &s.mixed, &s.left, &s.curvature_out, &s.predictor_out, &s.curvature_out_t,
                               &s.predictor_out_t};
    for (double** each : shared) *each += s.away;
}

// The same number of the other block, or this one if there is no other.
INLINE double* of_partner(const Solver& s, double* place) {
    return s.away == 0 ? place : is_near(place) ? across(place) : place + s.away;
}

// Write a number for both blocks; it may lie near, or is known to be far.
INLINE void tell(const Solver& s, double* place, double value) {
    *place = value;
    if (s.away != 0) *of_partner(s, place) = value;
}
INLINE void tell_far(const Solver& s, double* place, double value) {
    *place = value;
    if (s.away != 0) place[s.away] = value;
}

// Of an array (columns, n), how many numbers are this block's share, and the column and place of one of them. A division
// takes long, so it is done once: index * per_item >> 31 is index / count as long as index * count is below 2^31.
struct Place {
    int column, at;
};
INLINE Place own_place(const Solver& s, int index) {
    const int count = s.mine.end - s.mine.begin;
    const int column = static_cast<int>(static_cast<unsigned long long>(index) * s.per_item >> 31);
    return {column, column * s.n + s.mine.begin + index - column * count};
}
INLINE int own_count(const Solver& s, int columns) { return columns * (s.mine.end - s.mine.begin); }

// Where the parts of the border begin: predictor masses (f), adversary prices (q), adversary masses (q + 2),
// predictor prices (f), the two levels.
struct Border {
    int q, f, prices, masses, prices_p, levels, m, pitch;
};

INLINE Border border_of(const Solver& s) {
    const int q = s.adversary.used, f = s.predictor.used, m = 2 * f + 2 * q + 4;
    return {q, f, f, f + q, f + 2 * q + 2, 2 * f + 2 * q + 2, m, m | 1};
}

// Columns are padded to a few widths, so that loops over them can be unrolled.
constexpr int PAD = 4;
INLINE int padded(int q) { return larger(2 * PAD, (q + PAD - 1) / PAD * PAD); }

// Call a template with the width of the columns; with all the width there is if the chain is far, which is rare.
constexpr int FAR = 0;
#define BY_WIDTH(width, function, ...)                            \
    do {                                                          \
        if ((width) == 8) function<8, true>(__VA_ARGS__);         \
        else if ((width) == 12) function<12, true>(__VA_ARGS__);  \
        else if ((width) == 16) function<16, true>(__VA_ARGS__);  \
        else if ((width) == 20) function<20, true>(__VA_ARGS__);  \
        else if ((width) == 24) function<24, true>(__VA_ARGS__);  \
        else if ((width) == 28) function<28, true>(__VA_ARGS__);  \
        else if ((width) == 32) function<32, true>(__VA_ARGS__);  \
        else function<CAPACITY, false>(__VA_ARGS__);              \
    } while (false)

// From one row to the next of an item's matrices; see CROSS_PITCH.
INLINE constexpr int item_pitch(int width) { return in_tiles(width) * TILE + 4; }

// What a warp needs for itself: three columns, a matrix and a strip of another of an item, or a number for every item.
INLINE int scratch_needed(int n, int width) {
    return larger((n + 1) / 2 * 2, 3 * CAPACITY + (in_tiles(width) + 2) * TILE * item_pitch(width));
}

// The warps that have memory for themselves; all, if the block was given enough.
INLINE int working_warps(const Solver& s, int size) { return smaller(warps(), s.scratch_size / size); }

// Room for the state of the filter, a panel's observations and their covariances, and the curvatures of its items.
constexpr int PANEL_SIZE = PANEL * PANEL;
INLINE int filter_needed(const Border& at) { return (at.q + PANEL) * at.m + PANEL_SIZE + PANEL * (at.q + at.f); }

// Find room for the chain, with what is needed beside it; called by all threads when columns come or go.
DEVICE void place_chain(Solver& s) {
    const Border at = border_of(s);
    const int width = padded(at.q);
    barrier();
    if (thread() == 0) {
        const int chain = 2 * (width + 2) * (s.n + 1);
        const int least = larger(scratch_needed(s.n, width), filter_needed(at));
        const bool fits = chain + least <= s.room_size;
        s.chain_at = fits ? s.room : -1;
        s.pitch = fits ? width + 2 : CROSS_PITCH;
        s.chain_alpha = fits ? quick + s.room : s.far_chain;
        s.scratch = fits ? s.room + chain : s.room;
        s.scratch_size = fits ? s.room_size - chain : s.room_size;
    }
    barrier();
}

// Find room for the filter, the border and the innovations where the warps had theirs.
DEVICE void place_border(Solver& s) {
    const Border at = border_of(s);
    barrier();
    if (thread() == 0) {
        const int border = (at.m * at.pitch + 1) / 2 * 2, innovation = at.m * (s.n + 1);
        s.state = s.scratch;
        s.observed = s.state + at.q * at.m;
        s.panel = s.observed + PANEL * at.m;
        s.curvatures = s.panel + PANEL_SIZE;
        const int filter = filter_needed(at);
        const bool beside = filter + border <= s.scratch_size, instead = border <= s.scratch_size;
        s.border = beside ? quick + s.scratch + filter : s.far_border;
        // If there is no room beside the filter, the border moves to where that was.
        s.border_at = beside ? s.scratch + filter : instead ? s.scratch : -1;
        const int used = beside ? filter + border : instead ? larger(filter, border) : filter;
        s.innovation = used + innovation <= s.scratch_size ? quick + s.scratch + used : s.far_innovation;
    }
    barrier();
}
