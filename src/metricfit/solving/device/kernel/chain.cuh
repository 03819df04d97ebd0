// Eliminating the chain from the Newton matrix by a Kalman filter; see metricfit/solving/fast/elimination.py.
//
// The filter's state is a matrix: for each unknown of the border the filtered mean of a random walk, a number for every
// adversary column; the columns of the prices are the walk's covariance. A set of the chain observes it, and an item is
// added between two sets. Here that is done PANEL sets at a time. What the items of a panel add, and what its sets
// would observe of that alone, is found for all panels at once. Then one panel follows the other: the state before it
// is observed too, the covariance of the observations is factorised, L S L', L^-1 makes innovations of the
// observations, and these correct the state. Between sets j and k < j the factor L of the whole chain is the inner
// product of alpha of j and the gain of k, so that a right-hand side is filtered by panels as well.

// What the items of each panel add to the state, and what its sets observe of that; a thread has a column of either player
// and a panel. Both unknowns of a column, its price and its mass, are about the same numbers of every item: what is
// inside is added to one, and what is outside, by its curvature, taken from the other; for the predictor vice versa.
template <int WIDTH, bool NEAR>
DEVICE void observe_items(Solver& s) {
    const Border at = border_of(s);
    const int n = s.n, q = at.q, f = at.f, m = at.m, pitch = s.pitch, panels = (n + PANEL) / PANEL;
    EACH(task, panels * (q + f)) {
        const int panel = task / (q + f), x = task % (q + f), a = x - q;
        const int first = panel * PANEL, end = smaller(first + PANEL, n + 1);
        const bool own = x < q;
        const int stride = own ? q : f, step = q * stride;
        const int price = own ? at.prices + x : at.prices_p + a, mass = own ? at.masses + x : a;
        const double *curvature = own ? s.curvature_out + x * n : s.predictor_out + a * n;
        const double *source = own ? s.inverse + x : s.mixed + a;
        const double *known = s.beta_t + (own ? s.adversary.size[x] : 0) * (n + 1), sign = own ? 1.0 : -1.0;
        const double* alpha = chain_alpha_of<NEAR>(s) + first * pitch;
        double inside[WIDTH], outside[WIDTH];
#pragma unroll
        for (int b = 0; b < WIDTH; ++b) inside[b] = outside[b] = 0.0;
#pragma unroll 1
        for (int j = first; j < end; ++j, alpha += pitch) {
            if (j > 0) {
                const double* row = source + static_cast<long long>(j - 1) * step;
                const double scale = far_read(curvature + j - 1);
#pragma unroll
                for (int b = 0; b < WIDTH; ++b) {
                    const double value = b < q ? far_read(row + b * stride) : 0.0;
                    inside[b] += value;
                    outside[b] += scale * value;
                }
            }
            double* innovation = s.innovation + static_cast<long long>(j) * m;
            innovation[price] = -sign * along_row<WIDTH>(inside, alpha);
            innovation[mass] = (own ? far_read(known + j) : 0.0) + sign * along_row<WIDTH>(outside, alpha);
        }
        double* added = s.added + static_cast<long long>(panel) * q * m;
#pragma unroll
        for (int b = 0; b < WIDTH; ++b) {
            if (b >= q) continue;
            added[b * m + price] = sign * inside[b];
            added[b * m + mass] = -sign * outside[b];
        }
    }
    // The empty and the full set, and the levels, are no matter of the items.
    const int others[4] = {at.masses + q, at.masses + q + 1, at.levels, at.levels + 1};
    EACH(task, 4 * (n + 1)) {
        const int j = task / 4, c = task % 4;
        const double value = c == 0 ? s.beta_t[j] : c == 1 ? s.beta_t[n * (n + 1) + j] : c == 2 ? 0.0 : -1.0;
        s.innovation[static_cast<long long>(j) * m + others[c]] = value;
    }
    EACH(task, 4 * panels * q) s.added[static_cast<long long>(task / 4) * m + others[task % 4]] = 0.0;
}

