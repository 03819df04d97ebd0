// Bringing new sizes into play without leaving the interior; see metricfit/solving/fast/growth.py.

// Spread `size` items over s.cost so that share and 1 - share are on the central path; returns the price.
DEVICE double central_column(Solver& s, int size, double mass, double mu) {
    const int n = s.n;
    const double sharpness = mass / mu;
    Pair ends = {-HUGE_VALUE, -HUGE_VALUE};
    EACH(i, n) ends = {larger(ends.first, s.cost[i]), larger(ends.second, -s.cost[i])};
    ends = block_maxima(s.slots, ends.first, ends.second);
    double low = -ends.second - (n + 2.0) / sharpness, high = ends.first + (n + 2.0) / sharpness;
    double price = 0.5 * (low + high);
    for (int pass = 0; pass < 100; ++pass) {
        double mine = 0.0, slope = 0.0;
        EACH(i, n) {
            const double c = (s.cost[i] - price) * sharpness, root = sqrt(c * c + 4.0);
            const double x = c >= 0.0 ? 2.0 / (c + 2.0 + root) : 1.0 - 2.0 / (2.0 - c + root);
            s.share[i] = x;
            mine += x;
            slope += 1.0 / (1.0 / (x * x) + 1.0 / ((1.0 - x) * (1.0 - x)));
        }
        const Pair sums = block_sums(s.slots, mine, slope);
        if (absolute(sums.first - size) <= 1e-10 * size) break;
        if (sums.first > size) high = price;
        else low = price;
        price += (size - sums.first) / (sums.second * sharpness + 1e-300);
        if (!(low < price && price < high)) price = 0.5 * (low + high);
    }
    return price;
}

// Scale a player's columns to make room for a new one.
INLINE void dilute(Columns& columns, int n, double factor) {
    EACH(x, columns.used * n) {
        columns.inside[x] *= factor;
        columns.outside[x] *= factor;
    }
    EACH(a, columns.used) columns.mass[a] *= factor;
    EACH(b, 2) columns.mass[CAPACITY + b] *= factor;
}

// Enter a column of this size and mass in the books; its marginals are the caller's.
INLINE void enter(Columns& columns, int size, double mass, double price) {
    const int a = columns.used;
    barrier();
    if (thread() == 0) {
        columns.mass[a] = mass;
        columns.dual_mass[a] = 0.0;
        columns.price[a] = price;
        columns.size[a] = size;
        columns.member[size] = 1;
        columns.used = a + 1;
    }
    barrier();
}

// Put a column into play, centred at the values in s.cost.
INLINE void open_column(Solver& s, Columns& columns, int size, double mass, double mu) {
    mu *= ITEM_SHARE;
    const double price = central_column(s, size, mass, mu);
    const int first = columns.used * s.n;
    EACH(i, s.n) {
        const double inside = mass * s.share[i], outside = mass * (1.0 - s.share[i]);
        columns.inside[first + i] = inside;
        columns.outside[first + i] = outside;
        columns.dual_inside[first + i] = mu / inside;
        columns.dual_outside[first + i] = mu / outside;
    }
    enter(columns, size, mass, -price);
}

// What each item costs the adversary in a set of this size, against the predictor.
DEVICE void item_costs(Solver& s, int size) {
    const int n = s.n, f = s.predictor.used;
    const double* alpha = s.alpha_t + size * (n + 1);
    if (warp() == 0) {
        const double* mass = s.chain_mass;
        double* share = s.share;
        run_along(n, true, [=](int i) { return mass[i + 1] * alpha[i + 1]; },
                  [=](int i, double sum) { share[i] = sum; });
    }
    barrier();
    EACH(i, n) {
        double cost = s.share[i] - s.score[i];
        for (int a = 0; a < f; ++a) cost += alpha[s.predictor.size[a]] * s.predictor.inside[a * n + i];
        s.cost[i] = cost;
    }
    barrier();
}

// Let the adversary play sets of this size too.
DEVICE void add_adversary(Solver& s, int size, double mass, double mu) {
    barrier();
    dilute(s.adversary, s.n, 1.0 - mass);
    item_costs(s, size);
    open_column(s, s.adversary, size, mass, mu);
}

