// Exact best responses of both players, for every size; each size is one thread's work.

// Least total of `size` of the n numbers v[0], v[stride], ... Starts from the number that is the answer when they
// are sorted, as they nearly are, and narrows down around means. Whatever the pivot on return, the result is not
// above the true total, by l * t - sum (t - v)_+ <= least total for every t, so bounds stay bounds.
DEVICE double smallest_sum(const double* v, int stride, int n, int size) {
    double low = -HUGE_VALUE, high = HUGE_VALUE, pivot = v[static_cast<long long>(size - 1) * stride];
    bool last = false;
    for (int pass = 0;; ++pass) {
        int less = 0, equal = 0, under = 0, over = 0;
        double sum = 0.0, sum_under = 0.0, sum_over = 0.0;
        for (int i = 0; i < n; ++i) {
            const double x = v[static_cast<long long>(i) * stride];
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
        const double total = sum + (size - less) * pivot;
        if ((less <= size && size <= less + equal) || last || pass == 60) return total;
        double next;
        if (less > size) {
            high = pivot;
            next = sum_under / larger(under, 1);
        } else {
            low = pivot;
            next = sum_over / larger(over, 1);
        }
        // Equal numbers, whose mean is off by rounding, are all that is left in between.
        last = !(next > low && next < high);
        pivot = next;
    }
}

// value[l]: payoff if the adversary answers the predictor with its best set of size l. Only every stride-th size
// and those in play are looked at; the others are set to a huge value.
DEVICE void price_adversary(Solver& s, int stride) {
    const int n = s.n, sets = n + 1, f = s.predictor.used;
    const Columns& predictor = s.predictor;
    EACH(l, sets) {
        if (l % stride != 0 && !s.adversary.member[l]) {
            s.value_l[l] = HUGE_VALUE;
            continue;
        }
        double running = 0.0, total = s.chain_mass[0] * s.beta[l], scores = 0.0;
        for (int a = 0; a < f; ++a) total += predictor.mass[a] * s.beta[predictor.size[a] * sets + l];
        for (int i = n - 1; i >= 0; --i) {
            const double mass = s.chain_mass[i + 1];
            running += mass * s.alpha[(i + 1) * sets + l];
            total += mass * s.beta[(i + 1) * sets + l];
            double cost = running - s.score[i];
            for (int a = 0; a < f; ++a) {
                cost += s.alpha[predictor.size[a] * sets + l] * predictor.inside[a * n + i];
            }
            s.grid[static_cast<long long>(i) * sets + l] = cost;
            scores += s.score[i];
        }
        if (l == n) total -= scores;
        else if (l > 0) total += smallest_sum(s.grid + l, sets, n, l);
        s.value_l[l] = total;
    }
    barrier();
}

// value[k]: payoff if the predictor answers this adversary with its best set of size k. Only every stride-th size
// and those in play are looked at; the others are set to minus a huge value.
DEVICE void price_predictor(Solver& s, const Columns& adversary, int stride, double* value) {
    const int n = s.n, sets = n + 1, q = adversary.used;
    double mine = 0.0;
    EACH(i, n) {
        double chosen = adversary.mass[CAPACITY + 1];
        for (int b = 0; b < q; ++b) chosen += adversary.inside[b * n + i];
        mine += s.score[i] * chosen;
    }
    const double base = -block_sum(s.slots, mine);
    EACH(k, sets) {
        if (k % stride != 0 && !s.predictor.member[k]) {
            value[k] = -HUGE_VALUE;
            continue;
        }
        double total = base + s.beta_t[k] * adversary.mass[CAPACITY];
        total += s.beta_t[n * sets + k] * adversary.mass[CAPACITY + 1];
        for (int b = 0; b < q; ++b) total += s.beta_t[adversary.size[b] * sets + k] * adversary.mass[b];
        double all = 0.0;
        for (int i = 0; i < n; ++i) {
            double loss = 0.0;
            for (int b = 0; b < q; ++b) loss -= s.alpha_t[adversary.size[b] * sets + k] * adversary.inside[b * n + i];
            s.grid[static_cast<long long>(i) * sets + k] = loss;
            all += loss;
        }
        if (k == n) total -= all;
        else if (k > 0) total -= smallest_sum(s.grid + k, sets, n, k);
        value[k] = total;
    }
    barrier();
}

// The best payoff among the sets of the chain, against the current adversary.
DEVICE double chain_value(Solver& s) {
    const Columns& adversary = s.adversary;
    const int n = s.n, sets = n + 1, q = adversary.used;
    EACH(b, q) {
        double running = 0.0;
        s.running[b * sets] = 0.0;
        for (int j = 1; j <= n; ++j) {
            running += adversary.inside[b * n + j - 1];
            s.running[b * sets + j] = running;
        }
    }
    double cost = 0.0;
    EACH(i, n) {
        double chosen = adversary.mass[CAPACITY + 1];
        for (int b = 0; b < q; ++b) chosen += adversary.inside[b * n + i];
        cost += s.score[i] * chosen;
    }
    cost = block_sum(s.slots, cost);
    double best = -HUGE_VALUE;
    EACH(j, sets) {
        const double* beta = s.beta + j * sets;
        double value = beta[0] * adversary.mass[CAPACITY] + beta[n] * adversary.mass[CAPACITY + 1];
        for (int b = 0; b < q; ++b) {
            value += beta[adversary.size[b]] * adversary.mass[b];
            value += s.alpha[j * sets + adversary.size[b]] * s.running[b * sets + j];
        }
        best = larger(best, value);
    }
    return block_maximum(s.slots, best) - cost;
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
