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

// Subtracts a multiple of a row; returns the sum of squares of what is left.
METRICFIT_INLINE double subtract_multiple(double* METRICFIT_RESTRICT target, double factor, const double* METRICFIT_RESTRICT row,
                                          int count) {
    double left = 0.0;
    for (int x = 0; x < count; ++x) {
        const double value = target[x] - factor * row[x];
        target[x] = value;
        left += value * value;
    }
    return left;
}

METRICFIT_INLINE int largest_magnitude(const double* row, int count) {
    double largest = -1.0;
    for (int x = 0; x < count; ++x) largest = larger(largest, std::fabs(row[x]));
    int place = 0;
    while (place < count - 1 && std::fabs(row[place]) != largest) ++place;
    return place;
}

// Without columns of the predictor nothing is gained by factors, and each column is one of its own.
inline void columns_as_factors(const Problem& problem, const Iterate& it, Workspace& w) {
    const int q = it.adversary.used, groups = problem.groups;
    w.rank = q;
    w.wide = fours(q);
    for (int j = 0; j <= groups; ++j) {
        for (int b = 0; b < q; ++b) w.chain_on[j][b] = w.chain_alpha[j][b];
        for (int b = q; b < w.wide; ++b) w.chain_on[j][b] = 0.0;
    }
}

// Finds U and V by elimination, until no more than `left_aside` of alpha is left, as a norm. Pivots are the largest entries
// of the columns of which most is left.
inline void factorise_alpha(const Problem& problem, const Iterate& it, Workspace& w, double left_aside) {
    const Columns &adversary = it.adversary, &predictor = it.predictor;
    const int q = adversary.used, f = predictor.used, sets = problem.groups + 1, count = sets + f;
    if (f == 0) {
        columns_as_factors(problem, it, w);
        return;
    }
    const Matrix rest{w.rest, count};                      // (q, sets + f), scaled
    double *root = w.step_chain, *per_root = w.precision;  // scratch: of the sizes of the chain's sets
    double *left = w.running, *per_q = w.running_2, *per_f = w.running_3;
    for (int j = 0; j < sets; ++j) per_root[j] = problem.predictor_sizes[problem.chain[j]];
#pragma GCC ivdep
    for (int j = 0; j < sets; ++j) {
        root[j] = std::sqrt(per_root[j]);
        per_root[j] = 1.0 / root[j];
    }
    per_root[0] = 0.0;  // of the empty set
    for (int a = 0; a < f; ++a) per_f[a] = 1.0 / std::sqrt(problem.predictor_sizes[predictor.size_index[a]]);
    double whole = 0.0;
    for (int b = 0; b < q; ++b) {
        const double scale = std::sqrt(problem.adversary_sizes[adversary.size_index[b]]);
        double* row = rest[b];
        per_q[b] = 1.0 / scale;
        for (int j = 0; j < sets; ++j) row[j] = w.chain_alpha[j][b] * scale * root[j];
        for (int a = 0; a < f; ++a) row[sets + a] = w.cross[a][b] * scale / per_f[a];
        left[b] = thread_sum(count, [=](int x) { return row[x] * row[x]; });
        whole += left[b];
    }
    int rank = 0;
    for (const int most = smaller(q, w.most_rank); rank < most; ++rank) {
        double total = 0.0;
        int column = 0;
        for (int b = 0; b < q; ++b) {
            total += left[b];
            if (left[b] > left[column]) column = b;
        }
        // Factors come in fours: those there is room for cost nothing.
        const double limit = rank % 4 == 0 ? left_aside : smaller(left_aside, parameters::coupling::ROUNDING);
        if (total <= limit * limit * whole) break;
        double* row = rest[column];
        const int pivot = largest_magnitude(row, count);
        const double per = 1.0 / row[pivot];
        for (int j = 0; j < sets; ++j) w.chain_on[j][rank] = row[j] * per * per_root[j];
        for (int a = 0; a < f; ++a) w.cross_on[a][rank] = row[sets + a] * per * per_f[a];
        for (int b = 0; b < q; ++b) {
            const double value = rest[b][pivot];
            w.basis[b][rank] = w.basis_t[rank][b] = value * per_q[b];
            if (b != column) left[b] = subtract_multiple(rest[b], value * per, row, count);
        }
        left[column] = 0.0;
        for (int x = 0; x < count; ++x) row[x] = 0.0;
    }
    const int wide = fours(larger(rank, 1));
    w.rank = rank;
    w.wide = wide;
    for (int r = rank; r < wide; ++r) {
        for (int j = 0; j < sets; ++j) w.chain_on[j][r] = 0.0;
        for (int b = 0; b < q; ++b) w.basis[b][r] = w.basis_t[r][b] = 0.0;
        for (int a = 0; a < f; ++a) w.cross_on[a][r] = 0.0;
    }
    // Columns are taken in eights and fours as well.
    for (int r = 0; r < wide; ++r) {
        for (int b = q; b < whole_eights(q); ++b) w.basis[b][r] = w.basis_t[r][b] = 0.0;
        for (int a = f; a < whole_eights(f); ++a) w.cross_on[a][r] = 0.0;
    }
}

}  // namespace metricfit::METRICFIT_TARGET
