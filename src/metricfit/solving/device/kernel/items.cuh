// Eliminating the items from the Newton matrix of the interior point method.
//
// The mathematics is that of metricfit/solving/fast/elimination.py. Here every item is one warp's work: its block
// stays in the registers of the lanes, a column to each, from the first entry to what is needed of the inverse.

// The diagonals D and E of this block's items.
DEVICE void curve_items(Solver& s, double regularisation) {
    const int n = s.n, q = s.adversary.used, f = s.predictor.used;
    const Columns &adversary = s.adversary, &predictor = s.predictor;
    EACH(y, own_count(s, q)) {
        const int x = own_place(s, y).at;
        const double out = adversary.dual_outside[x] * reciprocal(adversary.outside[x]);
        s.curvature_out[x] = s.curvature_out_t[x % n * q + x / n] = out;
        s.curvature[x] = adversary.dual_inside[x] * reciprocal(adversary.inside[x]) + out + regularisation;
    }
    EACH(y, own_count(s, f)) {
        const int x = own_place(s, y).at;
        const double out = predictor.dual_outside[x] * reciprocal(predictor.outside[x]);
        s.predictor_out[x] = s.predictor_out_t[x % n * f + x / n] = out;
        s.predictor_inverse[x] =
            reciprocal(predictor.dual_inside[x] * reciprocal(predictor.inside[x]) + out + regularisation);
    }
    double* noise = quick + s.noise;
    EACH(j, n + 1) noise[j] = s.chain_slack[j] / s.chain_mass[j];
    barrier();
}

// Replace the columns of a symmetric positive definite matrix, spread over the lanes, by those of its inverse. No
// pivoting is needed. Rows are taken TURN at a time, after which the columns turn, so that no register has to be chosen at
// run time. Each column is divided by its diagonal first: then no pivot is above 1, and the pivot's own column, p, can go
// the way of the others, p - p (1 + 1 / pivot), without loss.
constexpr int TURN = 4;
template <int WIDTH>
INLINE void invert_columns(double (&column)[per_lane(WIDTH)][WIDTH], const double (&diagonal)[per_lane(WIDTH)],
                           double* pivots) {
    static_assert(WIDTH % TURN == 0);
    double scale[per_lane(WIDTH)];
#pragma unroll
    for (int c = 0; c < per_lane(WIDTH); ++c) {
        scale[c] = reciprocal(diagonal[c]);
#pragma unroll
        for (int b = 0; b < WIDTH; ++b) column[c][b] *= scale[c];
    }
#pragma unroll 1
    for (int k = 0; k < WIDTH; k += TURN) {
#pragma unroll
        for (int turn = 0; turn < TURN; ++turn) {
            double* pivot = pivots + (turn % 2) * CAPACITY;
#pragma unroll
            for (int c = 0; c < per_lane(WIDTH); ++c) {
                if (lane() + c * LANES != k + turn) continue;
#pragma unroll
                for (int b = 0; b < WIDTH; b += 2) {
                    *reinterpret_cast<Pair*>(pivot + b) = Pair{column[c][b], column[c][b + 1]};
                }
            }
            meet();
            const double inverse = reciprocal(pivot[turn]);
#pragma unroll
            for (int c = 0; c < per_lane(WIDTH); ++c) {
                const bool chosen = lane() + c * LANES == k + turn;
                const double times = column[c][turn] * inverse, own = chosen ? 1.0 + inverse : times;
#pragma unroll
                for (int first = 0; first < WIDTH; first += 2 * CHUNK) {
                    Pair both[CHUNK];
                    read_pairs<WIDTH>(both, pivot, first);
#pragma unroll
                    for (int b = first; b < smaller(WIDTH, first + 2 * CHUNK); b += 2) {
                        column[c][b] -= both[(b - first) / 2].first * own;
                        column[c][b + 1] -= both[(b - first) / 2].second * own;
                    }
                }
                column[c][turn] = chosen ? inverse : times;
            }
        }
#pragma unroll
        for (int c = 0; c < per_lane(WIDTH); ++c) {
            double before[TURN];
#pragma unroll
            for (int b = 0; b < TURN; ++b) before[b] = column[c][b];
#pragma unroll
            for (int b = 0; b < WIDTH; ++b) column[c][b] = b + TURN < WIDTH ? column[c][b + TURN] : before[b + TURN - WIDTH];
        }
    }
#pragma unroll
    for (int c = 0; c < per_lane(WIDTH); ++c) {
        if (lane() + c * LANES < WIDTH) pivots[lane() + c * LANES] = scale[c];
    }
    meet();
#pragma unroll
    for (int c = 0; c < per_lane(WIDTH); ++c) {
#pragma unroll
        for (int first = 0; first < WIDTH; first += 2 * CHUNK) {
            Pair both[CHUNK];
            read_pairs<WIDTH>(both, pivots, first);
#pragma unroll
            for (int b = first; b < smaller(WIDTH, first + 2 * CHUNK); b += 2) {
                column[c][b] *= both[(b - first) / 2].first;
                column[c][b + 1] *= both[(b - first) / 2].second;
            }
        }
    }
}

