// Alpha between columns and sets, as a product of few factors.
//
// For the usual metrics alpha is a smooth function of both sizes, 2 / (k + l) for F1. So few products of a number for each k
// and one for each l add up to nearly all of it, A ~ U V': three or four in games of 100 items, for metrics like MCC one. A
// Newton step needs no more than that. Residuals are computed with alpha itself, and each step corrects what the one before
// has left. If too much of it stays, steps become more exact, until all of alpha is in the factors.
//
// What a Newton step may leave aside is measured in sqrt(k l) alpha(k, l), to which sets of all sizes contribute alike.
//
// U is chain_on for the sets of the chain and cross_on for the predictor's columns; V is `basis`, for the adversary's.
#pragma once

#include <cmath>

#include "state.hpp"

namespace metricfit::METRICFIT_TARGET {

// Without columns of the predictor nothing is gained by factors, and each column is one of its own.
METRICFIT_FUNCTION void columns_as_factors(const Problem& problem, const Iterate& it, Workspace& w) {
    const int q = it.adversary.used, wide = kept_factors(q);
    once([&] {
        w.rank = q;
        w.wide = wide;
    });
    each(problem.groups + 1, q, [&](int j, int b) { w.chain_on[j][b] = w.chain_alpha[j][b]; });
    each(problem.groups + 1, wide - q, [&](int j, int b) { w.chain_on[j][q + b] = 0.0; });
}

// Finds U and V by elimination, until no more than `left_aside` of alpha is left, as a norm. Pivots are the largest entries
// of the columns of which most is left.
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
        // Vectors take factors in fours: those there is room for cost nothing. On a GPU they do, but the loop's numbers were
        // found with steps as exact as that.
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
    const int wide = kept_factors(larger(rank, 1));
    once([&] {
        w.rank = rank;
        w.wide = wide;
    });
    each(sets, wide - rank, [&](int j, int r) { w.chain_on[j][rank + r] = 0.0; });
    // Columns are taken in eights and fours as well.
    each(whole_eights(q), wide, [&](int b, int r) {
        if (b >= q || r >= rank) w.basis[b][r] = w.basis_t[r][b] = 0.0;
    });
    each(whole_eights(f), wide, [&](int a, int r) {
        if (a >= f || r >= rank) w.cross_on[a][r] = 0.0;
    });
}

}  // namespace metricfit::METRICFIT_TARGET
