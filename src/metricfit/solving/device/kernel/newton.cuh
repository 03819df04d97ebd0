// The right-hand sides of the Newton system, and its solution with the factors of items, chain and border.

// What this block's items add to the right-hand sides of both equations of a column, of its price (first) and of its mass;
// one warp's work. The adversary's columns come first.
INLINE Pair shares_of_targets(const Solver& s, const Border& at, int column) {
    const int count = s.mine.end - s.mine.begin, a = column - at.q;
    const int begin = (a < 0 ? column : a) * s.n + s.mine.begin;
    const Columns& columns = a < 0 ? s.adversary : s.predictor;
    const double *goal = (a < 0 ? s.goal : s.goal_predictor).outside + begin, *outside = columns.outside + begin;
    const double *out = (a < 0 ? s.curvature_out : s.predictor_out) + begin, *own = s.own + begin;
    const double *along = s.along + begin, *rhs = s.rhs_predictor + begin, *inverse = s.predictor_inverse + begin;
    Pair total = {0.0, 0.0};
#pragma unroll 2
    for (int i = lane(); i < count; i += LANES) {
        const double answer = a < 0 ? own[i] : rhs[i] * inverse[i] - along[i];
        total.first -= answer;
        total.second += goal[i] * reciprocal(outside[i]) * (a < 0 ? 1.0 : -1.0) + out[i] * answer;
    }
    return reduce_warp(total, Add());
}

// The right-hand side of one equation of the border, but for the chain's share.
INLINE double border_target(const Solver& s, const Border& at, int x) {
    const int q = at.q, b = x - at.masses;
    double total = 0.0;
    if (x < at.levels && !(b >= q && x < at.prices_p)) {
        for (int block = 0; block < team(); ++block) total += s.shares[block][x];
    }
    if (x < at.f) total -= s.goal_predictor.mass[x] / s.predictor.mass[x];
    if (b >= 0 && x < at.prices_p) {
        const int slot = b < q ? b : CAPACITY + b - q;
        total += s.goal.mass[slot] / s.adversary.mass[slot];
    }
    return total - s.residual_border[x];
}

// N^-1 times a vector of each of this block's items, (adversary, n); a thread has an item and a column, so that N^-1 is
// read in order.
template <class Take>
INLINE void times_inverse(const Solver& s, const double* vector, Take take) {
    const int n = s.n, q = s.adversary.used;
    EACH(x, own_count(s, q)) {
        const int i = s.mine.begin + x / q, b = x % q;
        const double* column = s.inverse + static_cast<long long>(i) * q * q + b;
        double value = 0.0;
#pragma unroll 8
        for (int b2 = 0; b2 < q; ++b2) value += far_read(column + b2 * q) * vector[b2 * n + i];
        take(b * n + i, value);
    }
    barrier();
}

// What this block's items alone would do for these targets: own = N^-1 rhs, along = E^-1 A own.
DEVICE void answer_alone(Solver& s) {
    const int n = s.n, f = s.predictor.used;
    const Columns &adversary = s.adversary, &predictor = s.predictor;
    struct Answer {
        double value, along;
    };
    each_ahead(own_count(s, f),
               [&](int y) {
                   const int x = own_place(s, y).at;
                   const double value = s.goal_predictor.outside[x] * reciprocal(predictor.outside[x]) -
                                        s.goal_predictor.inside[x] * reciprocal(predictor.inside[x]) -
                                        s.residual_predictor[x];
                   return Answer{value, value * s.predictor_inverse[x]};
               },
               [&](int y, const Answer& found) {
                   const int x = own_place(s, y).at;
                   s.rhs_predictor[x] = found.value;
                   s.along[x] = found.along;
               });
    EACH(j, n + 1) s.rhs_chain[j] = s.residual_chain[j] + s.goal_chain[j] / s.chain_mass[j];
    barrier();
    times_cross<true>(s, s.mine, s.along, [&](int b, int i, double value) {
        const int x = b * n + i;
        value += s.goal.inside[x] * reciprocal(adversary.inside[x]);
        value -= s.goal.outside[x] * reciprocal(adversary.outside[x]);
        value -= s.residual_item[x];
        s.rhs_item[x] = value;
        if (f == 0) tell_far(s, s.own + x, value / s.curvature[x]);
    });
    barrier();
    if (f > 0) {
        times_inverse(s, s.rhs_item, [&](int x, double value) { tell_far(s, s.own + x, value); });
        times_cross<false>(s, s.mine, s.own, [&](int a, int i, double value) {
            s.along[a * n + i] = value * s.predictor_inverse[a * n + i];
        });
    }
    team_barrier();
}

