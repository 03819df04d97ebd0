// Running sums along the items.
#pragma once

#include "execution.hpp"

#ifndef METRICFIT_BLOCK
#include "vectors.hpp"

namespace metricfit::METRICFIT_TARGET {

// Each number and the D before it, then the 2 D before, and so on; or after it.
template <int D, bool BACK, int... I>
METRICFIT_INLINE Vector moved(Vector v, std::integer_sequence<int, I...>) {
    if constexpr (BACK) return picked<(I + D)...>(v, Vector{});
    return picked<(I + WIDTH - D)...>(Vector{}, v);
}
template <bool BACK, int D = 1>
METRICFIT_INLINE Vector running_sums_of(Vector v) {
    if constexpr (D == WIDTH) {
        return v;
    } else {
        return running_sums_of<BACK, 2 * D>(v + moved<D, BACK>(v, AllLanes{}));
    }
}

// The next vector of running(), whose first item is i; returns the total so far.
template <bool BACK, class Term, class Use>
METRICFIT_INLINE double run_on(int i, double before, Term term, Use use) {
    double sums[WIDTH];
    for (int x = 0; x < WIDTH; ++x) sums[x] = term(i + x);
    store(sums, running_sums_of<BACK>(load(sums)));
    for (int x = 0; x < WIDTH; ++x) use(i + x, before + sums[x]);
    return before + sums[BACK ? 0 : WIDTH - 1];
}

// use(i, term(0) + ... + term(i)) for every i; what use() writes is no part of any term.
//
// One addition after the other would wait for each other: a vector's sums are made first, and then what is before it added.
template <class Term, class Use>
METRICFIT_INLINE void running(int count, Term term, Use use) {
    double before = 0.0;
    int i = 0;
    for (; i + WIDTH <= count; i += WIDTH) before = run_on<false>(i, before, term, use);
    for (; i < count; ++i) use(i, before += term(i));
}

// use(i, term(i) + ... + term(count - 1)) for every i.
template <class Term, class Use>
METRICFIT_INLINE void running_back(int count, Term term, Use use) {
    double after = 0.0;
    int i = count;
    for (; i >= WIDTH; i -= WIDTH) after = run_on<true>(i - WIDTH, after, term, use);
    for (; i > 0; --i) use(i - 1, after += term(i - 1));
}

}  // namespace metricfit::METRICFIT_TARGET
#endif