// Let the adversary play sets of this size too, in place of sets a little smaller and larger: every item keeps its
// probability, and the payoffs hardly change. False if the neighbours are too rare to give `least` mass.
DEVICE bool split_adversary(Solver& s, int size, double mu, double least) {
    Columns& adversary = s.adversary;
    const int n = s.n, used = adversary.used;
    int below = -1, above = -1;
    for (int b = 0; b < used; ++b) {
        const int other = adversary.size[b];
        if (other < size && (below < 0 || other > adversary.size[below])) below = b;
        if (other > size && (above < 0 || other < adversary.size[above])) above = b;
    }
    if (below < 0 || above < 0) return false;
    const double low = adversary.size[below], high = adversary.size[above];
    const double share = (size - low) / (high - low);
    const double mass = 0.5 * smaller(adversary.mass[below] / (1.0 - share), adversary.mass[above] / share);
    if (mass < least) return false;
    const double from_below = mass * (1.0 - share) / adversary.mass[below];
    const double from_above = mass * share / adversary.mass[above];
    const double price = (1.0 - share) * adversary.price[below] + share * adversary.price[above];
    item_costs(s, size);
    EACH(i, n) {
        const int lower = below * n + i, upper = above * n + i, fresh = used * n + i;
        const double inside = from_below * adversary.inside[lower] + from_above * adversary.inside[upper];
        const double outside = from_below * adversary.outside[lower] + from_above * adversary.outside[upper];
        adversary.inside[lower] *= 1.0 - from_below;
        adversary.outside[lower] *= 1.0 - from_below;
        adversary.inside[upper] *= 1.0 - from_above;
        adversary.outside[upper] *= 1.0 - from_above;
        const double slack = ITEM_SHARE * smaller(mu / inside, mu / outside), value = s.cost[i] + price;
        adversary.inside[fresh] = inside;
        adversary.outside[fresh] = outside;
        adversary.dual_inside[fresh] = larger(value, 0.0) + slack;
        adversary.dual_outside[fresh] = larger(-value, 0.0) + slack;
    }
    if (thread() == 0) {
        adversary.mass[below] *= 1.0 - from_below;
        adversary.mass[above] *= 1.0 - from_above;
    }
    enter(adversary, size, mass, price);
    return true;
}

// How much of a set of the chain goes into sets of `size`, next to which it is: half of its probability on the side
// where that has the smaller moment, and as much as balances it on the other.
INLINE double moved_to(int size, int j, double mass, Pair moments) {
    const double own = j < size ? moments.first : moments.second, other = j < size ? moments.second : moments.first;
    if (j == size) return 0.5 * mass;
    return own > 0.0 ? 0.5 * mass * smaller(1.0, other / own) : 0.0;
}

// Let the predictor play all sets of this size, not only the chain's. The new column gets a little of everything, spread
// as on the central path, and most of its mass from the chain's sets of about its size.
DEVICE void add_predictor(Solver& s, int size, double mass, double mu) {
    Columns& predictor = s.predictor;
    const int n = s.n, q = s.adversary.used, fresh = predictor.used * n;
    const int wide = n / 8 > 2 ? n / 8 : 2;
    const int first = size - wide > 1 ? size - wide : 1, last = size + wide < n - 1 ? size + wide : n - 1;
    mass *= 0.3;
    dilute(predictor, n, 1.0 - mass);
    EACH(j, n + 1) s.chain_mass[j] *= 1.0 - mass;
    EACH(i, n) {
        double loss = 0.0;
        for (int b = 0; b < q; ++b) {
            loss -= s.alpha[size * (n + 1) + s.adversary.size[b]] * s.adversary.inside[b * n + i];
        }
        s.cost[i] = loss;
    }
    barrier();
    double below = 0.0, above = 0.0, mine = 0.0;
    EACH(x, last - first + 1) {
        const double moment = s.chain_mass[first + x] * (first + x - size);
        if (moment < 0.0) below -= moment;
        else above += moment;
    }
    const Pair moments = block_sums(s.slots, below, above);
    EACH(x, last - first + 1) mine += moved_to(size, first + x, s.chain_mass[first + x], moments);
    const double taken = block_sums(s.slots, mine, 0.0).first;
    const double price = central_column(s, size, mass + taken, ITEM_SHARE * mu);
    EACH(i, n) {
        double from_chain = 0.0;
        for (int j = i + 1 > first ? i + 1 : first; j <= last; ++j) {
            from_chain += moved_to(size, j, s.chain_mass[j], moments);
        }
        const double inside = mass * s.share[i] + from_chain;
        const double outside = mass * (1.0 - s.share[i]) + larger(taken - from_chain, 0.0);
        const double slack = ITEM_SHARE * smaller(mu / inside, mu / outside), value = s.cost[i] - price;
        predictor.inside[fresh + i] = inside;
        predictor.outside[fresh + i] = outside;
        predictor.dual_inside[fresh + i] = larger(value, 0.0) + slack;
        predictor.dual_outside[fresh + i] = larger(-value, 0.0) + slack;
    }
    barrier();
    EACH(x, last - first + 1) s.chain_mass[first + x] -= moved_to(size, first + x, s.chain_mass[first + x], moments);
    enter(predictor, size, mass + taken, -price);
}

