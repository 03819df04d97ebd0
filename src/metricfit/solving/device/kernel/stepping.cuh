// One predictor-corrector step of Mehrotra: targets, step lengths, and the move itself.

constexpr double MOST_CORRECTED = 10.0;  // largest correction of a product, in units of the product itself

// Right-hand side of one complementary pair: affine, or corrected by what the affine step left over.
INLINE double aim(double before, double x, double z, double dx, double target, bool correct) {
    if (!correct) return -x * z;
    return before + target + smaller(-dx * (before - z * dx) * reciprocal(x), -MOST_CORRECTED * before);
}

// What is known of an item in a column: both complementary pairs, the column's step of the mass, and the item's.
struct Standing {
    double inside, outside, dual_inside, dual_outside, goal_inside, goal_outside, step, mass_step;
};

INLINE Standing standing_of(const Solver& s, const Columns& columns, const Targets& goal, const double* masses,
                            int index) {
    const auto [column, x] = own_place(s, index);
    return {far_read(columns.inside + x), far_read(columns.outside + x), far_read(columns.dual_inside + x),
            far_read(columns.dual_outside + x), far_read(goal.inside + x), far_read(goal.outside + x),
            far_read(goal.step + x), masses[column]};
}

INLINE void aim_columns(const Solver& s, const Columns& columns, Targets& goal, const double* masses, double target,
                        bool correct) {
    const double share = ITEM_SHARE * target;
    if (correct) {
        each_ahead(own_count(s, columns.used), [&](int y) { return standing_of(s, columns, goal, masses, y); },
                   [&](int y, const Standing& now) {
                       const int x = own_place(s, y).at;
                       const double out_step = now.mass_step - now.step;
                       goal.inside[x] = aim(now.goal_inside, now.inside, now.dual_inside, now.step, share, true);
                       goal.outside[x] = aim(now.goal_outside, now.outside, now.dual_outside, out_step, share, true);
                   });
    } else {
        each_ahead(own_count(s, columns.used),
                   [&](int y) {
                       const int x = own_place(s, y).at;
                       return Pair{far_read(columns.inside + x) * far_read(columns.dual_inside + x),
                                   far_read(columns.outside + x) * far_read(columns.dual_outside + x)};
                   },
                   [&](int y, const Pair& products) {
                       const int x = own_place(s, y).at;
                       goal.inside[x] = -products.first;
                       goal.outside[x] = -products.second;
                   });
    }
    EACH(a, columns.used) {
        goal.mass[a] = aim(goal.mass[a], columns.mass[a], columns.dual_mass[a], masses[a], target, correct);
    }
}

// Largest relative decrease of a variable (first) and of its dual (second).
INLINE void block_pair(Pair& most, double x, double z, double dx, double rhs) {
    const double per_x = reciprocal(x);
    most.first = larger(most.first, -dx * per_x);
    most.second = larger(most.second, (dx - rhs * reciprocal(z)) * per_x);
}

INLINE Pair blocking_columns(const Solver& s, const Columns& columns, const Targets& goal, const double* masses) {
    Pair most = {1e-12, 1e-12};
    each_ahead(own_count(s, columns.used), [&](int y) { return standing_of(s, columns, goal, masses, y); },
               [&](int, const Standing& now) {
                   const double out_step = now.mass_step - now.step;
                   block_pair(most, now.inside, now.dual_inside, now.step, now.goal_inside);
                   block_pair(most, now.outside, now.dual_outside, out_step, now.goal_outside);
                   // A comparison with NaN is false; a sum that is not finite must not be overlooked.
                   if (!is_finite(now.step)) most.first = HUGE_VALUE;
               });
    EACH(a, columns.used) {
        block_pair(most, columns.mass[a], columns.dual_mass[a], masses[a], goal.mass[a]);
        if (!is_finite(masses[a])) most.first = HUGE_VALUE;
    }
    return most;
}

// One pair after a step of these lengths; returns its product, and moves if told to.
INLINE double move_pair(double& x, double& z, double dx, double rhs, double own, double dual, bool commit) {
    const double moved = x + own * dx, moved_dual = z + dual * (rhs - z * dx) * reciprocal(x);
    if (commit) {
        x = moved;
        z = moved_dual;
    }
    return moved * moved_dual;
}

// The products of this block's items, and of the columns, which the first block counts.
INLINE double move_columns(const Solver& s, Columns& columns, const Targets& goal, const double* masses, double own,
                           double dual, bool commit) {
    double total = 0.0;
    each_ahead(own_count(s, columns.used), [&](int y) { return standing_of(s, columns, goal, masses, y); },
               [&](int y, Standing now) {
                   const double out_step = now.mass_step - now.step;
                   total += move_pair(now.inside, now.dual_inside, now.step, now.goal_inside, own, dual, commit);
                   total += move_pair(now.outside, now.dual_outside, out_step, now.goal_outside, own, dual, commit);
                   if (!commit) return;
                   const int x = own_place(s, y).at;
                   tell_far(s, columns.inside + x, now.inside);
                   tell_far(s, columns.dual_inside + x, now.dual_inside);
                   tell_far(s, columns.outside + x, now.outside);
                   tell_far(s, columns.dual_outside + x, now.dual_outside);
               });
    EACH(a, columns.used) {
        const double product =
            move_pair(columns.mass[a], columns.dual_mass[a], masses[a], goal.mass[a], own, dual, commit);
        if (rank() == 0) total += product;
    }
    return total;
}

