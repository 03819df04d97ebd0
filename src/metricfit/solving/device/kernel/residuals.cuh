// The residuals of every linear equation, and the tables between the columns in play.

// Running sums of n numbers from a stride apart, first to last or last to first; one warp's work.
template <class Source, class Target>
INLINE double run_along(int n, bool reversed, Source source, Target target) {
    double before = 0.0;
#pragma unroll 1
    for (int first = 0; first < n; first += LANES) {
        const int at = first + lane(), i = reversed ? n - 1 - at : at;
        const double sum = before + warp_running_sum(at < n ? source(i) : 0.0);
        if (at < n) target(i, sum);
        before = from_lane(sum, LANES - 1);
    }
    return before;
}

// The sum of n numbers; one warp's work.
template <class Source>
INLINE double sum_along(int n, Source source) {
    double total = 0.0;
#pragma unroll 4
    for (int i = lane(); i < n; i += LANES) total += source(i);
    return warp_sum(total);
}

// Sums along the items and the chain that the residuals need, each by one warp.
DEVICE void evaluate_sums(Solver& s, const Border& at) {
    const int n = s.n, q = at.q, f = at.f;
    const Columns &adversary = s.adversary, &predictor = s.predictor;
    const int tasks = 3 * q + (q + 2) + f;
    WARP_EACH(task, tasks + 1) {
        if (task < q) {  // what the chain makes each item cost
            const double* alpha = s.alpha_t + adversary.size[task] * (n + 1) + 1;
            const double* mass = s.chain_mass + 1;
            double* own = s.own + task * n;
            run_along(n, true, [=](int i) { return mass[i] * alpha[i]; }, [=](int i, double sum) { own[i] = sum; });
        } else if (task < 2 * q) {  // how many of the first j items each column holds
            const int b = task - q;
            const double* inside = adversary.inside + b * n;
            double* running = s.running + b * (n + 1);
            if (lane() == 0) running[0] = 0.0;
            run_along(n, false, [=](int i) { return inside[i]; }, [=](int i, double sum) { running[i + 1] = sum; });
        } else if (task < 3 * q) {
            const int b = task - 2 * q;
            const double* outside = adversary.dual_outside + b * n;
            const double total = sum_along(n, [=](int i) { return outside[i]; });
            if (lane() == 0) s.sum_outside[b] = total;
        } else if (task < 4 * q + 2) {
            const int b = task - 3 * q;
            const double* beta = s.beta_t + (b < q ? adversary.size[b] : b == q ? 0 : n) * (n + 1);
            const double* mass = s.chain_mass;
            double total = sum_along(n + 1, [=](int j) { return mass[j] * beta[j]; });
            for (int a = 0; a < f; ++a) total += predictor.mass[a] * beta[predictor.size[a]];
            if (lane() == 0) s.sum_beta[b] = total;
        } else if (task < tasks) {
            const int a = task - 4 * q - 2;
            const double *outside = predictor.dual_outside + a * n, *inside = predictor.inside + a * n;
            double total = 0.0, held = 0.0;
            LANE_EACH(i, n) {
                total += outside[i];
                held += inside[i];
            }
            const Pair sums = reduce_warp(Pair{total, held}, Add());
            if (lane() == 0) {
                s.sum_outside[q + a] = sums.first;
                s.sum_inside[a] = sums.second;
            }
        } else {
            const double *score = s.score, *mass = s.chain_mass;
            const double scores = sum_along(n, [=](int i) { return score[i]; });
            const double masses = sum_along(n + 1, [=](int j) { return mass[j]; });
            if (lane() == 0) {
                s.sum_beta[q + 2] = scores;
                s.sum_beta[q + 3] = masses;
            }
        }
    }
}