// Inner product of a column in registers with a row in memory.
template <int WIDTH>
INLINE double along_row(const double (&column)[WIDTH], const double* row) {
    double part[4] = {0.0, 0.0, 0.0, 0.0};
#pragma unroll
    for (int first = 0; first < WIDTH; first += 2 * CHUNK) {
        Pair both[CHUNK];
        read_pairs<WIDTH>(both, row, first);
#pragma unroll
        for (int b = first; b < smaller(WIDTH, first + 2 * CHUNK); b += 2) {
            part[b % 4] += both[(b - first) / 2].first * column[b];
            part[b % 4 + 1] += both[(b - first) / 2].second * column[b + 1];
        }
    }
    return (part[0] + part[1]) + (part[2] + part[3]);
}

// The inverse N^-1 of one item's N = D + A' E^-1 A, then E^-1 A N^-1 and E^-1 - E^-1 A N^-1 A' E^-1. All but the inverse
// itself are products of tiles; a warp's memory is where a matrix goes from tiles to columns and back.
template <int WIDTH, bool>
DEVICE void invert_item(Solver& s, int i, int scratch) {
    constexpr int TILES = in_tiles(WIDTH), PITCH = item_pitch(WIDTH);
    const int n = s.n, q = s.adversary.used, f = s.predictor.used;
    const double* cross = s.cross;
    double *weight = quick + scratch, *pivots = weight + CAPACITY, *block = weight + 3 * CAPACITY;
    double* strip = block + TILES * TILE * PITCH;
    LANE_EACH(a, whole_strips(f)) weight[a] = a < f ? far_read(s.predictor_inverse + a * n + i) : 0.0;
    double column[per_lane(WIDTH)][WIDTH], own[per_lane(WIDTH)];
#pragma unroll
    for (int c = 0; c < per_lane(WIDTH); ++c) {
        const int x = lane() + c * LANES;
        own[c] = x < q ? far_read(s.curvature + x * n + i) : 1.0;
    }
    meet();
#pragma unroll 1
    for (int first = 0; first < TILES * TILE; first += 2 * TILE) {
        Tile product[2][TILES] = {};
        add_product(product, f, [=](int b, int a) { return weight[a] * cross[a * CROSS_PITCH + first + b]; },
                    [=](int a, int b) { return cross[a * CROSS_PITCH + b]; });
        each_entry(product, [=](int b, int b2, double value) {
            if (first + b < TILES * TILE) block[(first + b) * PITCH + b2] = value;
        });
    }
    meet();
#pragma unroll
    for (int c = 0; c < per_lane(WIDTH); ++c) {
        const int x = lane() + c * LANES;
#pragma unroll
        for (int b = 0; b < WIDTH; ++b) column[c][b] = (x < WIDTH ? block[b * PITCH + x] : 0.0) + (b == x ? own[c] : 0.0);
        own[c] += x < WIDTH ? block[x * PITCH + x] : 0.0;
    }
    invert_columns<WIDTH>(column, own, pivots);
#pragma unroll
    for (int c = 0; c < per_lane(WIDTH); ++c) {
        const int x = lane() + c * LANES;
        double* target = s.inverse + static_cast<long long>(i) * q * q + x;
#pragma unroll
        for (int b = 0; b < WIDTH; ++b) {
            if (x < WIDTH) block[b * PITCH + x] = column[c][b];
            if (x < q && b < q) target[b * q] = column[c][b];
        }
    }
    meet();
#pragma unroll 1
    for (int first = 0; first < f; first += 2 * TILE) {
        const double* row = cross + first * CROSS_PITCH;
        double* target = s.mixed + static_cast<long long>(i) * q * f + first;
        Tile product[2][TILES] = {};
        add_product(product, WIDTH, [=](int a, int b) { return weight[first + a] * row[a * CROSS_PITCH + b]; },
                    [=](int b, int b2) { return block[b * PITCH + b2]; });
        each_entry(product, [=](int a, int b, double value) {
            strip[a * PITCH + b] = b < q ? value : 0.0;
            if (b < q && first + a < f) target[b * f + a] = value;
        });
        meet();
        target = s.left + static_cast<long long>(i) * f * f + first * f;
#pragma unroll 1
        for (int second = 0; second < f; second += TILE) {
            Tile rest[2][1] = {};
            add_product(rest, WIDTH, [=](int a, int b) { return strip[a * PITCH + b]; },
                        [=](int b, int a) { return cross[(second + a) * CROSS_PITCH + b]; });
            each_entry(rest, [=](int a, int a2, double value) {
                const double same = first + a == second + a2 ? 1.0 : 0.0;
                if (first + a < f && second + a2 < f) target[a * f + second + a2] = weight[second + a2] * (same - value);
            });
        }
        meet();
    }
}

