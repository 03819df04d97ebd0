// The best strategies so far, as mixtures of those met on the way; see metricfit/solving/fast/blending.py.

constexpr int HALVINGS = 25;

// The share t of the new losses at which the largest entry of their mixture with those kept is least. That is convex in
// t, and its slope is that of the entry which attains it. Every warp finds the same.
template <class Loss>
INLINE double best_share(int sets, const double* kept, Loss loss) {
    double low = 0.0, high = 1.0;
#pragma unroll 1
    for (int halving = 0; halving < HALVINGS; ++halving) {
        // Most often one of the two is better throughout.
        const double t = halving < 2 ? halving : 0.5 * (low + high);
        Pair top = {-HUGE_VALUE, 0.0};
#pragma unroll 4
        for (int x = lane(); x < sets; x += LANES) {
            const double change = loss(x) - kept[x];
            top = Argument()(top, Pair{kept[x] + t * change, change});
        }
        const double slope = reduce_warp(top, Argument()).second;
        if ((halving == 0 && slope >= 0.0) || (halving == 1 && slope <= 0.0)) return t;
        if (slope > 0.0) high = t;
        else low = t;
    }
    return low;
}

INLINE int column_of(const Columns& columns, int size) {
    for (int a = 0; a < columns.used; ++a) {
        if (columns.size[a] == size) return a;
    }
    return -1;
}

// Do all sizes of both strategies fit into one.
INLINE bool fit_together(const Columns& kept, const Columns& fresh) {
    int others = 0;
    LANE_EACH(a, fresh.used) others += column_of(kept, fresh.size[a]) < 0;
    return kept.used + warp_count(others) <= CAPACITY;
}

// Move a player's strategy to its mixture with a fresh one, which takes this share; they fit together.
DEVICE void mix_columns(Solver& s, Columns& kept, const Columns& fresh, double share) {
    const int n = s.n, used = kept.used;
    barrier();
    EACH(a, CAPACITY) {
        s.source[a] = a < used ? column_of(fresh, kept.size[a]) : -1;
        s.is_new[a] = a < fresh.used && column_of(kept, fresh.size[a]) < 0;
    }
    barrier();
    if (thread() == 0) {
        for (int a = 0; a < fresh.used; ++a) {
            if (!s.is_new[a]) continue;
            s.source[kept.used] = a;
            kept.size[kept.used++] = fresh.size[a];
        }
    }
    barrier();
    EACH(x, kept.used * n) {
        const int a = x / n, source = s.source[a];
        const double before = a < used ? (1.0 - share) * kept.inside[x] : 0.0;
        kept.inside[x] = before + (source < 0 ? 0.0 : share * fresh.inside[source * n + x - a * n]);
    }
    EACH(a, kept.used) {
        const double before = a < used ? (1.0 - share) * kept.mass[a] : 0.0;
        kept.mass[a] = before + (s.source[a] < 0 ? 0.0 : share * fresh.mass[s.source[a]]);
    }
    EACH(b, 2) kept.mass[CAPACITY + b] += share * (fresh.mass[CAPACITY + b] - kept.mass[CAPACITY + b]);
    barrier();
}

// Mix a strategy into the one kept, as much of it as makes the most that is lost to any size least; returns how much.
// What a mixture loses to the best set of a size is at most the mixture of what both lose. Where the sizes of both do not
// fit together it is all or nothing.
template <class Loss>
INLINE double blend(Solver& s, Columns& kept, const Columns& fresh, double* losses, bool first, Loss loss) {
    const int sets = s.n + 1;
    double share = 1.0;
    if (!first && fit_together(kept, fresh)) {
        share = best_share(sets, losses, loss);
    } else if (!first) {
        Pair top = {-HUGE_VALUE, -HUGE_VALUE};
        LANE_EACH(x, sets) top = Maximum()(top, Pair{loss(x), losses[x]});
        top = reduce_warp(top, Maximum());
        share = top.first < top.second ? 1.0 : 0.0;
    }
    barrier();
    if (share == 0.0) return share;
    if (share == 1.0) copy_strategy(fresh, kept, s.n);
    else mix_columns(s, kept, fresh, share);
    EACH(x, sets) losses[x] = share == 1.0 ? loss(x) : losses[x] + share * (loss(x) - losses[x]);
    barrier();
    return share;
}
