// Solving along the chain with the factor of the Kalman filter. The state that is carried from panel to panel is the only
// thing that one of them needs of the others: once it is known, all panels are solved at once.

// Where the chain's tables are: near, which the compiler has to know to make good use of it, or far.
template <bool NEAR>
INLINE double* chain_alpha_of(const Solver& s) { return NEAR ? quick + s.chain_at : s.far_chain; }
template <bool NEAR>
INLINE double* kalman_gain_of(const Solver& s) { return chain_alpha_of<NEAR>(s) + s.pitch * (s.n + 1); }

// What a panel makes of the state before it, I - G' L^-1 A with the gains G and alpha A of its sets, and the transpose,
// which is what it makes of the state behind it. Blocks of two by two tiles are one warp's work.
template <bool NEAR>
DEVICE void pass_panels(Solver& s) {
    constexpr int WIDE = 2 * TILE;
    static_assert(WIDE == PANEL);
    const int sets = s.n + 1, q = s.adversary.used, pitch = s.pitch, panels = (sets + PANEL - 1) / PANEL;
    const int wide = whole_strips(q) / WIDE;
    WARP_EACH(task, panels * wide) {
        const int first = task / wide * PANEL, column = task % wide * WIDE;
        const double *alpha = chain_alpha_of<NEAR>(s) + first * pitch + column, *inverse = s.coupling_t + first * PANEL;
        double* answered = s.answered + first * q + column;
        Tile product[2][2] = {};
        add_product(product, PANEL, [=](int j, int k) { return far_read(inverse + j * PANEL + k); },
                    [=](int k, int b) { return first + k < sets && column + b < q ? alpha[k * pitch + b] : 0.0; });
        each_entry(product, [=](int j, int b, double value) {
            if (column + b < q) answered[j * q + b] = value;
        });
    }
    barrier();
    WARP_EACH(task, panels * wide * wide) {
        const int panel = task / (wide * wide), first = panel * PANEL;
        const int row = task / wide % wide * WIDE, column = task % wide * WIDE;
        const double *gain = kalman_gain_of<NEAR>(s) + first * pitch + row, *answered = s.answered + first * q + column;
        Tile product[2][2] = {};
        add_product(product, PANEL,
                    [=](int b, int k) { return first + k < sets && row + b < q ? gain[k * pitch + b] : 0.0; },
                    [=](int k, int b) { return far_read(answered + k * q + smaller(b, q - 1 - column)); });
        double *passing = s.passing + panel * q * q, *passing_t = s.passing_t + panel * q * q;
        each_entry(product, [=](int b, int b2, double value) {
            b += row;
            b2 += column;
            if (b >= q || b2 >= q) return;
            passing[b2 * q + b] = passing_t[b * q + b2] = (b == b2 ? 1.0 : 0.0) - value;
        });
    }
}

// L^-1 of a panel, or the transpose, times what the chain's step is there but for what was carried to it; one warp's work.
// Each lane gets rows of the result.
constexpr int PANEL_ROWS = per_lane(PANEL);
template <bool NEAR>
INLINE void answer_panel(Solver& s, int panel, bool transposed, const double* state, double (&answer)[PANEL_ROWS]) {
    const int sets = s.n + 1, first = panel * PANEL, q = s.adversary.used, pitch = s.pitch;
    const double *observed = transposed ? kalman_gain_of<NEAR>(s) : chain_alpha_of<NEAR>(s), *x = quick + s.step_chain;
    const double* inverses = transposed ? s.coupling_t : s.coupling;
    double *told = s.vectors[warp()], inverse[PANEL_ROWS][PANEL];
#pragma unroll
    for (int c = 0; c < PANEL_ROWS; ++c) {
        const int place = smaller(lane() + c * LANES, PANEL - 1), j = smaller(first + place, sets - 1);
#pragma unroll
        for (int k = 0; k < PANEL; ++k) inverse[c][k] = far_read(inverses + (first + k) * PANEL + place);
        double value = x[j], other = 0.0;
        if (state) {
#pragma unroll 4
            for (int b = 0; b < q; b += 2) {
                const Pair both = two(observed + j * pitch + b), before = two(state + b);
                value -= both.first * before.first;
                other -= both.second * before.second;
            }
        }
        if (lane() + c * LANES < PANEL) told[place] = first + place < sets ? value + other : 0.0;
    }
    meet();
#pragma unroll
    for (int c = 0; c < PANEL_ROWS; ++c) answer[c] = along_row<PANEL>(inverse[c], told);
    meet();
}

