// Solutions of the items' equations for given right-hand sides, with the matrices and the letters of items.hpp.
//
// `pull`, `seen`, `met` and `free` hold -c (then -s), -y, pi and -t: eight items after eight items, and of those factor by
// factor.
#pragma once

#include "items.hpp"

namespace metricfit::METRICFIT_TARGET {

// Four factors' numbers for eight items: of `pull`, `seen`, `met` or `free`.
METRICFIT_INLINE double* moment(double* data, const Workspace& w, int eight) {
    return data + static_cast<std::ptrdiff_t>(eight) * LANES * w.wide;
}

// target = (keep ? target : 0) - the columns' factors times inv_diag and right-hand sides, summed, for eight items.
METRICFIT_INLINE void subtract_sum(double* METRICFIT_RESTRICT target, Matrix factors, const Side& side, int count, int wide,
                                   int eight, bool keep) {
#pragma GCC unroll 4
    for (int i = 0; i < LANES; i += WIDTH) {
        const double *inv_diag = side.inv_diag[0] + LANES * eight + i, *rhs = side.rhs[0] + LANES * eight + i;
        for (int x = 0; x < wide; x += 4) {
            double* own = target + LANES * x + i;
            Vector value[4];
#pragma GCC unroll 4
            for (int c = 0; c < 4; ++c) value[c] = keep ? load(own + LANES * c) : Vector{};
            for (int a = 0; a < count; ++a) {
                const double* f = factors[a] + x;
                const Vector v = load(inv_diag + a * side.inv_diag.stride) * load(rhs + a * side.rhs.stride);
#pragma GCC unroll 4
                for (int c = 0; c < 4; ++c) value[c] -= f[c] * v;
            }
#pragma GCC unroll 4
            for (int c = 0; c < 4; ++c) store(own + LANES * c, value[c]);
        }
    }
}

// What both players meet and see, `met` and `seen`, from their right-hand sides and from `pull`.
template <int WIDE>
inline void exchange_by(const Workspace& w, const Answers& answers) {
    const int wide = WIDE > 0 ? WIDE : w.wide;
    for (int eight = 0; eight < eights(answers.groups); ++eight) {
        double *pull = moment(w.pull, w, eight), *free = moment(w.free, w, eight);
        subtract_sum(free, w.basis, w.adversary, answers.q, w.wide, eight, false);
        subtract_sum(pull, w.cross_on, w.predictor, answers.f, w.wide, eight, true);
        for (int i = 0; i < LANES; i += WIDTH) {
            const int item = LANES * eight + i;
            const SmallMatrix<WIDE> t = answers.t<WIDE>(item), t_x = answers.t_x<WIDE>(item), y_t = answers.y_t<WIDE>(item);
            double *met = moment(w.met, w, eight) + i, *seen = moment(w.seen, w, eight) + i;
#pragma GCC unroll 4
            for (int c = 0; c < wide; ++c) {
                Vector minus_met = {}, minus_seen = {};
#pragma GCC unroll 4
                for (int r = 0; r < wide; ++r) {
                    const Vector v = load(pull + LANES * r + i), u = load(free + LANES * r + i);
                    minus_met += v * t(c, r) + u * t_x(r, c);
                    minus_seen += v * y_t(r, c) - u * t(r, c);
                }
                store(met + LANES * c, -minus_met);
                store(seen + LANES * c, -minus_seen);
            }
        }
    }
}
inline void exchange(const Problem& problem, const Iterate& it, const Workspace& w) {
    const Answers answers = answers_of(problem, it, w);
    w.wide == 4 ? exchange_by<4>(w, answers) : exchange_by<0>(w, answers);
}

// use(i, rhs - factor @ rows) for column a of a player, for all items: as many from i on as a vector holds.
template <class Use>
METRICFIT_INLINE void solve_column(const Problem& problem, const Workspace& w, const Side& side, const double* factor,
                                   double* rows, int a, Use use) {
    for (int i = 0; i < whole_eights(problem.groups); i += WIDTH) {
        const double* row = moment(rows, w, i / LANES) + i % LANES;
        Vector value = load(side.rhs[a] + i);
        for (int first = 0; first < w.wide; first += 4) {
#pragma GCC unroll 4
            for (int r = first; r < first + 4; ++r) value -= factor[r] * load(row + LANES * r);
        }
        use(i, value);
    }
}

// Steps of a player's columns: inv_diag (rhs - factors @ rows), where `rows` is `met` or `seen`.
inline void step_columns(const Problem& problem, const Workspace& w, const Side& side, Matrix factors, double* rows, int count) {
    for (int a = 0; a < count; ++a) {
        solve_column(problem, w, side, factors[a], rows, a,
                     [&](int i, Vector value) { store(side.step[a] + i, load(side.inv_diag[a] + i) * value); });
    }
}

// Sums of those steps over the items without writing them down: sums[0] weighed by the items' numbers, sums[1] by `out` too.
inline void sum_steps(const Problem& problem, const Workspace& w, const Side& side, Matrix factors, double* rows, int count) {
    for (int a = 0; a < count; ++a) {
        Vector total = {}, total_out = {};
        solve_column(problem, w, side, factors[a], rows, a, [&](int i, Vector value) {
            total += load(side.weighed[a] + i) * value;
            total_out += load(side.weighed_out[a] + i) * value;
        });
        w.sums[0][a] = sum_of(total);
        w.sums[1][a] = sum_of(total_out);
    }
}

// Without columns of the predictor every column is a factor of its own.
inline void answer_alone(const Problem& problem, const Workspace& w, int q) {
    const Side& side = w.adversary;
    for (int eight = 0; eight < eights(problem.groups); ++eight) {
        double *pull = moment(w.pull, w, eight), *seen = moment(w.seen, w, eight);
        const int first = LANES * eight;
        for (int b = 0; b < q; ++b) {
#pragma GCC unroll 4
            for (int i = 0; i < LANES; i += WIDTH) {
                const Vector rhs = load(side.rhs[b] + first + i), c = load(pull + LANES * b + i);
                const Vector value = load(side.inv_diag[b] + first + i) * (rhs + c);
                store(side.step[b] + first + i, value);
                store(seen + LANES * b + i, -value);
            }
        }
        for (int x = LANES * q; x < LANES * w.wide; ++x) seen[x] = 0.0;
    }
}

// Steps of both players' marginals, and `seen`, from their right-hand sides and `pull`.
inline void answer_items(const Problem& problem, const Iterate& it, const Workspace& w) {
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
