// One predictor-corrector step of Mehrotra: targets, step lengths, and the move itself. With many columns in play,
// where factorising is expensive and solving is cheap, one of Gondzio's correctors follows.
//
// Every variable x > 0 has a dual z > 0, and the step is to bring x z to a target. With the right-hand side kept as
// c = (target - x z - dx dz) / x, the dual moves by dz = c - z dx / x. Without target and correction c = -z, so that both
// relative changes follow from t = dx / x: they are t and -1 - t.
//
// The adversary's variables and the predictor's slacks share one step length, `own`; the others share `dual`.
#pragma once

#include "newton.hpp"
#include "state.hpp"

namespace metricfit::METRICFIT_TARGET {

// How far variables and their duals go, as shares of the whole step; or what hinders them, as relative decreases.
struct Lengths {
    double own, dual;
};
METRICFIT_INLINE Lengths swapped(Lengths lengths) { return {lengths.dual, lengths.own}; }

// Pairs of variables x and duals z that are not marginals: all columns of a player, or the chain, or the constraints.
struct Pairs {
    int count;
    double *x, *z;
    const double* dx;
    double* comp;   // c
    bool swapped;   // do the variables go by the step length `dual`
    METRICFIT_INLINE Lengths lengths(Lengths both) const { return swapped ? metricfit::swapped(both) : both; }
};

// The correction that is added to the affine right-hand side, in units of z.
METRICFIT_INLINE double correction(double t) {
    return smaller((1.0 + t) * t, parameters::stepping::MOST_CORRECTED) - 1.0;
}

// By how much a product that is far off its target is to change.
METRICFIT_INLINE double nearer(double product, double target) {
    using parameters::stepping::FAR;
    if (product < target / FAR) return target / FAR - product;
    return larger(smaller(FAR * target - product, 0.0), -FAR * target);
}

// Right-hand sides: affine, or corrected by what the affine step dx did.
METRICFIT_FUNCTION void aim(const Pairs& pairs, double target, bool correct) {
    double *x = pairs.x, *z = pairs.z, *comp = pairs.comp;
    const double* dx = pairs.dx;
    if (correct) {
        each(pairs.count, [=](int j) { comp[j] = target / x[j] + z[j] * correction(dx[j] / x[j]); });
    } else {
        each(pairs.count, [=](int j) { comp[j] = -z[j]; });
    }
}

// Correct right-hand sides by what a step of these lengths would leave far off.
METRICFIT_FUNCTION void centre(const Pairs& pairs, double target, Lengths lengths) {
    double *x = pairs.x, *z = pairs.z, *comp = pairs.comp;
    const double *dx = pairs.dx, own = lengths.own, dual = lengths.dual;
    each(pairs.count, [=](int j) {
        const double after = (x[j] + own * dx[j]) * (z[j] + dual * (comp[j] - z[j] * dx[j] / x[j]));
        comp[j] += nearer(after, target) / x[j];
    });
}

// Largest relative decrease of variables and of their duals that this thread sees.
METRICFIT_INLINE Lengths decrease(const Pairs& pairs) {
    double *x = pairs.x, *z = pairs.z, *comp = pairs.comp;
    const double* dx = pairs.dx;
    const Pair most = own_maxima(1, pairs.count, [=](int, int j) {
        const double t = dx[j] / x[j];
        return Pair{-t, t - comp[j] / z[j]};
    });
    return {most.first, most.second};
}

// Complementarity after a step of these lengths: this thread's part.
METRICFIT_INLINE double gap_after(const Pairs& pairs, Lengths lengths) {
    double *x = pairs.x, *z = pairs.z, *comp = pairs.comp;
    const double *dx = pairs.dx, own = lengths.own, dual = lengths.dual;
    return own_sum(1, pairs.count, [=](int, int j) {
        return (x[j] + own * dx[j]) * (z[j] + dual * (comp[j] - z[j] * dx[j] / x[j]));
    });
}

// Take the step.
METRICFIT_FUNCTION void move(const Pairs& pairs, Lengths lengths) {
    double *x = pairs.x, *z = pairs.z, *comp = pairs.comp;
    const double *dx = pairs.dx, own = lengths.own, dual = lengths.dual;
    each(pairs.count, [=](int j) {
        z[j] += dual * (comp[j] - z[j] * dx[j] / x[j]);
        x[j] += own * dx[j];
    });
}

// The marginals of one player with their steps; dm[a] is that of the mass of column a.
struct Marginals {
    const Columns& columns;
    const Side& side;
    const double* dm;
    bool swapped;
    METRICFIT_INLINE Lengths lengths(Lengths both) const { return swapped ? metricfit::swapped(both) : both; }
};

// What belongs to one column: x and y are the parts inside and outside, z and v their duals, per_x and per_y reciprocals.
struct ColumnStep {
    double *x, *y, *z, *v;
    const double *dx, *per_x, *per_y;
    double *comp_x, *comp_y;
    double dm;
};
METRICFIT_INLINE ColumnStep column_of(const Marginals& m, int a) {
    const Columns& c = m.columns;
    const Side& s = m.side;
    return {c.inside[a], c.outside[a],     c.dual_inside[a], c.dual_outside[a], s.step[a], s.per_inside[a],
            s.per_outside[a], s.comp_inside[a], s.comp_outside[a], m.dm[a]};
}

METRICFIT_FUNCTION void aim(const Marginals& m, int groups, double target, bool correct) {
    target *= parameters::path::ITEM_SHARE;
    if (correct) {
        each(m.columns.used, groups, [&](int a, int i) {
            const ColumnStep c = column_of(m, a);
            const double per_x = c.per_x[i], per_y = c.per_y[i], dx = c.dx[i];
            const double comp_x = target * per_x + c.z[i] * correction(dx * per_x);
            const double comp_y = target * per_y + c.v[i] * correction((c.dm - dx) * per_y);
            c.comp_x[i] = comp_x;
            c.comp_y[i] = comp_y;
        });
    } else {
        each(m.columns.used, groups, [&](int a, int i) { m.side.comp_inside[a][i] = -m.columns.dual_inside[a][i]; });
        each(m.columns.used, groups, [&](int a, int i) { m.side.comp_outside[a][i] = -m.columns.dual_outside[a][i]; });
    }
}

METRICFIT_FUNCTION void centre(const Marginals& m, int groups, double target, Lengths lengths) {
    target *= parameters::path::ITEM_SHARE;
    const double own = lengths.own, dual = lengths.dual;
    each(m.columns.used, groups, [&](int a, int i) {
        const ColumnStep c = column_of(m, a);
        const double per_x = c.per_x[i], per_y = c.per_y[i], dx = c.dx[i], dy = c.dm - dx;
        const double z = c.z[i], v = c.v[i], comp_x = c.comp_x[i], comp_y = c.comp_y[i];
        const double product_x = (c.x[i] + own * dx) * (z + dual * (comp_x - z * dx * per_x));
        const double product_y = (c.y[i] + own * dy) * (v + dual * (comp_y - v * dy * per_y));
        c.comp_x[i] = comp_x + nearer(product_x, target) * per_x;
        c.comp_y[i] = comp_y + nearer(product_y, target) * per_y;
    });
}

METRICFIT_INLINE Lengths decrease(const Marginals& m, int groups, bool correct) {
    Pair most;
    if (correct) {
        most = own_maxima(m.columns.used, groups, [&](int a, int i) {
            const ColumnStep c = column_of(m, a);
            const double t = c.dx[i] * c.per_x[i], u = (c.dm - c.dx[i]) * c.per_y[i];
            const double z = c.z[i], v = c.v[i], per = 1.0 / (z * v);  // one division for two
            return Pair{-smaller(t, u), larger(t - c.comp_x[i] * v * per, u - c.comp_y[i] * z * per)};
        });
    } else {
        most = own_maxima(m.columns.used, groups, [&](int a, int i) {
            const ColumnStep c = column_of(m, a);
            const double t = c.dx[i] * c.per_x[i], u = (c.dm - c.dx[i]) * c.per_y[i];
            return Pair{-smaller(t, u), 1.0 + larger(t, u)};
        });
    }
    return {most.first, most.second};
}

// Complementarity after an affine step of these lengths: this thread's part.
METRICFIT_INLINE double affine_gap(const Marginals& m, int groups, const double* weight, Lengths lengths) {
    const double own = lengths.own, dual = lengths.dual;
    return own_sum(m.columns.used, groups, [&](int a, int i) {
        const ColumnStep c = column_of(m, a);
        const double t = c.dx[i] * c.per_x[i], u = (c.dm - c.dx[i]) * c.per_y[i];
        const double inside = c.x[i] * c.z[i] * (1.0 + own * t) * (1.0 - dual * (1.0 + t));
        const double outside = c.y[i] * c.v[i] * (1.0 + own * u) * (1.0 - dual * (1.0 + u));
        return weight[i] * (inside + outside);
    });
}

METRICFIT_FUNCTION void move(const Marginals& m, int groups, Lengths lengths) {
    const double own = lengths.own, dual = lengths.dual;
    each(m.columns.used, groups, [&](int a, int i) {
        const ColumnStep c = column_of(m, a);
        const double dx = c.dx[i], dy = c.dm - dx, z = c.z[i], v = c.v[i], x = c.x[i], y = c.y[i];
        const double z_after = z + dual * (c.comp_x[i] - z * dx * c.per_x[i]);
        const double v_after = v + dual * (c.comp_y[i] - v * dy * c.per_y[i]);
        c.z[i] = z_after;
        c.v[i] = v_after;
        c.x[i] = x + own * dx;
        c.y[i] = y + own * dy;
    });
}

// All complementary pairs of the iterate.
struct Step {
    Marginals marginals[2];
    Pairs pairs[5];
    const double* weight;
    int groups;
};
METRICFIT_FUNCTION Step step_of(const Problem& problem, Iterate& it, Workspace& w, const Border& at) {
    Columns &adversary = it.adversary, &predictor = it.predictor;
    const double *masses = w.step + at.masses, *multipliers = w.step + at.multipliers;
    double *ends = adversary.mass + MAX_COLUMNS, *dual_ends = adversary.dual_mass + MAX_COLUMNS;
    const int sets = problem.groups + 1;
    return {{{adversary, w.adversary, masses, false}, {predictor, w.predictor, w.step, true}},
            {{at.q, adversary.mass, adversary.dual_mass, masses, w.comp_mass, false},
             {at.f, predictor.mass, predictor.dual_mass, w.step, w.comp_mass_p, true},
             {2, ends, dual_ends, masses + at.q, w.comp_mass + MAX_COLUMNS, false},
             {sets, it.chain_mass, it.chain_slack, w.step_chain, w.comp_chain, true},
             {problem.constraints, it.multiplier, it.multiplier_slack, multipliers, w.comp_multiplier, false}},
            problem.weight,
            problem.groups};
}

METRICFIT_FUNCTION void aim(const Step& step, double target, bool correct) {
    for (const Marginals& m : step.marginals) aim(m, step.groups, target, correct);
    for (const Pairs& pairs : step.pairs) aim(pairs, target, correct);
}

METRICFIT_FUNCTION void centre(const Step& step, double target, Lengths lengths) {
    for (const Marginals& m : step.marginals) centre(m, step.groups, target, m.lengths(lengths));
    for (const Pairs& pairs : step.pairs) centre(pairs, target, pairs.lengths(lengths));
}

METRICFIT_FUNCTION Lengths decrease(const Step& step, bool correct) {
    Lengths most = {parameters::stepping::LEAST_DECREASE, parameters::stepping::LEAST_DECREASE};
    const auto include = [&](Lengths found) {
        most = {larger(most.own, found.own), larger(most.dual, found.dual)};
    };
    for (const Marginals& m : step.marginals) include(m.lengths(decrease(m, step.groups, correct)));
    for (const Pairs& pairs : step.pairs) include(pairs.lengths(decrease(pairs)));
    const Pair all = maxima_of_all({most.own, most.dual});
    return {all.first, all.second};
}

METRICFIT_FUNCTION double affine_gap(const Step& step, Lengths lengths) {
    double total = 0.0;
    for (const Marginals& m : step.marginals) total += affine_gap(m, step.groups, step.weight, m.lengths(lengths));
    for (const Pairs& pairs : step.pairs) total += gap_after(pairs, pairs.lengths(lengths));
    return sum_of_all(total);
}

// Move all variables and their duals, prices and levels.
METRICFIT_FUNCTION void move(const Step& step, Iterate& it, const Workspace& w, const Border& at, Lengths lengths) {
    for (const Marginals& m : step.marginals) move(m, step.groups, m.lengths(lengths));
    for (const Pairs& pairs : step.pairs) move(pairs, pairs.lengths(lengths));
    each(at.q, [&](int b) { it.adversary.price[b] += lengths.dual * w.step[at.prices + b]; });
    each(at.f, [&](int a) { it.predictor.price[a] += lengths.own * w.step[at.prices_p + a]; });
    once([&] {
        it.eta += lengths.dual * w.step[at.levels];
        it.rho += lengths.own * w.step[at.levels + 1];
    });
}

// Lengths of a step that goes this fraction of the way to the boundary, but not beyond the whole step.
METRICFIT_INLINE Lengths lengths_to(double fraction, Lengths most) {
    return {smaller(1.0, fraction / most.own), smaller(1.0, fraction / most.dual)};
}

// Take a predictor-corrector step from fresh residuals and factors, from a duality gap of `pairs` products of about mu each;
// false if it broke down.
METRICFIT_FUNCTION bool newton_step(const Problem& problem, Iterate& it, Workspace& w, double mu, double pairs) {
    using namespace parameters::stepping;
    const Border at = border_of(problem, it);
    const Step step = step_of(problem, it, w, at);
    const auto solve = [&](bool correct, Lengths& most) {
        direction(problem, it, w);
        most = decrease(step, correct);
        // Unknowns that are not numbers do not show in a maximum, but in a sum.
        const double total = sum(at.levels + 2, [&](int x) { return w.step[x]; });
        return most.own < MOST_DECREASE && most.dual < MOST_DECREASE && std::fabs(total) < INFINITY;
    };
    Lengths most;
    double target = 0.0;
    const auto predict_and_correct = [&] {
        aim(step, 0.0, false);
        if (!solve(false, most)) return false;
        const double ratio = affine_gap(step, lengths_to(1.0, most)) / (mu * pairs);
        target = mu * smaller(1.0, larger(LEAST_CENTRING, CENTRING * ratio));
        aim(step, target, true);
        return solve(true, most);
    };
    if (!predict_and_correct()) return false;
    Lengths lengths = lengths_to(FRACTION, most);
    const double shorter = smaller(lengths.own, lengths.dual);
    if (at.q + at.f >= MANY_COLUMNS && TOO_SHORT < shorter && shorter < LONG_ENOUGH) {
        const double reached = lengths.own + lengths.dual;
        centre(step, target,
               {smaller(1.0, FURTHER * lengths.own + FURTHER_BY), smaller(1.0, FURTHER * lengths.dual + FURTHER_BY)});
        const bool solved = solve(true, most);
        lengths = lengths_to(FRACTION, most);
        if (!solved || lengths.own + lengths.dual < WORTHWHILE * reached) {
            // All over again without it: the first step is not kept anywhere.
            if (!predict_and_correct()) return false;
            lengths = lengths_to(FRACTION, most);
        }
    }
    move(step, it, w, at, lengths);
    return true;
}

}  // namespace metricfit::METRICFIT_TARGET