// The step of the marginals of this block's items, once the chain's and the border's are known.
DEVICE void answer_together(Solver& s) {
    const Border at = border_of(s);
    const int n = s.n, f = at.f;
    const double* step = s.step;
    EACH(y, own_count(s, f)) {
        const auto [a, x] = own_place(s, y);
        const double value = s.predictor_out[x] * step[a] - step[at.prices_p + a];
        s.along[x] = value * s.predictor_inverse[x];
        s.goal_predictor.step[x] = value - s.rhs_predictor[x];
    }
    barrier();
    times_cross<true>(s, s.mine, s.along, [&](int b, int i, double against) {
        const int x = b * n + i;
        double value = s.rhs_item[x] - s.running[b * (n + 1) + i];
        value += s.curvature_out[x] * step[at.masses + b] - step[at.prices + b];
        value -= against;
        s.own[x] = value;
        if (f == 0) s.goal.step[x] = value / s.curvature[x];
    });
    barrier();
    if (f == 0) return;
    times_inverse(s, s.own, [&](int x, double value) { s.goal.step[x] = value; });
    times_cross<false>(s, s.mine, s.goal.step, [&](int a, int i, double value) {
        const int x = a * n + i;
        s.goal_predictor.step[x] = (s.goal_predictor.step[x] + value) * s.predictor_inverse[x];
    });
    barrier();
}

// Filter the chain's right-hand side: the items' answers so far first, then L^-1 and the inverse variances; and this
// block's share of the border's.
INLINE void reduce_targets(Solver& s, const Border& at) {
    const int n = s.n, q = at.q, pitch = s.pitch;
    const double* precision = quick + s.precision;
    double* step_chain = quick + s.step_chain;
    WARP_EACH(b, q) {
        const double* own = s.own + b * n;
        double* running = s.running + b * (n + 1);
        if (lane() == 0) running[0] = 0.0;
        run_along(n, false, [=](int i) { return own[i]; }, [=](int i, double sum) { running[i + 1] = sum; });
    }
    barrier();
    EACH(j, n + 1) {
        double value = s.rhs_chain[j];
#pragma unroll 4
        for (int b = 0; b < q; ++b) value += s.chain_alpha[j * pitch + b] * s.running[b * (n + 1) + j];
        step_chain[j] = value;
    }
    barrier();
    solve_chain(s, false, [&](int index, int workers) {
        for (int x = index; x < q + at.f; x += workers) {
            const Pair found = shares_of_targets(s, at, x);
            if (lane() > 0) continue;
            tell(s, &s.shares[rank()][x < q ? at.prices + x : at.prices_p + x - q], found.first);
            tell(s, &s.shares[rank()][x < q ? at.masses + x : x - q], found.second);
        }
    });
    EACH(j, n + 1) step_chain[j] *= precision[j];
    team_barrier();
}

// Solve for the step that removes the residuals and meets the complementarity targets, with what the items would do
// alone.
DEVICE void direction(Solver& s) {
    const Border at = border_of(s);
    const int n = s.n, q = at.q, m = at.m, pitch = s.pitch;
    const double* precision = quick + s.precision;
    double* step_chain = quick + s.step_chain;
    reduce_targets(s, at);
    // Each warp has some of the sets, so that innovations are read in order, and MANY at a time.
    constexpr int MANY = 12;
    double* mine = s.vectors[warp()];
    LANE_EACH(x, m) {
        double total = 0.0;
#pragma unroll 1
        for (int first = warp(); first <= n; first += MANY * warps()) {
            double known[MANY];
#pragma unroll
            for (int c = 0; c < MANY; ++c) {
                known[c] = s.innovation[static_cast<long long>(smaller(first + c * warps(), n)) * m + x];
            }
#pragma unroll
            for (int c = 0; c < MANY; ++c) {
                const int j = first + c * warps();
                total += known[c] * (j <= n ? step_chain[smaller(j, n)] : 0.0);
            }
        }
        mine[x] = total;
    }
    barrier();
    EACH(x, m) {
        double total = border_target(s, at, x);
        for (int w = 0; w < warps(); ++w) total -= s.vectors[w][x];
        s.step[x] = total;
    }
    barrier();
    if (warp() == 0) solve_border(s);
    barrier();
#pragma unroll 1
    for (int first = warp(); first <= n; first += MANY * warps()) {
        double total[MANY] = {};
#pragma unroll 1
        for (int x = lane(); x < m; x += LANES) {
            double known[MANY];
#pragma unroll
            for (int c = 0; c < MANY; ++c) {
                known[c] = s.innovation[static_cast<long long>(smaller(first + c * warps(), n)) * m + x];
            }
#pragma unroll
            for (int c = 0; c < MANY; ++c) total[c] += known[c] * s.step[x];
        }
#pragma unroll
        for (int c = 0; c < MANY; ++c) {
            const int j = first + c * warps();
            total[c] = warp_sum(total[c]);
            if (lane() == 0 && j <= n) step_chain[j] += total[c] * precision[j];
        }
    }
    barrier();
    solve_chain(s, true, [](int, int) {});
    // What the chain's step means for the items before each set.
    WARP_EACH(b, q) {
        const double *alpha = s.chain_alpha + pitch + b, *step = step_chain + 1;
        double* running = s.running + b * (n + 1);
        run_along(n, true, [=](int j) { return alpha[j * pitch] * step[j]; },
                  [=](int j, double sum) { running[j] = sum; });
    }
    barrier();
    answer_together(s);
}