// Factorise the covariance of a panel's observations and make innovations of the observations, for as many unknowns as
// there are lanes: one warp's work, which needs no other. Each lane has a column of the covariance and the observations
// of one unknown; the innovations of the prices give the gains. Behind the unknowns come the columns of the identity,
// of which L^-1 makes itself. All turn TURN rows at a time, as in invert_columns.
template <bool NEAR>
DEVICE void innovate_panel(Solver& s, int first, int count, int group) {
    static_assert(PANEL <= 2 * CHUNK);
    constexpr int MINE = per_lane(PANEL);
    const Border at = border_of(s);
    const int m = at.m, pitch = s.pitch, x = group * LANES + lane(), b = x - at.prices, identity = x - m;
    const bool unknown = x < m, price = b >= 0 && x < at.masses, inverted = identity >= 0 && identity < PANEL;
    const double *noise = quick + s.noise + first, *covariance = quick + s.panel;
    double *precision = quick + s.precision + first, *seen = quick + s.observed + x;
    double *innovation = s.innovation + static_cast<long long>(first) * m + x;
    double *gain = kalman_gain_of<NEAR>(s) + first * pitch + b, *told = s.vectors[warp()];
    double *inverses = s.coupling + (first + identity) * PANEL, *inverses_t = s.coupling_t + first * PANEL + identity;
    double column[MINE][PANEL], value[PANEL];
#pragma unroll
    for (int j = 0; j < PANEL; ++j) {
#pragma unroll
        for (int c = 0; c < MINE; ++c) column[c][j] = covariance[smaller(lane() + c * LANES, PANEL - 1) * PANEL + j];
        value[j] = unknown ? seen[j * m] : j == identity ? 1.0 : 0.0;
    }
#pragma unroll 1
    for (int begin = 0; begin < count; begin += TURN) {
#pragma unroll
        for (int turn = 0; turn < TURN; ++turn) {
            const int k = begin + turn;
            double *pivots = told + turn % 2 * PANEL, factor[MINE];
#pragma unroll
            for (int c = 0; c < MINE; ++c) {
                if (lane() + c * LANES != k) continue;
#pragma unroll
                for (int j = 0; j < PANEL; j += 2) {
                    *reinterpret_cast<Pair*>(pivots + j) = Pair{column[c][j], column[c][j + 1]};
                }
            }
            meet();
            Pair both[CHUNK];
            read_pairs<PANEL>(both, pivots, 0);
            const double pivot = turn % 2 ? both[turn / 2].second : both[turn / 2].first;
            const double inverse = reciprocal(larger(pivot, 0.0) + noise[smaller(k, count - 1)]);
            const double known = value[turn], own = known * inverse;
            if (k < count) {
                if (unknown) {
                    seen[k * m] = known;
                    innovation[k * m] = known;
                }
                if (price) gain[k * pitch] = -own;
                if (inverted) inverses[k] = inverses_t[k * PANEL] = known;
                if (group == 0 && lane() == 0) precision[k] = inverse;
            }
#pragma unroll
            for (int c = 0; c < MINE; ++c) {
                const int place = smaller(lane() + c * LANES, PANEL - 1) - begin;
                factor[c] = pivots[place < 0 ? place + PANEL : place] * inverse;
            }
#pragma unroll
            for (int j = turn + 1; j < PANEL; ++j) {
                const double each = j % 2 ? both[j / 2].second : both[j / 2].first;
                value[j] -= each * own;
#pragma unroll
                for (int c = 0; c < MINE; ++c) column[c][j] -= each * factor[c];
            }
        }
#pragma unroll
        for (int j = 0; j < PANEL - TURN; ++j) {
            value[j] = value[j + TURN];
#pragma unroll
            for (int c = 0; c < MINE; ++c) column[c][j] = column[c][j + TURN];
        }
    }
    for (int k = count; k < PANEL; ++k) {
        if (inverted) inverses[k] = inverses_t[k * PANEL] = 0.0;
    }
    meet();
}

// Bring the curvatures of a panel's items near.
INLINE void stage_curvatures(Solver& s, const Border& at, int first) {
    const int q = at.q, f = at.f, width = q + f;
    double* curvatures = quick + s.curvatures;
    each_ahead(PANEL * width,
               [&](int x) {
                   const int i = first + x / width, column = x % width;
                   const double *own = s.curvature_out_t + i * q + column, *other = s.predictor_out_t + i * f + column - q;
                   return i < s.n ? far_read(column < q ? own : other) : 0.0;
               },
               [&](int x, double value) { curvatures[x] = value; });
}