// Invert the blocks of all items.
DEVICE void invert_items(Solver& s, double regularisation) {
    const int n = s.n, q = s.adversary.used, f = s.predictor.used, width = padded(q);
    curve_items(s, regularisation);
    if (f == 0) {  // N is diagonal
        EACH(y, own_count(s, q * q)) {
            const int x = s.mine.begin * q * q + y, i = x / (q * q), b = x / q % q;
            s.inverse[x] = x % q == b ? 1.0 / s.curvature[b * n + i] : 0.0;
        }
    } else {
        const int size = scratch_needed(n, width), workers = working_warps(s, size);
        if (warp() < workers) {
            const int scratch = s.scratch + warp() * size;
            for (int i = s.mine.begin + warp(); i < s.mine.end; i += workers) BY_WIDTH(width, invert_item, s, i, scratch);
        }
    }
    team_barrier();
}

// A number of every item of a panel, all of them read at once; zeros where there are no more items.
INLINE void read_panel(double (&value)[PANEL], const double* source, int step, int count) {
#pragma unroll
    for (int c = 0; c < PANEL; ++c) value[c] = c < count ? far_read(source + static_cast<long long>(c) * step) : 0.0;
}

// Add what the items of a panel contribute to the border between two adversary columns, in its upper triangle. Their
// curvatures are near: out[c * width + column].
INLINE void couple_adversary(Solver& s, const Border& at, int b, int b2, int begin, int count) {
    const int q = at.q, m = at.pitch, width = q + at.f;
    const double* out = quick + s.curvatures;
    double value[PANEL], nn = 0.0, ns = 0.0, ss = 0.0, outside = 0.0;
    read_panel(value, s.inverse + static_cast<long long>(begin) * q * q + b * q + b2, q * q, count);
#pragma unroll
    for (int c = 0; c < PANEL; ++c) {
        const double own = out[c * width + b], scaled = value[c] * out[c * width + b2];
        nn += value[c];
        ns += scaled;
        ss += own * scaled;
        outside += own;
    }
    double* border = s.border + b * m + b2;
    border[at.prices * m + at.prices] -= nn;
    border[at.prices * m + at.masses] += ns;
    border[at.masses * m + at.masses] += (b == b2 ? outside : 0.0) - ss;
}

