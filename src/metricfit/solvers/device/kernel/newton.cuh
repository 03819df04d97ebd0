// The right-hand sides of the Newton system, and its solution with the factors of items, chain and border.

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
