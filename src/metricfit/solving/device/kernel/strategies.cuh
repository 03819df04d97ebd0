// Strategies as such: made exact, copied, averaged over items that ought to be alike.

// Remove rounding from the marginals, so that the bounds computed from them are valid; one column to a warp.
INLINE void tidy_columns(Columns& columns, int n, double total) {
    WARP_EACH(a, columns.used) {
        const double mass = columns.mass[a] / total;
        double *in = columns.inside + a * n, *out = columns.outside + a * n;
        Pair sums = {0.0, 0.0};
        LANE_EACH(i, n) {
            const double scale = mass / (in[i] + out[i]);
            in[i] *= scale;
            out[i] *= scale;
            sums = Add()(sums, Pair{in[i], out[i]});
        }
        sums = reduce_warp(sums, Add());
        const double missing = columns.size[a] * mass - sums.first;
        const double move = missing > 0.0 ? missing / sums.second : -missing / sums.first;
        LANE_EACH(i, n) {
            if (missing > 0.0) {
                in[i] += move * out[i];
                out[i] *= 1.0 - move;
            } else {
                out[i] += move * in[i];
                in[i] *= 1.0 - move;
            }
        }
        meet();
        if (lane() == 0) columns.mass[a] = mass;
    }
}

// Make both players' strategies exact mixtures of sets.
DEVICE void tidy(Solver& s) {
    Columns &adversary = s.adversary, &predictor = s.predictor;
    double total = adversary.mass[CAPACITY] + adversary.mass[CAPACITY + 1], chain = 0.0;
    for (int b = 0; b < adversary.used; ++b) total += adversary.mass[b];
    EACH(j, s.n + 1) chain += s.chain_mass[j];
    chain = block_sum(s.slots, chain);
    for (int a = 0; a < predictor.used; ++a) chain += predictor.mass[a];
    barrier();
    EACH(b, 2) adversary.mass[CAPACITY + b] /= total;
    tidy_columns(adversary, s.n, total);
    EACH(j, s.n + 1) s.chain_mass[j] /= chain;
    tidy_columns(predictor, s.n, chain);
    barrier();
}

// Copy a player's strategy, without its dual variables.
DEVICE void copy_strategy(const Columns& source, Columns& target, int n) {
    const int used = source.used;
    EACH(x, used * n) target.inside[x] = source.inside[x];
    EACH(a, CAPACITY + 2) target.mass[a] = source.mass[a];
    EACH(a, used) target.size[a] = source.size[a];
    if (thread() == 0) target.used = used;
    barrier();
}

// Average a strategy over the pools of items [first[x], first[x + 1]).
INLINE void average(Columns& columns, const int* first, int pools, int n) {
    EACH(task, columns.used * pools) {
        const int x = task % pools, begin = first[x], end = first[x + 1];
        if (end - begin == 1) continue;
        double* inside = columns.inside + (task / pools) * n;
        double total = 0.0;
        for (int i = begin; i < end; ++i) total += inside[i];
        for (int i = begin; i < end; ++i) inside[i] = total / (end - begin);
    }
    barrier();
}

// Average the adversary over neighbours until the predictor's gains at this size fall along the items: pool
// adjacent violators. Averaging never raises a best response, and it irons out the noise of marginals that ought
// to be equal. The pools are found by one thread.
DEVICE void pool(Solver& s, int size) {
    const int n = s.n, q = s.adversary.used;
    copy_strategy(s.adversary, s.pooled, n);
    EACH(i, n) {
        double gain = 0.0;
#pragma unroll 8
        for (int b = 0; b < q; ++b) {
            gain += s.alpha[size * (n + 1) + s.adversary.size[b]] * s.adversary.inside[b * n + i];
        }
        s.cost[i] = gain;
    }
    barrier();
    if (thread() == 0) {
        // The last pool is kept at hand; those before it are in memory.
        int pools = 0, last_begin = 0;
        double last_level = s.cost[0], last_weight = 1.0;
#pragma unroll 4
        for (int i = 1; i <= n; ++i) {
            int begin = i;
            double level = i < n ? s.cost[i] : -HUGE_VALUE, weight = 1.0;
            while (level >= last_level) {
                const double before = last_weight;
                level = last_level + (level - last_level) * weight / (before + weight);
                weight += before;
                begin = last_begin;
                if (pools == 0) {
                    last_level = HUGE_VALUE;
                } else {
                    --pools;
                    last_level = s.pool_level[pools];
                    last_weight = s.pool_weight[pools];
                    last_begin = s.first[pools];
                }
            }
            if (last_level < HUGE_VALUE) {
                s.first[pools] = last_begin;
                s.pool_level[pools] = last_level;
                s.pool_weight[pools] = last_weight;
                ++pools;
            }
            last_begin = begin;
            last_level = level;
            last_weight = weight;
        }
        s.first[pools] = n;
        s.pools = pools;
    }
    barrier();
    average(s.pooled, s.first, s.pools, n);
}

// Give the adversary every item whose score was cut at `reach`, and none that was cut at -reach: the interior point
// method leaves them a hair from certain, and a large score makes much of a hair. Such items are the first and the
// last. Sizes that cannot hold them are dropped.
DEVICE void settle(Solver& s, Columns& adversary, int taken, int left) {
    const int n = s.n, free = n - taken - left;
    if (taken == 0 && left == 0) return;
    double total = (taken == 0 ? adversary.mass[CAPACITY] : 0.0) + (left == 0 ? adversary.mass[CAPACITY + 1] : 0.0);
    for (int b = 0; b < adversary.used; ++b) {
        const int rest = adversary.size[b] - taken;
        if (rest >= 0 && rest <= free) total += adversary.mass[b];
    }
    if (!(total > 0.0)) return;
    barrier();
    EACH(b, adversary.used) {
        const int rest = adversary.size[b] - taken;
        const double before = adversary.mass[b];
        const double mass = rest >= 0 && rest <= free ? before / total : 0.0;
        double *in = adversary.inside + b * n, filled = 0.0;
        for (int i = taken; i < n - left; ++i) filled += in[i] /= before;
        for (int i = 0; i < n; ++i) {
            double share = in[i];
            if (i < taken) share = 1.0;
            else if (i >= n - left) share = 0.0;
            else if (rest >= filled) share += (1.0 - share) * ((rest - filled) / larger(free - filled, 1e-300));
            else share *= rest / filled;
            in[i] = mass > 0.0 ? share * mass : 0.0;
        }
        adversary.mass[b] = mass;
    }
    EACH(b, 2) {
        const bool kept = b == 0 ? taken == 0 : left == 0;
        adversary.mass[CAPACITY + b] = kept ? adversary.mass[CAPACITY + b] / total : 0.0;
    }
    barrier();
}

// Average a strategy over items with equal scores.
DEVICE void average_ties(Solver& s, Columns& columns) {
    const int n = s.n;
    if (thread() == 0) {
        int pools = 0;
        for (int i = 0; i < n; ++i) {
            if (i == 0 || s.score[i] != s.score[i - 1]) s.first[pools++] = i;
        }
        s.first[pools] = n;
        s.pools = pools;
    }
    barrier();
    average(columns, s.first, s.pools, n);
}
