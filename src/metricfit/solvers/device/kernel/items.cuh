// Eliminating the items from the Newton matrix of the interior point method.
//
// The mathematics is that of metricfit/solvers/fast/elimination.py. Here every item is one warp's work: its block
// stays in the registers of the lanes, a column to each, from the first entry to what is needed of the inverse.

// The diagonals D and E of all items.
DEVICE void curve_items(Solver& s, double regularisation) {
    const int n = s.n, q = s.adversary.used, f = s.predictor.used;
    const Columns &adversary = s.adversary, &predictor = s.predictor;
    EACH(x, q * n) {
        const double out = adversary.dual_outside[x] / adversary.outside[x];
        s.curvature_out[x] = out;
        s.curvature[x] = adversary.dual_inside[x] / adversary.inside[x] + out + regularisation;
    }
    EACH(x, f * n) {
        const double out = predictor.dual_outside[x] / predictor.outside[x];
        s.predictor_out[x] = out;
        s.predictor_inverse[x] = 1.0 / (predictor.dual_inside[x] / predictor.inside[x] + out + regularisation);
    }
    double* noise = quick + s.noise;
    EACH(j, n + 1) noise[j] = s.chain_slack[j] / s.chain_mass[j];
    barrier();
}

// Replace the columns of a symmetric positive definite matrix, spread over the lanes, by those of its inverse: the
// sweep operator. No pivoting is needed. The columns turn by one row at each step, so that the pivot is always in
// the first and no register has to be chosen at run time.
template <int WIDTH>
INLINE void invert_columns(double (&column)[per_lane(WIDTH)][WIDTH], double* pivots) {
    for (int k = 0; k < WIDTH; ++k) {
        double* pivot = pivots + (k % 2) * CAPACITY;
#pragma unroll
        for (int c = 0; c < per_lane(WIDTH); ++c) {
            if (lane() + c * LANES != k) continue;
#pragma unroll
            for (int b = 0; b < WIDTH; b += 2) {
                *reinterpret_cast<Pair*>(pivot + b) = Pair{column[c][b], column[c][b + 1]};
            }
        }
        meet();
        const double inverse = reciprocal(pivot[0]);
#pragma unroll
        for (int c = 0; c < per_lane(WIDTH); ++c) {
            const bool chosen = lane() + c * LANES == k;
            const double own = chosen ? -inverse : column[c][0] * inverse;
#pragma unroll
            for (int first = 0; first < WIDTH; first += 2 * CHUNK) {
                Pair both[CHUNK];
                read_pairs<WIDTH>(both, pivot, first);
#pragma unroll
                for (int b = first; b < smaller(WIDTH, first + 2 * CHUNK); b += 2) {
                    const Pair pair = both[(b - first) / 2];
                    if (b > 0) column[c][b - 1] = (chosen ? 0.0 : column[c][b]) - pair.first * own;
                    column[c][b] = (chosen ? 0.0 : column[c][b + 1]) - pair.second * own;
                }
            }
            column[c][WIDTH - 1] = own;
        }
    }
#pragma unroll
    for (int c = 0; c < per_lane(WIDTH); ++c) {
#pragma unroll
        for (int b = 0; b < WIDTH; ++b) column[c][b] = -column[c][b];
    }
    meet();
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

// The inverse N^-1 of one item's N = D + A' E^-1 A, then E^-1 A N^-1 and E^-1 - E^-1 A N^-1 A' E^-1.
template <int WIDTH, bool>
DEVICE void invert_item(Solver& s, int i, int scratch) {
    constexpr int PITCH = WIDTH + 1;
    const int n = s.n, q = s.adversary.used, f = s.predictor.used;
    const double* cross = s.cross;
    double *weight = quick + scratch, *pivots = weight + CAPACITY, *mixed = weight + 3 * CAPACITY;
    LANE_EACH(a, f) weight[a] = far_read(s.predictor_inverse + a * n + i);
    double column[per_lane(WIDTH)][WIDTH];
#pragma unroll
    for (int c = 0; c < per_lane(WIDTH); ++c) {
        const int x = lane() + c * LANES;
        const double own = x < q ? far_read(s.curvature + x * n + i) : 1.0;
#pragma unroll
        for (int b = 0; b < WIDTH; ++b) column[c][b] = b == x ? own : 0.0;
    }
    meet();
#pragma unroll 2
    for (int a = 0; a < f; ++a) {
        const double* row = cross + a * CROSS_PITCH;
#pragma unroll
        for (int c = 0; c < per_lane(WIDTH); ++c) {
            const double own = weight[a] * row[lane() + c * LANES];
#pragma unroll
            for (int first = 0; first < WIDTH; first += 2 * CHUNK) {
                Pair both[CHUNK];
                read_pairs<WIDTH>(both, row, first);
#pragma unroll
                for (int b = first; b < smaller(WIDTH, first + 2 * CHUNK); b += 2) {
                    column[c][b] += both[(b - first) / 2].first * own;
                    column[c][b + 1] += both[(b - first) / 2].second * own;
                }
            }
        }
    }
    invert_columns<WIDTH>(column, pivots);
#pragma unroll
    for (int c = 0; c < per_lane(WIDTH); ++c) {
        const int x = lane() + c * LANES;
        if (x >= q) continue;
        double* target = s.inverse + static_cast<long long>(i) * q * q + x;
#pragma unroll
        for (int b = 0; b < WIDTH; ++b) {
            if (b < q) target[b * q] = column[c][b];
        }
#pragma unroll 2
        for (int a = 0; a < f; ++a) {
            mixed[a * PITCH + x] = weight[a] * along_row<WIDTH>(column[c], cross + a * CROSS_PITCH);
        }
    }
    meet();
    LANE_EACH(a2, f) {
        double row[WIDTH];
        double* target = s.mixed + static_cast<long long>(i) * q * f + a2;
#pragma unroll
        for (int b = 0; b < WIDTH; ++b) {
            row[b] = b < q ? mixed[a2 * PITCH + b] : 0.0;
            if (b < q) target[b * f] = row[b];
        }
        target = s.left + static_cast<long long>(i) * f * f + a2;
#pragma unroll 2
        for (int a = 0; a < f; ++a) {
            const double value = along_row<WIDTH>(row, cross + a * CROSS_PITCH);
            target[a * f] = weight[a] * ((a == a2 ? 1.0 : 0.0) - value);
        }
    }
    meet();
}

// Invert the blocks of all items.
DEVICE void invert_items(Solver& s, double regularisation) {
    const int n = s.n, q = s.adversary.used, f = s.predictor.used, width = padded(q);
    curve_items(s, regularisation);
    if (f == 0) {  // N is diagonal
        EACH(x, n * q * q) {
            const int i = x / (q * q), b = x / q % q;
            s.inverse[x] = x % q == b ? 1.0 / s.curvature[b * n + i] : 0.0;
        }
    } else {
        const int size = scratch_needed(n, f, width), workers = working_warps(s, size);
        if (warp() < workers) {
            const int scratch = s.scratch + warp() * size;
            for (int i = warp(); i < n; i += workers) BY_WIDTH(width, invert_item, s, i, scratch);
        }
    }
    barrier();
}

// Add what these items contribute to the border between two adversary columns, in its upper triangle.
INLINE void couple_adversary(Solver& s, const Border& at, int b, int b2, int begin, int end) {
    const int n = s.n, q = at.q, m = at.pitch;
    const double *out = s.curvature_out + b * n, *out2 = s.curvature_out + b2 * n, *source = s.inverse + b * q + b2;
    double nn = 0.0, ns = 0.0, ss = 0.0, outside = 0.0;
#pragma unroll 8
    for (int i = begin; i < end; ++i) {
        const double value = far_read(source + static_cast<long long>(i) * q * q), scaled = value * out2[i];
        nn += value;
        ns += scaled;
        ss += out[i] * scaled;
        outside += out[i];
    }
    double* border = s.border + b * m + b2;
    border[at.prices * m + at.prices] -= nn;
    border[at.prices * m + at.masses] += ns;
    border[at.masses * m + at.masses] += (b == b2 ? outside : 0.0) - ss;
}

// Likewise between a predictor column and an adversary column.
INLINE void couple_players(Solver& s, const Border& at, int a, int b, int begin, int end) {
    const int n = s.n, q = at.q, f = at.f, m = at.pitch;
    const double *out_p = s.predictor_out + a * n, *out_b = s.curvature_out + b * n, *source = s.mixed + b * f + a;
    double plain = 0.0, scaled = 0.0, out_plain = 0.0, out_scaled = 0.0;
#pragma unroll 8
    for (int i = begin; i < end; ++i) {
        const double value = far_read(source + static_cast<long long>(i) * q * f);
        const double times = value * out_b[i], out = out_p[i];
        plain += value;
        scaled += times;
        out_plain += out * value;
        out_scaled += out * times;
    }
    s.border[(at.prices + b) * m + at.prices_p + a] += plain;
    s.border[(at.masses + b) * m + at.prices_p + a] -= scaled;
    s.border[a * m + at.prices + b] -= out_plain;
    s.border[a * m + at.masses + b] += out_scaled;
}

// Likewise between two predictor columns.
INLINE void couple_predictor(Solver& s, const Border& at, int a, int a2, int begin, int end) {
    const int n = s.n, f = at.f, m = at.pitch;
    const double *out_a = s.predictor_out + a * n, *out_a2 = s.predictor_out + a2 * n, *source = s.left + a * f + a2;
    double pp = 0.0, po = 0.0, oo = 0.0, outside = 0.0;
#pragma unroll 8
    for (int i = begin; i < end; ++i) {
        const double value = far_read(source + static_cast<long long>(i) * f * f), out = out_a[i], times = out * value;
        pp += value;
        po += times;
        oo += times * out_a2[i];
        outside += out;
    }
    s.border[(at.prices_p + a) * m + at.prices_p + a2] += pp;
    s.border[a * m + at.prices_p + a2] -= po;
    s.border[a * m + a2] += oo - (a == a2 ? outside : 0.0);
}

// Add what these items contribute to the border, upper triangle: the work of `count` threads, of which this one has
// this index.
DEVICE void couple_columns(Solver& s, int begin, int end, int index, int count) {
    const Border at = border_of(s);
    const int q = at.q, f = at.f, own = q * q, both = own + f * q, all = both + f * f;
    for (int x = index; x < all; x += count) {
        if (x < own) couple_adversary(s, at, x / q, x % q, begin, end);
        else if (x < both) couple_players(s, at, (x - own) % f, (x - own) / f, begin, end);
        else couple_predictor(s, at, (x - both) / f, (x - both) % f, begin, end);
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