// Sum of all complementary products (the duality gap), and how many there are; items count for less.
DEVICE Pair complementarity(Solver& s) {
    const int n = s.n;
    double total = 0.0;
#pragma unroll 1
    for (int side = 0; side < 2; ++side) {
        const Columns& columns = side == 0 ? s.adversary : s.predictor;
        each_ahead(own_count(s, columns.used),
                   [&](int y) {
                       const int x = own_place(s, y).at;
                       return far_read(columns.inside + x) * far_read(columns.dual_inside + x) +
                              far_read(columns.outside + x) * far_read(columns.dual_outside + x);
                   },
                   [&](int, double products) { total += products; });
        if (rank() > 0) continue;
        EACH(a, columns.used) total += columns.mass[a] * columns.dual_mass[a];
    }
    if (rank() == 0) {
        EACH(b, 2) total += s.adversary.mass[CAPACITY + b] * s.adversary.dual_mass[CAPACITY + b];
        EACH(j, n + 1) total += s.chain_mass[j] * s.chain_slack[j];
    }
    const double pairs = (s.adversary.used + s.predictor.used) * (2.0 * ITEM_SHARE * n + 1.0) + n + 3.0;
    return {reduce_team(s.team_slots, Pair{total, 0.0}, Add()).first, pairs};
}

// Set the right-hand sides of all complementarity equations.
INLINE void aim_all(Solver& s, const Border& at, double target, bool correct) {
    const double* step_chain = quick + s.step_chain;
    const double* masses = s.step + at.masses;
    aim_columns(s, s.adversary, s.goal, masses, target, correct);
    aim_columns(s, s.predictor, s.goal_predictor, s.step, target, correct);
    EACH(b, 2) {
        const int end = CAPACITY + b;
        s.goal.mass[end] = aim(s.goal.mass[end], s.adversary.mass[end], s.adversary.dual_mass[end],
                               masses[at.q + b], target, correct);
    }
    EACH(j, s.n + 1) {
        s.goal_chain[j] =
            aim(s.goal_chain[j], s.chain_mass[j], s.chain_slack[j], step_chain[j], target, correct);
    }
    barrier();
}

// How far the boundary is. The adversary's variables and the predictor's slacks share one step length, and
// vice versa.
INLINE Pair blocking(Solver& s, const Border& at) {
    const double* step_chain = quick + s.step_chain;
    const double* masses = s.step + at.masses;
    Pair most = blocking_columns(s, s.adversary, s.goal, masses);
    const Pair other = blocking_columns(s, s.predictor, s.goal_predictor, s.step);
    most = {larger(most.first, other.second), larger(most.second, other.first)};
    EACH(b, 2) {
        const int end = CAPACITY + b;
        block_pair(most, s.adversary.mass[end], s.adversary.dual_mass[end], masses[at.q + b], s.goal.mass[end]);
    }
    Pair chain = {1e-12, 1e-12};
    EACH(j, s.n + 1) {
        block_pair(chain, s.chain_mass[j], s.chain_slack[j], step_chain[j], s.goal_chain[j]);
        if (!is_finite(step_chain[j])) chain.first = HUGE_VALUE;
    }
    most = {larger(most.first, chain.second), larger(most.second, chain.first)};
    return reduce_team(s.team_slots, most, Maximum());
}

// Complementarity after a step of these lengths; takes it if told to.
INLINE double move_all(Solver& s, const Border& at, double own, double dual, bool commit) {
    const double* step_chain = quick + s.step_chain;
    const double* masses = s.step + at.masses;
    const double items = move_columns(s, s.adversary, s.goal, masses, own, dual, commit) +
                         move_columns(s, s.predictor, s.goal_predictor, s.step, dual, own, commit);
    double after = 0.0;
    EACH(b, 2) {
        const int end = CAPACITY + b;
        after += move_pair(s.adversary.mass[end], s.adversary.dual_mass[end], masses[at.q + b], s.goal.mass[end],
                           own, dual, commit);
    }
    EACH(j, s.n + 1) {
        after += move_pair(s.chain_mass[j], s.chain_slack[j], step_chain[j], s.goal_chain[j], dual, own, commit);
    }
    return reduce_team(s.team_slots, Pair{items + (rank() == 0 ? after : 0.0), 0.0}, Add()).first;
}

// The right-hand side of one complementary pair, moved towards where its product is neither far below nor far above the
// target after a step of these lengths.
INLINE double centred(double x, double z, double dx, double rhs, double own, double dual, double target) {
    const double product = move_pair(x, z, dx, rhs, own, dual, false), low = 0.1 * target, high = 10.0 * target;
    if (product < low) return rhs + (low - product);
    return product > high ? rhs + larger(high - product, -high) : rhs;
}

