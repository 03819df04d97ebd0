// Exact best responses of both players, for every size; each size is one warp's work.

// Least total of `size` of the n numbers in a warp's memory. Starts from the number that is the answer when they are
// sorted, as they nearly are, goes on by as many places as that one was off, and narrows down around means where that
// leads nowhere. Whatever the pivot on return, the result is not above the true total, by
// l * t - sum (t - v)_+ <= least total for every t, so bounds stay bounds.
DEVICE double smallest_sum(int scratch, int n, int size) {
    const double* v = quick + scratch;
    double low = -HUGE_VALUE, high = HUGE_VALUE, pivot = v[size - 1];
    int place = size - 1;
    bool last = false;
    for (int pass = 0;; ++pass) {
        int less = 0, equal = 0, under = 0, over = 0;
        double sum = 0.0, sum_under = 0.0, sum_over = 0.0;
#pragma unroll 4
        for (int i = lane(); i < n; i += LANES) {
            const double x = v[i];
            if (x < pivot) {
                ++less;
                sum += x;
                if (x > low) {
                    ++under;
                    sum_under += x;
                }
            } else if (x == pivot) {
                ++equal;
            } else if (x < high) {
                ++over;
                sum_over += x;
            }
        }
        less = warp_count(less);
        equal = warp_count(equal);
        if ((less <= size && size <= less + equal) || last || pass == 60) {
            return warp_sum(sum) + (size - less) * pivot;
        }
        if (less > size) high = pivot;
        else low = pivot;
        place -= less > size ? less - size + 1 : less + equal - size;
        double next = place >= 0 && place < n && pass < 8 ? v[place] : high;
        if (!(next > low && next < high)) {
            const bool above = less < size;
            next = warp_sum(above ? sum_over : sum_under) / larger(warp_count(above ? over : under), 1);
        }
        // Equal numbers, whose mean is off by rounding, are all that is left in between.
        last = !(next > low && next < high);
        pivot = next;
    }
}

// For every item the sum of its marginals in all columns, each times its factor; one warp's work, and it leaves the warp
// met. Many marginals are read at a time.
INLINE void weigh_items(const Columns& columns, const double* factor, int n, double* result) {
    constexpr int MANY = 4;
    const int used = columns.used;
#pragma unroll 1
    for (int first = lane(); first < n; first += MANY * LANES) {
        double part[MANY] = {};
#pragma unroll 8
        for (int a = 0; a < used; ++a) {
            const double* inside = columns.inside + a * n;
#pragma unroll
            for (int r = 0; r < MANY; ++r) part[r] += factor[a] * inside[smaller(first + r * LANES, n - 1)];
        }
#pragma unroll
        for (int r = 0; r < MANY; ++r) {
            if (first + r * LANES < n) result[first + r * LANES] = part[r];
        }
    }
    meet();
}

// Payoff if the adversary answers the predictor with its best set of size l.
DEVICE double best_of_adversary(Solver& s, int l, int scratch) {
    double* cost = quick + scratch;
    const int n = s.n, sets = n + 1, f = s.predictor.used;
    const Columns& predictor = s.predictor;
    const double *alpha = s.alpha_t + l * sets, *beta = s.beta_t + l * sets;
    const double *mass = s.chain_mass, *score = s.score;
    double total = sum_along(sets, [=](int j) { return mass[j] * beta[j]; });
    for (int a = 0; a < f; ++a) total += predictor.mass[a] * beta[predictor.size[a]];
    if (l == 0) return total;
    double* factor = s.vectors[warp()];
    LANE_EACH(a, f) factor[a] = alpha[predictor.size[a]];
    meet();
    weigh_items(predictor, factor, n, cost);
    run_along(n, true, [=](int i) { return mass[i + 1] * alpha[i + 1]; },
              [=](int i, double sum) { cost[i] += sum - score[i]; });
    meet();
    if (l == n) return total - sum_along(n, [=](int i) { return score[i]; });
    return total + smallest_sum(scratch, n, l);
}

// Payoff if the predictor answers this adversary with its best set of size k, but for the scores.
DEVICE double best_of_predictor(Solver& s, const Columns& adversary, int k, int scratch) {
    double* loss = quick + scratch;
    const int n = s.n, sets = n + 1, q = adversary.used;
    const double *alpha = s.alpha + k * sets, *beta = s.beta + k * sets;
    double* factor = s.vectors[warp()];
    LANE_EACH(b, q) factor[b] = -alpha[adversary.size[b]];
    double total = beta[0] * adversary.mass[CAPACITY] + beta[n] * adversary.mass[CAPACITY + 1];
    total += sum_along(q, [&](int b) { return beta[adversary.size[b]] * adversary.mass[b]; });
    meet();
    if (k == 0) return total;
    weigh_items(adversary, factor, n, loss);
    if (k == n) return total - sum_along(n, [=](int i) { return loss[i]; });
    return total - smallest_sum(scratch, n, k);
}

