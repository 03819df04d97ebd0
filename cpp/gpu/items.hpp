// The items' own blocks of the Newton system for a block of threads; see core/items.hpp for the formulas.
//
// A thread has an item, or an item in a column. Entries of an item's matrices are G (a whole number of eights) apart, so that
// neighbouring threads read neighbouring numbers. `pull`, `seen`, `met` and `free` are laid out factor by factor.
#pragma once

#include <cmath>

#include "core/state.hpp"

namespace metricfit::METRICFIT_TARGET {

// Nothing is computed here for items that are not there.
METRICFIT_INLINE void fill_up(const Columns&, const Side&, int) {}

// The matrices of one item: entry (r, c) is `apart` numbers from the next.
struct ItemMatrix {
    double* data;
    int wide, apart;
    METRICFIT_INLINE double& operator()(int r, int c) const { return data[static_cast<std::ptrdiff_t>(r * wide + c) * apart]; }
};

// How items answer, see Answers in items.hpp.
struct Answers {
    double* data;
    double* columns;
    int q, f, constraints, wide, groups;

    METRICFIT_INLINE int apart() const { return whole_eights(groups); }
    METRICFIT_INLINE ItemMatrix matrix(int which, int item) const {
        return {data + static_cast<std::ptrdiff_t>(which) * wide * wide * apart() + item, wide, apart()};
    }
    METRICFIT_INLINE ItemMatrix t(int item) const { return matrix(0, item); }    // T
    METRICFIT_INLINE ItemMatrix t_x(int item) const { return matrix(1, item); }  // T X
    METRICFIT_INLINE ItemMatrix y_t(int item) const { return matrix(2, item); }  // Y T