INLINE void centre_columns(const Solver& s, const Columns& columns, const Targets& goal, Targets& next,
                           const double* masses, double own, double dual, double target) {
    const double share = ITEM_SHARE * target;
    each_ahead(own_count(s, columns.used), [&](int y) { return standing_of(s, columns, goal, masses, y); },
               [&](int y, const Standing& now) {
                   const int x = own_place(s, y).at;
                   next.inside[x] =
                       centred(now.inside, now.dual_inside, now.step, now.goal_inside, own, dual, share);
                   next.outside[x] = centred(now.outside, now.dual_outside, now.mass_step - now.step,
                                             now.goal_outside, own, dual, share);
               });
    EACH(a, columns.used) {
        next.mass[a] = centred(columns.mass[a], columns.dual_mass[a], masses[a], goal.mass[a], own, dual, target);
    }
}

// Targets of a direction that allows longer steps than these, if all goes well: Gondzio's centrality correctors.
DEVICE void centre_all(Solver& s, double own, double dual, double target) {
    const Border at = border_of(s);
    const double *step_chain = quick + s.step_chain, *masses = s.step + at.masses;
    centre_columns(s, s.adversary, s.goal, s.other_goal, masses, own, dual, target);
    centre_columns(s, s.predictor, s.goal_predictor, s.other_goal_predictor, s.step, dual, own, target);
    EACH(b, 2) {
        const int end = CAPACITY + b;
        s.other_goal.mass[end] = centred(s.adversary.mass[end], s.adversary.dual_mass[end], masses[at.q + b],
                                         s.goal.mass[end], own, dual, target);
    }
    EACH(j, s.n + 1) {
        s.other_goal_chain[j] =
            centred(s.chain_mass[j], s.chain_slack[j], step_chain[j], s.goal_chain[j], dual, own, target);
    }
}

template <class Value>
INLINE void exchange(Value& x, Value& y) {
    const Value before = x;
    x = y;
    y = before;
}

INLINE void exchange_targets(Targets& x, Targets& y) {
    EACH(a, CAPACITY + 2) exchange(x.mass[a], y.mass[a]);
    if (thread() != 0) return;
    exchange(x.inside, y.inside);
    exchange(x.outside, y.outside);
    exchange(x.step, y.step);
}

// Put one direction and its targets aside and take the other.
DEVICE void exchange_directions(Solver& s) {
    barrier();
    exchange_targets(s.goal, s.other_goal);
    exchange_targets(s.goal_predictor, s.other_goal_predictor);
    EACH(x, LARGEST_BORDER) exchange(s.step[x], s.other_step[x]);
    if (thread() == 0) {
        exchange(s.goal_chain, s.other_goal_chain);
        exchange(s.step_chain, s.other_step_chain);
    }
    barrier();
}

// Lengths of the step to this share of the way to the boundary; none if the direction is not finite.
INLINE Pair step_lengths(Solver& s, const Border& at, double fraction) {
    const Pair most = blocking(s, at);
    return {smaller(1.0, fraction / most.first), smaller(1.0, fraction / most.second)};
}

constexpr int CORRECTORS = 1;
constexpr double LONG_ENOUGH = 1.4;  // the sum of two lengths that a corrector would not make worth its time
constexpr double LENGTHENED = 0.3;  // how much longer steps a corrector tries for

// A step from fresh residuals; false if it broke down.
DEVICE bool newton_step(Solver& s, double mu, double pairs, double regularisation) {
    const Border at = border_of(s);
    aim_all(s, at, 0.0, false);
    invert_items(s, regularisation);
    answer_alone(s);
    eliminate(s);
    factorise_border(s);
    direction(s);
    Pair length = step_lengths(s, at, 1.0);
    if (!(length.first > 1e-12 && length.second > 1e-12)) return false;
    const double ratio = move_all(s, at, length.first, length.second, false) / (mu * pairs);
    const double target = mu * smaller(1.0, larger(1e-8, 0.5 * ratio * ratio));
    aim_all(s, at, target, true);
    double before = 0.0;
#pragma unroll 1
    for (int count = 0;; ++count) {
        answer_alone(s);
        direction(s);
        const Pair next = step_lengths(s, at, 0.97);
        const double gain = next.first + next.second - before;
        if (count > 0 && !(gain > 0.0)) {
            exchange_directions(s);
            break;
        }
        length = next;
        before += gain;
        if (count == CORRECTORS || before > LONG_ENOUGH) break;
        centre_all(s, smaller(1.0, length.first + LENGTHENED), smaller(1.0, length.second + LENGTHENED), target);
        exchange_directions(s);
    }
    const double own = length.first, dual = length.second;
    if (!(own > 1e-12 && dual > 1e-12)) return false;
    move_all(s, at, own, dual, true);
    EACH(b, at.q) s.adversary.price[b] += dual * s.step[at.prices + b];
    EACH(a, at.f) s.predictor.price[a] += own * s.step[at.prices_p + a];
    if (thread() == 0) {
        s.level += dual * s.step[at.levels];
        s.value += own * s.step[at.levels + 1];
    }
    team_barrier();
    return true;
}