// Price every stride-th size and those in play, each by a warp of either block that has memory of its own; the others are
// skipped.
template <class Price>
INLINE void price_sizes(Solver& s, int stride, const int* member, double* value, double skipped, Price price) {
    const int sets = s.n + 1, size = scratch_needed(s.n, 0), workers = working_warps(s, size);
    const int scratch = s.scratch + warp() * size;
    team_barrier();  // the other block may still be reading earlier prices
    if (warp() < workers) {
        const int coarse = (sets + stride - 1) / stride;
        // First those at regular distances, which would else all be one warp's.
        for (int t = warp() * team() + rank(); t < coarse + sets; t += workers * team()) {
            const int x = t < coarse ? t * stride : t - coarse;
            if (t >= coarse && x % stride == 0) continue;
            const double found = t < coarse || member[x] ? price(x, scratch) : skipped;
            if (lane() == 0) tell(s, value + x, found);
            meet();
        }
    }
    team_barrier();
}

// value[l]: payoff if the adversary answers the predictor with its best set of size l; huge where it is not priced.
DEVICE void price_adversary(Solver& s, int stride) {
    price_sizes(s, stride, s.adversary.member, s.value_l, HUGE_VALUE,
                [&](int l, int scratch) { return best_of_adversary(s, l, scratch); });
}

// What the scores are worth to this adversary.
INLINE double worth_of_scores(Solver& s, const Columns& adversary) {
    const int n = s.n;
    double mine = 0.0;
    EACH(i, n) {
        double chosen = adversary.mass[CAPACITY + 1];
#pragma unroll 8
        for (int b = 0; b < adversary.used; ++b) chosen += adversary.inside[b * n + i];
        mine += s.score[i] * chosen;
    }
    return block_sum(s.slots, mine);
}

// value[k]: payoff if the predictor answers this adversary with its best set of size k; minus a huge value where it is
// not priced.
DEVICE void price_predictor(Solver& s, const Columns& adversary, int stride, double* value) {
    const double worth = worth_of_scores(s, adversary);
    price_sizes(s, stride, s.predictor.member, value, -HUGE_VALUE,
                [&](int k, int scratch) { return best_of_predictor(s, adversary, k, scratch) - worth; });
}

// The best payoff among the sets of the chain, against the current adversary.
DEVICE double chain_value(Solver& s) {
    const Columns& adversary = s.adversary;
    const int n = s.n, sets = n + 1, q = adversary.used;
    WARP_EACH(b, q) {
        const double* inside = adversary.inside + b * n;
        double* running = s.running + b * sets;
        if (lane() == 0) running[0] = 0.0;
        run_along(n, false, [=](int i) { return inside[i]; }, [=](int i, double sum) { running[i + 1] = sum; });
    }
    const double worth = worth_of_scores(s, adversary);
    double best = -HUGE_VALUE;
    EACH(j, sets) {
        double value = s.beta_t[j] * adversary.mass[CAPACITY] + s.beta_t[n * sets + j] * adversary.mass[CAPACITY + 1];
#pragma unroll 4
        for (int b = 0; b < q; ++b) {
            value += s.beta_t[adversary.size[b] * sets + j] * adversary.mass[b];
            value += s.alpha_t[adversary.size[b] * sets + j] * s.running[b * sets + j];
        }
        best = larger(best, value);
    }
    return block_maximum(s.slots, best) - worth;
}

// Where the largest value is, and that value.
INLINE Pair largest(Solver& s, const double* value) {
    Pair best = {-HUGE_VALUE, 0.0};
    EACH(x, s.n + 1) {
        if (value[x] > best.first) best = {value[x], static_cast<double>(x)};
    }
    return reduce(s.slots, best, Argument());
}

// Index of the largest sign * value above the threshold among sizes not in play, or -1. Its neighbourhood is
// struck out, so that the next call looks elsewhere: adjacent sizes improve the game by nearly the same amount.
DEVICE int most_promising(Solver& s, double* value, double sign, const int* member, double threshold, int radius) {
    Pair best = {-HUGE_VALUE, 0.0};
    EACH(x, s.n + 1) {
        const double worth = sign * value[x];
        if (!member[x] && worth > threshold && worth > best.first) best = {worth, static_cast<double>(x)};
    }
    best = reduce(s.slots, best, Argument());
    if (best.first <= -HUGE_VALUE) return -1;
    const int found = static_cast<int>(best.second);
    EACH(x, s.n + 1) {
        if (x >= found - radius && x <= found + radius) value[x] = -sign * HUGE_VALUE;
    }
    barrier();
    return found;
}