// The residual of one equation of the border.
INLINE double border_residual(const Solver& s, const Border& at, int x) {
    const int n = s.n, q = at.q, f = at.f;
    const Columns &adversary = s.adversary, &predictor = s.predictor;
    if (x < f) {
        const double* beta = s.beta + predictor.size[x] * (n + 1);
        double total = s.sum_outside[q + x] + predictor.size[x] * predictor.price[x] + predictor.dual_mass[x];
        total += beta[0] * adversary.mass[CAPACITY] + beta[n] * adversary.mass[CAPACITY + 1] - s.value;
        for (int b = 0; b < q; ++b) total += beta[adversary.size[b]] * adversary.mass[b];
        return total;
    }
    if (x < at.masses) {
        const int b = x - at.prices;
        return s.running[b * (n + 1) + n] - adversary.size[b] * adversary.mass[b];
    }
    if (x < at.prices_p) {
        const int b = x - at.masses;
        if (b < q) {
            return s.level - adversary.dual_mass[b] + s.sum_beta[b] - adversary.size[b] * adversary.price[b] -
                   s.sum_outside[b];
        }
        const double scores = b == q ? 0.0 : s.sum_beta[q + 2];
        return s.level - adversary.dual_mass[CAPACITY + b - q] + s.sum_beta[b] - scores;
    }
    if (x < at.levels) {
        const int a = x - at.prices_p;
        return predictor.size[a] * predictor.mass[a] - s.sum_inside[a];
    }
    if (x == at.levels) {
        double total = adversary.mass[CAPACITY] + adversary.mass[CAPACITY + 1] - 1.0;
        for (int b = 0; b < q; ++b) total += adversary.mass[b];
        return total;
    }
    double total = 1.0 - s.sum_beta[q + 3];
    for (int a = 0; a < f; ++a) total -= predictor.mass[a];
    return total;
}

// The tables between the columns in play.
DEVICE void evaluate_tables(Solver& s, const Border& at) {
    const int q = at.q, f = at.f, sets = s.n + 1, pitch = s.pitch;
    WARP_EACH(b, pitch) {
        const double* alpha = s.alpha_t + s.adversary.size[smaller(b, q - 1)] * sets;
        LANE_EACH(j, sets) s.chain_alpha[j * pitch + b] = b < q ? alpha[j] : 0.0;
    }
    EACH(x, whole_strips(f) * CROSS_PITCH) {
        const int a = x / CROSS_PITCH, b = x % CROSS_PITCH;
        s.cross[x] = a < f && b < q ? s.alpha[s.predictor.size[a] * sets + s.adversary.size[b]] : 0.0;
    }
}

// For every item of a range, alpha between the columns of both players times a number for each column of the predictor, or of the
// adversary, (columns, n): take(column, item, sum) for those of the other.
template <bool PREDICTOR, class Take>
INLINE void times_cross(const Solver& s, Range items, const double* vector, Take take) {
    const int n = s.n, f = s.predictor.used, q = s.adversary.used;
    const int rows = PREDICTOR ? q : f, depth = PREDICTOR ? f : q;
    const int strips = whole_strips(items.end - items.begin) / (2 * TILE);
    const double* cross = s.cross;
    // The depth is filled up, so that no operand is left over to be waited for alone.
    WARP_EACH(task, in_tiles(rows) * strips) {
        const int row = task / strips * TILE, first = items.begin + task % strips * 2 * TILE;
        Tile sum[1][2] = {};
        add_product(sum, whole_strips(depth),
                    [=](int x, int k) { return cross[PREDICTOR ? k * CROSS_PITCH + row + x : (row + x) * CROSS_PITCH + k]; },
                    [=](int k, int i) {
                        return k < depth && first + i < items.end ? far_read(vector + k * n + first + i) : 0.0;
                    });
        each_entry(sum, [=](int x, int i, double value) {
            if (row + x < rows && first + i < items.end) take(row + x, first + i, value);
        });
    }
}

// The tables between the columns in play, and the residuals of every linear equation.
DEVICE void evaluate(Solver& s) {
    place_chain(s);
    const Border at = border_of(s);
    const int n = s.n, q = at.q, sets = n + 1, pitch = s.pitch;
    const Columns &adversary = s.adversary, &predictor = s.predictor;
    evaluate_tables(s, at);
    evaluate_sums(s, at);
    barrier();
    times_cross<true>(s, {0, n}, predictor.inside, [&](int b, int i, double value) {
        const int x = b * n + i;
        value += s.own[x] - s.score[i] + adversary.price[b];
        s.residual_item[x] = value - adversary.dual_inside[x] + adversary.dual_outside[x];
    });
    times_cross<false>(s, {0, n}, adversary.inside, [&](int a, int i, double value) {
        const int x = a * n + i;
        s.residual_predictor[x] = value - predictor.price[a] + predictor.dual_inside[x] - predictor.dual_outside[x];
    });
    EACH(j, sets) {
        double value = s.beta_t[j] * adversary.mass[CAPACITY] + s.beta_t[n * sets + j] * adversary.mass[CAPACITY + 1];
#pragma unroll 4
        for (int b = 0; b < q; ++b) {
            value += s.beta_t[adversary.size[b] * sets + j] * adversary.mass[b];
            value += s.chain_alpha[j * pitch + b] * s.running[b * sets + j];
        }
        s.residual_chain[j] = value - s.value + s.chain_slack[j];
    }
    EACH(x, at.m) s.residual_border[x] = border_residual(s, at, x);
    barrier();
}
