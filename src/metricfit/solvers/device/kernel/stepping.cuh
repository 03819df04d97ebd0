// One predictor-corrector step of Mehrotra: targets, step lengths, and the move itself.

// Right-hand side of one complementary pair: affine, or corrected by what the affine step left over.
INLINE double aim(double before, double x, double z, double dx, double target, bool correct) {
    return correct ? before + target - dx * (before - z * dx) * reciprocal(x) : -x * z;
}

INLINE void aim_columns(const Columns& columns, Targets& goal, const double* masses, int n, double target,
                        bool correct) {
    EACH(x, columns.used * n) {
        const double dm = masses[x / n], dx = goal.step[x];
        goal.inside[x] =
            aim(goal.inside[x], columns.inside[x], columns.dual_inside[x], dx, ITEM_SHARE * target, correct);
        goal.outside[x] = aim(goal.outside[x], columns.outside[x], columns.dual_outside[x], dm - dx,
                              ITEM_SHARE * target, correct);
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

INLINE Pair blocking_columns(const Columns& columns, const Targets& goal, const double* masses, int n) {
    Pair most = {1e-12, 1e-12};
    EACH(x, columns.used * n) {
        const double dm = masses[x / n], dx = goal.step[x];
        block_pair(most, columns.inside[x], columns.dual_inside[x], dx, goal.inside[x]);
        block_pair(most, columns.outside[x], columns.dual_outside[x], dm - dx, goal.outside[x]);
        // A comparison with NaN is false; a sum that is not finite must not be overlooked.
        if (!is_finite(dx)) most.first = HUGE_VALUE;
    }
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

INLINE double move_columns(Columns& columns, const Targets& goal, const double* masses, int n, double own,
                           double dual, bool commit) {
    double total = 0.0;
    EACH(x, columns.used * n) {
        const double dm = masses[x / n], dx = goal.step[x];
        total += move_pair(columns.inside[x], columns.dual_inside[x], dx, goal.inside[x], own, dual, commit);
        total += move_pair(columns.outside[x], columns.dual_outside[x], dm - dx, goal.outside[x], own, dual, commit);
    }
    EACH(a, columns.used) {
        total += move_pair(columns.mass[a], columns.dual_mass[a], masses[a], goal.mass[a], own, dual, commit);
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
        EACH(x, columns.used * n) {
            total += columns.inside[x] * columns.dual_inside[x] + columns.outside[x] * columns.dual_outside[x];
        }
        EACH(a, columns.used) total += columns.mass[a] * columns.dual_mass[a];
    }
    EACH(b, 2) total += s.adversary.mass[CAPACITY + b] * s.adversary.dual_mass[CAPACITY + b];
    EACH(j, n + 1) total += s.chain_mass[j] * s.chain_slack[j];
    const double pairs = (s.adversary.used + s.predictor.used) * (2.0 * ITEM_SHARE * n + 1.0) + n + 3.0;
    return {block_sum(s.slots, total), pairs};
}

// Set the right-hand sides of all complementarity equations.
INLINE void aim_all(Solver& s, const Border& at, double target, bool correct) {
    const double* step_chain = quick + s.step_chain;
    const double* masses = s.step + at.masses;
    aim_columns(s.adversary, s.goal, masses, s.n, target, correct);
    aim_columns(s.predictor, s.goal_predictor, s.step, s.n, target, correct);
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
    Pair most = blocking_columns(s.adversary, s.goal, masses, s.n);
    const Pair other = blocking_columns(s.predictor, s.goal_predictor, s.step, s.n);
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
    return block_maxima(s.slots, larger(most.first, chain.second), larger(most.second, chain.first));
}

// Complementarity after a step of these lengths; takes it if told to.
INLINE double move_all(Solver& s, const Border& at, double own, double dual, bool commit) {
    const double* step_chain = quick + s.step_chain;
    const double* masses = s.step + at.masses;
    double after = move_columns(s.adversary, s.goal, masses, s.n, own, dual, commit);
    after += move_columns(s.predictor, s.goal_predictor, s.step, s.n, dual, own, commit);
    EACH(b, 2) {
        const int end = CAPACITY + b;
        after += move_pair(s.adversary.mass[end], s.adversary.dual_mass[end], masses[at.q + b], s.goal.mass[end],
                           own, dual, commit);
    }
    EACH(j, s.n + 1) {
        after += move_pair(s.chain_mass[j], s.chain_slack[j], step_chain[j], s.goal_chain[j], dual, own, commit);
    }
    return block_sum(s.slots, after);
}

// A step from fresh residuals; false if it broke down.
DEVICE bool newton_step(Solver& s, double mu, double pairs, double regularisation) {
    const Border at = border_of(s);
    double target = 0.0, own = 0.0, dual = 0.0;
#pragma unroll 1
    for (int phase = 0; phase < 2; ++phase) {
        const bool correct = phase == 1;
        aim_all(s, at, target, correct);
        if (!correct) invert_items(s, regularisation);
        answer_alone(s);
        if (!correct) {
            eliminate(s);
            factorise_border(s);
        }
        direction(s);
        const Pair most = blocking(s, at);
        if (!(most.first < 1e12 && most.second < 1e12)) return false;
        const double fraction = correct ? 0.95 : 1.0;
        own = smaller(1.0, fraction / most.first);
        dual = smaller(1.0, fraction / most.second);
        const double after = move_all(s, at, own, dual, correct);
        const double ratio = after / (mu * pairs);
        target = mu * smaller(1.0, larger(1e-8, ratio * ratio * ratio));
    }
    EACH(b, at.q) s.adversary.price[b] += dual * s.step[at.prices + b];
    EACH(a, at.f) s.predictor.price[a] += own * s.step[at.prices_p + a];
    if (thread() == 0) {
        s.level += dual * s.step[at.levels];
        s.value += own * s.step[at.levels + 1];
    }
    barrier();
    return true;
}