    // (wide, G): what the adversary meets if a column's price falls by one
    METRICFIT_INLINE Matrix met(int column) const {
        return {columns + static_cast<std::ptrdiff_t>(column) * wide * apart(), apart()};
    }
    // likewise, minus what the predictor sees
    METRICFIT_INLINE Matrix seen(int column) const { return met(q + f + constraints + column); }
};

METRICFIT_INLINE Answers answers_of(const Problem& problem, const Iterate& it, const Workspace& w) {
    return {w.blocks, w.answers, it.adversary.used, it.predictor.used, problem.constraints, w.wide, problem.groups};
}

// A factor's number of an item: of `pull`, `seen`, `met` or `free`.
METRICFIT_INLINE double& moment(double* data, const Problem& problem, int r, int i) {
    return data[static_cast<std::ptrdiff_t>(r) * whole_eights(problem.groups) + i];
}

// Cholesky factor of a matrix plus `shift` times the identity, in place of its lower triangle; see core/small_matrices.hpp.
METRICFIT_INLINE void cholesky(const ItemMatrix& matrix, double shift) {
    for (int k = 0; k < matrix.wide; ++k) {
        const double whole = matrix(k, k);
        double pivot = whole;
        for (int j = 0; j < k; ++j) pivot -= matrix(k, j) * matrix(k, j);
        const double root = std::sqrt(larger(pivot, parameters::items::SMALLEST_PIVOT * whole) + shift);
        matrix(k, k) = root;
        for (int r = k + 1; r < matrix.wide; ++r) {
            double value = matrix(r, k);
            for (int j = 0; j < k; ++j) value -= matrix(r, j) * matrix(k, j);
            matrix(r, k) = value / root;
        }
    }
}

// T and its products for one item, by the Cholesky factors C of Y and R of I + C' X C: T = C'^-1 (R R')^-1 C'.
METRICFIT_INLINE void couple(const Workspace& w, const Answers& answers, int i) {
    const int wide = answers.wide, apart = answers.apart(), q = answers.q, f = answers.f;
    const auto scratch = [&](int which) {
        return ItemMatrix{w.coupling + static_cast<std::ptrdiff_t>(which) * wide * wide * apart + i, wide, apart};
    };
    const ItemMatrix x = scratch(0), c = scratch(1), m = scratch(2), xc = scratch(3);
    for (int r = 0; r < wide; ++r) {
        for (int k = 0; k <= r; ++k) {
            double of_x = 0.0, of_y = 0.0;
            for (int a = 0; a < f; ++a) of_x += w.cross_on[a][r] * w.cross_on[a][k] * w.predictor.inv_diag[a][i];
            for (int b = 0; b < q; ++b) of_y += w.basis[b][r] * w.basis[b][k] * w.adversary.inv_diag[b][i];
            x(r, k) = x(k, r) = of_x;
            c(r, k) = r == k && r >= w.rank ? 1.0 : of_y;  // a factor that is not there; nothing comes of it
        }
    }
    cholesky(c, 0.0);
    for (int r = 0; r < wide; ++r) {
        for (int k = 0; k < wide; ++k) {
            double value = 0.0;
            for (int j = k; j < wide; ++j) value += x(r, j) * c(j, k);
            xc(r, k) = value;
        }
    }
    for (int r = 0; r < wide; ++r) {
        for (int k = 0; k <= r; ++k) {
            double value = 0.0;
            for (int j = r; j < wide; ++j) value += c(j, r) * xc(j, k);
            m(r, k) = value;
        }
    }
    cholesky(m, 1.0);
    const ItemMatrix t = answers.t(i), t_x = answers.t_x(i), y_t = answers.y_t(i);
    for (int k = 0; k < wide; ++k) {  // one column after the other: R^-1 C', (R R')^-1 C', T and C (R R')^-1 C'
        for (int r = 0; r < wide; ++r) {
            double value = k >= r ? c(k, r) : 0.0;
            for (int j = 0; j < r; ++j) value -= m(r, j) * xc(j, k);
            xc(r, k) = value / m(r, r);
        }
        for (int r = wide - 1; r >= 0; --r) {
            double value = xc(r, k);
            for (int j = r + 1; j < wide; ++j) value -= m(j, r) * xc(j, k);
            xc(r, k) = value / m(r, r);
        }
        for (int r = wide - 1; r >= 0; --r) {
            double value = xc(r, k);
            for (int j = r + 1; j < wide; ++j) value -= c(j, r) * t(j, k);
            t(r, k) = value / c(r, r);
        }
        for (int r = 0; r < wide; ++r) {
            double value = 0.0;
            for (int j = 0; j <= r; ++j) value += c(r, j) * xc(j, k);
            y_t(r, k) = value;
        }
    }
    for (int r = 0; r < wide; ++r) {
        for (int k = 0; k < wide; ++k) {
            double value = 0.0;
            for (int j = 0; j < wide; ++j) value += t(r, j) * x(j, k);
            t_x(r, k) = value;
        }
    }
}

// Computes how every item answers.
METRICFIT_FUNCTION void reduce_items(const Problem& problem, const Iterate& it, const Workspace& w) {
    const int groups = problem.groups, constraints = problem.constraints;
    if (it.predictor.used == 0) return;
    const Answers answers = answers_of(problem, it, w);
    const int q = answers.q, f = answers.f, wide = answers.wide;
    each(groups, [&](int i) { couple(w, answers, i); });
    each((q + f) * wide, groups, [&](int place, int i) {
        const int column = place / wide, r = place % wide;
        const bool own = column < q;
        const double* factor = own ? w.basis[column] : w.cross_on[column - q];
        const double scale = own ? w.adversary.inv_diag[column][i] : w.predictor.inv_diag[column - q][i];
        const ItemMatrix t = answers.t(i), t_x = answers.t_x(i), y_t = answers.y_t(i);
        double met = 0.0, seen = 0.0;
        for (int k = 0; k < wide; ++k) {
            met += factor[k] * (own ? t_x(k, r) : t(r, k));
            seen += factor[k] * (own ? -t(k, r) : y_t(k, r));
        }
        answers.met(column)[r][i] = scale * met;
        answers.seen(column)[r][i] = scale * seen;
    });
    each(constraints * wide, groups, [&](int place, int i) {  // a constraint's price enters the predictor's columns by their gains
        const int c = place / wide, r = place % wide;
        double met = 0.0, seen = 0.0;
        for (int a = 0; a < f; ++a) {
            const double gain = problem.gain[c][it.predictor.size_index[a]] * problem.positive[i];
            met -= gain * answers.met(q + a)[r][i];
            seen -= gain * answers.seen(q + a)[r][i];
        }
        answers.met(q + f + c)[r][i] = met;
        answers.seen(q + f + c)[r][i] = seen;
    });
}

// What both players meet and see, from their right-hand sides and from `pull`, which is minus the chain's multipliers.
METRICFIT_FUNCTION void exchange(const Problem& problem, const Iterate& it, const Workspace& w) {
    const Answers answers = answers_of(problem, it, w);
    const int wide = answers.wide;
    each(wide, problem.groups, [&](int r, int i) {
        double t = 0.0, s = -moment(w.pull, problem, r, i);
        for (int b = 0; b < answers.q; ++b) t += w.basis[b][r] * w.adversary.inv_diag[b][i] * w.adversary.rhs[b][i];
        for (int a = 0; a < answers.f; ++a) s += w.cross_on[a][r] * w.predictor.inv_diag[a][i] * w.predictor.rhs[a][i];
        moment(w.free, problem, r, i) = -t;
        moment(w.pull, problem, r, i) = -s;
    });
    each(wide, problem.groups, [&](int r, int i) {
        const ItemMatrix t = answers.t(i), t_x = answers.t_x(i), y_t = answers.y_t(i);
        double met = 0.0, seen = 0.0;
        for (int k = 0; k < wide; ++k) {
            const double s = -moment(w.pull, problem, k, i), free = -moment(w.free, problem, k, i);
            met += t(r, k) * s + t_x(r, k) * free;
            seen += t(k, r) * free - y_t(r, k) * s;
        }
        moment(w.met, problem, r, i) = met;
        moment(w.seen, problem, r, i) = -seen;
    });
}

// Step of one item in a column: inv_diag (rhs - factor @ rows), where `rows` is `met` or `seen`.
METRICFIT_INLINE double column_step(const Side& side, Matrix factors, double* rows, const Problem& problem, int wide, int a, int i) {
    double value = side.rhs[a][i];
    for (int r = 0; r < wide; ++r) value -= factors[a][r] * moment(rows, problem, r, i);
    return side.inv_diag[a][i] * value;
}

METRICFIT_FUNCTION void step_columns(const Problem& problem, const Workspace& w, const Side& side, Matrix factors, double* rows,
                                     int count) {
    const int wide = w.wide;
    each(count, problem.groups, [&](int a, int i) { side.step[a][i] = column_step(side, factors, rows, problem, wide, a, i); });
}

// Sums of those steps over the items: w.sums[0] weighed by the items' numbers, w.sums[1] by `out` too.
METRICFIT_FUNCTION void sum_steps(const Problem& problem, const Workspace& w, const Side& side, Matrix factors, double* rows,
                                  int count) {
    step_columns(problem, w, side, factors, rows, count);
    row_sums<2>(count, problem.groups,
                [&](int a, int i, double* sums) {
                    const double value = problem.weight[i] * side.step[a][i];
                    sums[0] += value;
                    sums[1] += value * side.out[a][i];
                },
                [&](int a, int k, double total) { w.sums[k][a] = total; });
}

// Without columns of the predictor every column is a factor of its own.
METRICFIT_FUNCTION void answer_alone(const Problem& problem, const Workspace& w, int q) {
    each(q, problem.groups, [&](int b, int i) {
        const double value = w.adversary.inv_diag[b][i] * (w.adversary.rhs[b][i] + moment(w.pull, problem, b, i));
        w.adversary.step[b][i] = value;
        moment(w.seen, problem, b, i) = -value;
    });
}

// Steps of both players' marginals, and `seen`, from their right-hand sides and `pull`.
METRICFIT_FUNCTION void answer_items(const Problem& problem, const Iterate& it, const Workspace& w) {
    const int q = it.adversary.used, f = it.predictor.used;
    if (f == 0) {
        answer_alone(problem, w, q);
        return;
    }
    exchange(problem, it, w);
    step_columns(problem, w, w.predictor, w.cross_on, w.seen, f);
    step_columns(problem, w, w.adversary, w.basis, w.met, q);
}

}  // namespace metricfit::METRICFIT_TARGET
