// Alpha in few factors for a block of threads; see core/coupling.hpp.
#pragma once

#include <cmath>

#include "core/state.hpp"

namespace metricfit::METRICFIT_TARGET {

METRICFIT_FUNCTION void columns_as_factors(const Problem& problem, const Iterate& it, Workspace& w) {
    const int q = it.adversary.used;
    once([&] { w.rank = w.wide = q; });
    each(problem.groups + 1, q, [&](int j, int b) { w.chain_on[j][b] = w.chain_alpha[j][b]; });
}

METRICFIT_FUNCTION void factorise_alpha(const Problem& problem, const Iterate& it, Workspace& w, double left_aside) {
    const Columns &adversary = it.adversary, &predictor = it.predictor;
    const int q = adversary.used, f = predictor.used, sets = problem.groups + 1, count = sets + f;
    if (f == 0) {
        columns_as_factors(problem, it, w);
        return;
    }
    const Matrix rest{w.rest, count};  // (q, sets + f), scaled
    double* root = w.step_chain;       // scratch: of the sizes of the chain's sets, then of the predictor's columns
    double *left = w.running, *per_q = w.running_2, *root_f = w.running_3;
    each(sets, [&](int j) { root[j] = std::sqrt(problem.predictor_sizes[problem.chain[j]]); });
    each(f, [&](int a) { root_f[a] = std::sqrt(problem.predictor_sizes[predictor.size_index[a]]); });
    each(q, count, [&](int b, int x) {
        const double scale = std::sqrt(problem.adversary_sizes[adversary.size_index[b]]);
        rest[b][x] = x < sets ? w.chain_alpha[x][b] * scale * root[x] : w.cross[x - sets][b] * scale * root_f[x - sets];
    });
    each(q, [&](int b) {
        per_q[b] = 1.0 / std::sqrt(problem.adversary_sizes[adversary.size_index[b]]);
        double total = 0.0;
        for (int x = 0; x < count; ++x) total += rest[b][x] * rest[b][x];
        left[b] = total;
    });
    const double whole = sum(q, [=](int b) { return left[b]; });
    int rank = 0;
    for (const int most = smaller(q, w.most_rank); rank < most; ++rank) {
        // Factors come in fours, as they do on the CPU: the loop's numbers were found with steps as exact as that.
        const double limit = rank % 4 == 0 ? left_aside : smaller(left_aside, parameters::coupling::ROUNDING);
        if (sum(q, [=](int b) { return left[b]; }) <= limit * limit * whole) break;
        const int column = argmax(q, -1.0, [=](int b) { return left[b]; });
        double* row = rest[column];
        const int pivot = argmax(count, -1.0, [=](int x) { return std::fabs(row[x]); });
        const double per = 1.0 / row[pivot];
        each(count, [&](int x) {
            if (x < sets) {
                w.chain_on[x][rank] = x > 0 ? row[x] * per / root[x] : 0.0;
            } else {
                w.cross_on[x - sets][rank] = row[x] * per / root_f[x - sets];
            }
        });
        each(q, [&](int b) {
            const double value = rest[b][pivot];
            w.basis[b][rank] = w.basis_t[rank][b] = value * per_q[b];
            double total = 0.0;
            if (b != column) {
                for (int x = 0; x < count; ++x) {
                    const double other = rest[b][x] - value * per * row[x];
                    rest[b][x] = other;
                    total += other * other;
                }
            }
            left[b] = total;
        });
        each(count, [=](int x) { row[x] = 0.0; });
    }
    once([&] {
        w.rank = rank;
        w.wide = larger(rank, 1);
    });
    if (rank == 0) {
        each(sets, [&](int j) { w.chain_on[j][0] = 0.0; });
        each(f, [&](int a) { w.cross_on[a][0] = 0.0; });
        each(q, [&](int b) { w.basis[b][0] = w.basis_t[0][b] = 0.0; });
    }
}

}  // namespace metricfit::METRICFIT_TARGET