// Share a slack that is larger than the central path has it out over a column's items.
INLINE void relax_columns(Columns& columns, int n, double lift, double mu) {
    EACH(a, columns.used) columns.dual_mass[a] += lift;
    barrier();
    EACH(x, columns.used * n) {
        const int a = x / n;
        const double spread = (columns.dual_mass[a] - mu / columns.mass[a]) / (n + 1.0);
        if (spread > 0.0) {
            columns.dual_inside[x] += spread;
            columns.dual_outside[x] += spread;
        }
    }
    barrier();
    EACH(a, columns.used) {
        const double spread = (columns.dual_mass[a] - mu / columns.mass[a]) / (n + 1.0);
        if (spread > 0.0) columns.dual_mass[a] -= spread * n;
    }
    barrier();
}

INLINE double floor_of(double slack, double mass, double mu) { return slack > 0.0 ? slack : mu / mass; }

// Enlarge slacks until every linear equation holds; the residuals are fresh.
DEVICE void restore(Solver& s, double mu) {
    const Border at = border_of(s);
    Columns &adversary = s.adversary, &predictor = s.predictor;
    const int n = s.n, q = at.q, f = at.f;
    double lift = -HUGE_VALUE;
    WARP_EACH(b, q + 2) {
        const int slot = b < q ? b : CAPACITY + b - q;
        double short_of = 0.0;
        for (int i = lane(); b < q && i < n; i += LANES) {
            const double excess = s.residual_item[b * n + i];
            if (excess > 0.0) {
                adversary.dual_inside[b * n + i] += excess;
            } else {
                adversary.dual_outside[b * n + i] -= excess;
                short_of += excess;
            }
        }
        const double slack = s.residual_border[at.masses + b] + adversary.dual_mass[slot] + warp_sum(short_of);
        lift = larger(lift, 0.5 * floor_of(adversary.dual_mass[slot], adversary.mass[slot], mu) - slack);
        meet();
        if (lane() == 0) adversary.dual_mass[slot] = slack;
    }
    lift = block_maximum(s.slots, lift);
    if (thread() == 0) s.level += lift;
    EACH(b, 2) adversary.dual_mass[CAPACITY + b] += lift;
    relax_columns(adversary, n, lift, mu);

    lift = -HUGE_VALUE;
    EACH(j, n + 1) {
        const double slack = s.chain_slack[j] - s.residual_chain[j];
        lift = larger(lift, 0.5 * floor_of(s.chain_slack[j], s.chain_mass[j], mu) - slack);
        s.chain_slack[j] = slack;
    }
    WARP_EACH(a, f) {
        double excess_sum = 0.0;
        LANE_EACH(i, n) {
            const double excess = s.residual_predictor[a * n + i];
            if (excess > 0.0) {
                predictor.dual_outside[a * n + i] += excess;
                excess_sum += excess;
            } else {
                predictor.dual_inside[a * n + i] -= excess;
            }
        }
        const double slack = predictor.dual_mass[a] - s.residual_border[a] - warp_sum(excess_sum);
        lift = larger(lift, 0.5 * floor_of(predictor.dual_mass[a], predictor.mass[a], mu) - slack);
        meet();
        if (lane() == 0) predictor.dual_mass[a] = slack;
    }
    lift = block_maximum(s.slots, lift);
    if (thread() == 0) s.value += lift;
    EACH(j, n + 1) s.chain_slack[j] += lift;
    relax_columns(predictor, n, lift, mu);
}

// Take sizes out of play that no near-optimal strategy uses: a column whose best set gains less than the level by some
// amount has at most mass gap over that amount in any solution. Costs are gains with the sign -1.
DEVICE void drop_columns(Columns& columns, int n, const double* gain, double sign, double level, double gap) {
    const int used = columns.used;
    unsigned drop = 0;
    for (int a = 0; a < used; ++a) {
        if (sign * (level - gain[columns.size[a]]) > 20.0 * gap && columns.mass[a] < smaller(0.01, gap)) drop |= 1u << a;
    }
    barrier();
    int kept = 0;
    for (int a = 0; a < used; ++a) {
        const bool useless = drop >> a & 1u;
        if (!useless && kept < a) {
            EACH(i, n) {
                columns.inside[kept * n + i] = columns.inside[a * n + i];
                columns.outside[kept * n + i] = columns.outside[a * n + i];
                columns.dual_inside[kept * n + i] = columns.dual_inside[a * n + i];
                columns.dual_outside[kept * n + i] = columns.dual_outside[a * n + i];
            }
        }
        if (thread() == 0) {
            if (useless) {
                columns.member[columns.size[a]] = 0;
            } else if (kept < a) {
                columns.mass[kept] = columns.mass[a];
                columns.dual_mass[kept] = columns.dual_mass[a];
                columns.price[kept] = columns.price[a];
                columns.size[kept] = columns.size[a];
            }
        }
        if (!useless) ++kept;
    }
    barrier();
    if (thread() == 0) columns.used = kept;
    barrier();
}