// The filter, one panel after the other. Warps that have nothing to do meanwhile couple the columns.
template <bool NEAR>
DEVICE void filter_panels(Solver& s) {
    const Border at = border_of(s);
    const int n = s.n, q = at.q, m = at.m, pitch = s.pitch, panels = (n + PANEL) / PANEL;
    double *state = quick + s.state, *seen = quick + s.observed, *covariance = quick + s.panel;
    stage_curvatures(s, at, 0);
    EACH(x, q * m) state[x] = 0.0;
    EACH(x, (n + 1) * pitch) kalman_gain_of<NEAR>(s)[x] = 0.0;
    barrier();
    for (int panel = 0; panel < panels; ++panel) {
        const int first = panel * PANEL, count = smaller(PANEL, n + 1 - first);
        const double *alpha = chain_alpha_of<NEAR>(s) + first * pitch;
        const double *innovation = s.innovation + static_cast<long long>(first) * m;
        WARP_EACH(tile, in_tiles(m)) {
            const int begin = tile * TILE;
            Tile known[PANEL / TILE][1] = {};
            add_product(known, q, [=](int j, int b) { return alpha[smaller(j, count - 1) * pitch + b]; },
                        [=](int b, int x) { return b < q && begin + x < m ? state[b * m + begin + x] : 0.0; });
            each_entry(known, [=](int j, int x, double value) {
                if (begin + x < m) seen[j * m + begin + x] = j < count ? innovation[j * m + begin + x] - value : 0.0;
            });
        }
        barrier();
        WARP_EACH(tile, PANEL / TILE * PANEL / TILE) {
            const int row = tile / (PANEL / TILE) * TILE, column = tile % (PANEL / TILE) * TILE;
            Tile product[1][1] = {};
            add_product(product, q, [=](int k, int b) { return b < q ? seen[(row + k) * m + at.prices + b] : 0.0; },
                        [=](int b, int j) { return alpha[smaller(column + j, count - 1) * pitch + b]; });
            each_entry(product, [=](int k, int j, double value) {
                k += row;
                j += column;
                covariance[k * PANEL + j] = k <= j && j < count ? -value : 0.0;
            });
        }
        barrier();
        const int groups = per_lane(m + PANEL), helpers = warps() - groups;
        for (int group = warp(); group < groups; group += warps()) innovate_panel<NEAR>(s, first, count, group);
        // The other warps couple the columns meanwhile, or all do if there are no others.
        if (helpers <= 0) couple_columns(s, first, thread(), threads());
        else if (warp() >= groups) couple_columns(s, first, thread() - groups * LANES, helpers * LANES);
        barrier();
        if (panel + 1 == panels) break;
        const double* added = s.added + static_cast<long long>(panel) * q * m;
        const double* gain = kalman_gain_of<NEAR>(s) + first * pitch;
        stage_curvatures(s, at, first + PANEL);
        const int across = in_tiles(m);
        WARP_EACH(tile, in_tiles(q) * across) {
            const int row = tile / across * TILE, column = tile % across * TILE;
            Tile sum[1][1];
#pragma unroll
            for (int c = 0; c < ENTRIES; ++c) {
                const int b = row + tile_row(c), x = column + tile_column(c);
                sum[0][0].entry[c] = b < q && x < m ? far_read(added + b * m + x) : 0.0;
            }
            add_product(sum, PANEL, [=](int b, int j) { return gain[j * pitch + row + b]; },
                        [=](int j, int x) { return seen[j * m + smaller(column + x, m - 1)]; });
            each_entry(sum, [=](int b, int x, double value) {
                if (row + b < q && column + x < m) state[(row + b) * m + column + x] += value;
            });
        }
        barrier();
    }
}

// Complete the border's Schur complement, two tiles above each other at a time, and its lower triangle.
DEVICE void reduce_border(Solver& s, const Border& at) {
    const int n = s.n, m = at.m, pitch = at.pitch, across = in_tiles(m);
    const double *precision = quick + s.precision, *innovation = s.innovation;
    double* border = s.border;
    WARP_EACH(task, (across + 1) / 2 * across) {
        const int row = task / across * 2 * TILE, column = task % across * TILE;
        if (column + TILE <= row) continue;
        Tile product[2][1] = {};
        add_product(product, n + 1,
                    [=](int x, int j) {
                        j = smaller(j, n);
                        return innovation[static_cast<long long>(j) * m + smaller(row + x, m - 1)] * precision[j];
                    },
                    [=](int j, int x) {
                        const int place = smaller(column + x, m - 1);
                        return j <= n ? innovation[static_cast<long long>(j) * m + place] : 0.0;
                    });
        each_entry(product, [=](int x, int x2, double value) {
            x += row;
            x2 += column;
            if (x <= x2 && x2 < m) border[x * pitch + x2] += value;
        });
    }
    barrier();
    WARP_EACH(x, m) {
        LANE_EACH(x2, x) border[x * pitch + x2] = border[x2 * pitch + x];
    }
    barrier();
}

// Eliminate the items, whose blocks are inverted, and the chain.
DEVICE void eliminate(Solver& s) {
    const Border at = border_of(s);
    const int width = s.chain_at >= 0 ? padded(at.q) : FAR;
    place_border(s);
    start_border(s);
    BY_WIDTH(width, observe_items, s);
    barrier();
    if (s.chain_at >= 0) filter_panels<true>(s);
    else filter_panels<false>(s);
    if (s.chain_at >= 0) pass_panels<true>(s);
    else pass_panels<false>(s);
    reduce_border(s, at);
}