// Likewise between a predictor column and an adversary column.
INLINE void couple_players(Solver& s, const Border& at, int a, int b, int begin, int count) {
    const int q = at.q, f = at.f, m = at.pitch, width = q + f;
    const double *out = quick + s.curvatures, *out_p = out + q;
    double value[PANEL], plain = 0.0, scaled = 0.0, out_plain = 0.0, out_scaled = 0.0;
    read_panel(value, s.mixed + static_cast<long long>(begin) * q * f + b * f + a, q * f, count);
#pragma unroll
    for (int c = 0; c < PANEL; ++c) {
        const double times = value[c] * out[c * width + b], own = out_p[c * width + a];
        plain += value[c];
        scaled += times;
        out_plain += own * value[c];
        out_scaled += own * times;
    }
    s.border[(at.prices + b) * m + at.prices_p + a] += plain;
    s.border[(at.masses + b) * m + at.prices_p + a] -= scaled;
    s.border[a * m + at.prices + b] -= out_plain;
    s.border[a * m + at.masses + b] += out_scaled;
}

// Likewise between two predictor columns.
INLINE void couple_predictor(Solver& s, const Border& at, int a, int a2, int begin, int count) {
    const int f = at.f, m = at.pitch, width = at.q + f;
    const double* out = quick + s.curvatures + at.q;
    double value[PANEL], pp = 0.0, po = 0.0, oo = 0.0, outside = 0.0;
    read_panel(value, s.left + static_cast<long long>(begin) * f * f + a * f + a2, f * f, count);
#pragma unroll
    for (int c = 0; c < PANEL; ++c) {
        const double own = out[c * width + a], times = own * value[c];
        pp += value[c];
        po += times;
        oo += times * out[c * width + a2];
        outside += own;
    }
    s.border[(at.prices_p + a) * m + at.prices_p + a2] += pp;
    s.border[a * m + at.prices_p + a2] -= po;
    s.border[a * m + a2] += oo - (a == a2 ? outside : 0.0);
}

// Add what a panel's items contribute to the border, upper triangle: the work of `workers` threads, of which this one has
// this index.
DEVICE void couple_columns(Solver& s, int begin, int index, int workers) {
    const Border at = border_of(s);
    const int q = at.q, f = at.f, own = q * q, both = own + f * q, all = both + f * f;
    const int count = smaller(PANEL, s.n - begin);
    for (int x = index; x < all && count > 0; x += workers) {
        if (x < own) couple_adversary(s, at, x / q, x % q, begin, count);
        else if (x < both) couple_players(s, at, (x - own) % f, (x - own) / f, begin, count);
        else couple_predictor(s, at, (x - both) / f, (x - both) % f, begin, count);
    }
}

// The border without items and chain, upper triangle.
DEVICE void start_border(Solver& s) {
    const Border at = border_of(s);
    const Columns &adversary = s.adversary, &predictor = s.predictor;
    const int n = s.n, q = at.q, f = at.f, m = at.pitch;
    double* border = s.border;
    EACH(x, at.m * m) border[x] = 0.0;
    barrier();
    EACH(x, f * (q + 2)) {
        const int a = x / (q + 2), b = x % (q + 2), size = b < q ? adversary.size[b] : b == q ? 0 : n;
        border[a * m + at.masses + b] = s.beta[predictor.size[a] * (n + 1) + size];
    }
    EACH(b, q + 2) {
        const int slot = b < q ? b : CAPACITY + b - q;
        border[(at.masses + b) * m + at.levels] = 1.0;
        border[(at.masses + b) * m + at.masses + b] = adversary.dual_mass[slot] / adversary.mass[slot];
        if (b < q) border[(at.prices + b) * m + at.masses + b] = -adversary.size[b];
    }
    EACH(a, f) {
        border[a * m + at.levels + 1] = -1.0;
        border[a * m + a] = -predictor.dual_mass[a] / predictor.mass[a];
        border[a * m + at.prices_p + a] = predictor.size[a];
    }
    barrier();
}