// What each panel adds to the state that is carried along the chain, or if told to, against it: all panels at once.
template <bool NEAR>
INLINE void add_panels(Solver& s, bool transposed) {
    const int sets = s.n + 1, q = s.adversary.used, pitch = s.pitch, panels = (sets + PANEL - 1) / PANEL;
    const double* taught = transposed ? chain_alpha_of<NEAR>(s) : kalman_gain_of<NEAR>(s);
    double* solved = s.vectors[warp()];
    WARP_EACH(panel, panels) {
        const int first = panel * PANEL, count = smaller(PANEL, sets - first);
        double answer[PANEL_ROWS];
        answer_panel<NEAR>(s, panel, transposed, nullptr, answer);
#pragma unroll
        for (int c = 0; c < PANEL_ROWS; ++c) {
            if (lane() + c * LANES < PANEL) solved[lane() + c * LANES] = answer[c];
        }
        meet();
        LANE_EACH(b, CAPACITY) {
            const double* column = taught + first * pitch + larger(smaller(b, q - 1), 0);
            double part[4] = {0.0, 0.0, 0.0, 0.0};
#pragma unroll
            for (int k = 0; k < PANEL; ++k) part[k % 4] += column[smaller(k, count - 1) * pitch] * solved[k];
            quick[s.carried + panel * CAPACITY + b] = b < q ? (part[0] + part[1]) + (part[2] + part[3]) : 0.0;
        }
        meet();
    }
}

// Carry the state from panel to panel: one warp's work, and the only part that is serial. What the next panel does is read
// ahead.
template <int WIDTH, bool>
DEVICE void carry_state(Solver& s, bool transposed) {
    constexpr int ROWS = per_lane(CAPACITY);
    const int q = s.adversary.used, panels = (s.n + PANEL) / PANEL;
    const double* passing = transposed ? s.passing_t : s.passing;
    double *state = s.product, next[ROWS][WIDTH];
    const auto read = [&](int step) {
        const double* source = passing + (transposed ? panels - 1 - step : step) * q * q;
#pragma unroll
        for (int c = 0; c < ROWS; ++c) {
            const int row = smaller(lane() + c * LANES, q - 1);
#pragma unroll
            for (int b = 0; b < WIDTH; ++b) next[c][b] = far_read(source + smaller(b, q - 1) * q + row);
        }
    };
    read(0);
    LANE_EACH(b, CAPACITY) state[b] = 0.0;
    meet();
#pragma unroll 1
    for (int step = 0; step < panels; ++step) {
        double *carried = quick + s.carried + (transposed ? panels - 1 - step : step) * CAPACITY, found[ROWS];
#pragma unroll
        for (int c = 0; c < ROWS; ++c) found[c] = carried[lane() + c * LANES] + along_row<WIDTH>(next[c], state);
        if (step + 1 < panels) read(step + 1);
        meet();
#pragma unroll
        for (int c = 0; c < ROWS; ++c) {
            const int b = lane() + c * LANES;
            carried[b] = state[b];
            state[b] = b < q ? found[c] : 0.0;
        }
        meet();
    }
}

// With what is carried to each panel known, solve there: all panels at once.
template <bool NEAR>
INLINE void finish_panels(Solver& s, bool transposed) {
    const int sets = s.n + 1;
    double* x = quick + s.step_chain;
    WARP_EACH(panel, (sets + PANEL - 1) / PANEL) {
        double answer[PANEL_ROWS];
        answer_panel<NEAR>(s, panel, transposed, quick + s.carried + panel * CAPACITY, answer);
#pragma unroll
        for (int c = 0; c < PANEL_ROWS; ++c) {
            const int place = lane() + c * LANES, j = panel * PANEL + place;
            if (place < PANEL && j < sets) x[j] = answer[c];
        }
        meet();
    }
}

// Solve L x = x, or if told to, L' x = x, in place for the chain's step. While the state is carried, by one warp, the others
// have meanwhile(index, workers) to do.
template <bool NEAR, class Meanwhile>
INLINE void solve_chain(Solver& s, bool transposed, Meanwhile meanwhile) {
    const int helpers = warps() - 1;
    add_panels<NEAR>(s, transposed);
    barrier();
    if (warp() == 0 && s.adversary.used > 0) BY_WIDTH(padded(s.adversary.used), carry_state, s, transposed);
    if (warp() > 0 || helpers == 0) meanwhile(helpers ? warp() - 1 : 0, larger(helpers, 1));
    barrier();
    finish_panels<NEAR>(s, transposed);
    barrier();
}

template <class Meanwhile>
INLINE void solve_chain(Solver& s, bool transposed, Meanwhile meanwhile) {
    if (s.chain_at >= 0) solve_chain<true>(s, transposed, meanwhile);
    else solve_chain<false>(s, transposed, meanwhile);
}
