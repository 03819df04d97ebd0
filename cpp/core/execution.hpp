// How work is shared out. On the CPU one thread solves a game, and these are plain loops.
//
// The algorithm (everything but the linear-algebra kernels) is written with each(), sum(), maximum() and once() only, so
// that another execution layer can share the same loops among the threads of a GPU's block. The rules that make this safe:
//
// - Memory that belongs to the game is written inside each() or once() only; both end with a barrier.
// - The iterations of each() are independent of one another.
// - None of these is called inside another; thread_sum() may be. Sums over many numbers for each of a few rows are
//   row_sums(), which several threads share.
// - Local variables are copies of every thread. What decides about control flow is computed from memory that was written
//   before the last barrier, so that all threads decide alike.
#pragma once

#include <cmath>

// METRICFIT_BLOCK: a block of threads shares the loops, on a GPU or in cpp/tests/emulation.hpp.
#ifdef __CUDACC__
#define METRICFIT_BLOCK
#define METRICFIT_INLINE __device__ __forceinline__
#define METRICFIT_FUNCTION static __device__ __noinline__
#define METRICFIT_UNROLL _Pragma("unroll")
#define METRICFIT_ROLLED _Pragma("unroll 1")
#else
#define METRICFIT_INLINE inline __attribute__((always_inline))
#define METRICFIT_FUNCTION inline
#define METRICFIT_UNROLL _Pragma("GCC unroll 8")
#define METRICFIT_ROLLED
#endif
#define METRICFIT_RESTRICT __restrict__

// The solver is compiled once for each instruction set, in a namespace of its own: the linker merges inline functions of the
// same name, and would keep one copy for all.
#ifndef METRICFIT_TARGET
#define METRICFIT_TARGET portable
#endif

namespace metricfit {
inline namespace METRICFIT_TARGET {}
}  // namespace metricfit

namespace metricfit::METRICFIT_TARGET {

// Whether the linear algebra is that for a block: it filters the chain by panels, which takes memory of its own, and takes
// factors of alpha one by one. METRICFIT_BLOCK_KERNELS: the same by one thread, on the CPU.
#if defined(METRICFIT_BLOCK) || defined(METRICFIT_BLOCK_KERNELS)
constexpr bool BLOCK_KERNELS = true;
#else
constexpr bool BLOCK_KERNELS = false;
#endif

// Two results of one reduction.
struct Pair {
    double first, second;
};

// A sum by one thread: for use inside each() and once().
template <class F>
METRICFIT_INLINE double thread_sum(int count, F f) {
    double total = 0.0;
    for (int i = 0; i < count; ++i) total += f(i);
    return total;
}

METRICFIT_INLINE double larger(double x, double y) { return x > y ? x : y; }
METRICFIT_INLINE double smaller(double x, double y) { return x < y ? x : y; }
METRICFIT_INLINE int larger(int x, int y) { return x > y ? x : y; }
METRICFIT_INLINE int smaller(int x, int y) { return x < y ? x : y; }

// The next multiple of four, or of the eight items that are treated together.
METRICFIT_INLINE constexpr int fours(int count) { return (count + 3) / 4 * 4; }
constexpr int LANES = 8;
METRICFIT_INLINE constexpr int eights(int count) { return (count + LANES - 1) / LANES; }
METRICFIT_INLINE constexpr int whole_eights(int count) { return eights(count) * LANES; }

// How many factors of alpha there are with those that are zero.
METRICFIT_INLINE constexpr int kept_factors(int rank) { return BLOCK_KERNELS ? rank : fours(rank); }

}  // namespace metricfit::METRICFIT_TARGET

#ifdef METRICFIT_BLOCK
#include "gpu/execution.hpp"
#else
namespace metricfit::METRICFIT_TARGET {

template <class F>
METRICFIT_INLINE void each(int count, F f) {
#pragma GCC ivdep
    for (int i = 0; i < count; ++i) f(i);
}

// Rows and columns of a matrix: f(row, column).
template <class F>
METRICFIT_INLINE void each(int rows, int columns, F f) {
    for (int r = 0; r < rows; ++r) {
#pragma GCC ivdep
        for (int c = 0; c < columns; ++c) f(r, c);
    }
}

template <class F>
METRICFIT_INLINE void once(F f) {
    f();
}

// The same without a barrier before it: for memory that nobody has read since the last one.
template <class F>
METRICFIT_INLINE void each_now(int count, F f) {
    each(count, f);
}

// f(i, team) for every i: several teams of threads each take an i at a time, and all of these functions may be called inside,
// but not this one. Memory that f writes belongs to the team.
constexpr int MOST_TEAMS = 1;
template <class F>
METRICFIT_INLINE void by_teams(int count, F f) {
    for (int i = 0; i < count; ++i) f(i, 0);
}

// Recurrences of few numbers: f() is run by the lanes of one warp, of which this is lane() and there are WARP.
constexpr int WARP = 1;
METRICFIT_INLINE int lane() { return 0; }
template <class F>
METRICFIT_INLINE void by_lanes(F f) {
    f();
}
// Memory that the lanes of a warp share, and where they wait for each other before they read it.
#define METRICFIT_SHARED
METRICFIT_INLINE void lanes_meet() {}

// use(row, k, total) with the N sums over the columns of what add(row, column, totals) adds to totals[k].
template <int N, class Add, class Use>
METRICFIT_INLINE void row_sums(int rows, int columns, Add add, Use use) {
    for (int r = 0; r < rows; ++r) {
        double totals[N] = {};
        for (int c = 0; c < columns; ++c) add(r, c, totals);
        for (int k = 0; k < N; ++k) use(r, k, totals[k]);
    }
}

// use(row, total) with the sum over the columns of term(row, column).
template <class Term, class Use>
METRICFIT_INLINE void row_sums(int rows, int columns, Term term, Use use) {
    each(rows, [&](int r) { use(r, thread_sum(columns, [&](int c) { return term(r, c); })); });
}

// The sums over the columns of term(row, column), as a function of the row. They are computed where that is called; threads
// that share rows compute them here, and keep them in `room`.
template <class Term>
METRICFIT_INLINE auto sum_rows(int, int columns, double*, Term term) {
    return [=](int r) { return thread_sum(columns, [=](int c) { return term(r, c); }); };
}

template <class F>
METRICFIT_INLINE double sum(int count, F f) {
    double total = 0.0;
    for (int i = 0; i < count; ++i) total += f(i);
    return total;
}

// start - f(0) - ... - f(count - 1)
template <class F>
METRICFIT_INLINE double less_sum(double start, int count, F f) {
    for (int i = 0; i < count; ++i) start -= f(i);
    return start;
}

template <class F>
METRICFIT_INLINE double sum(int rows, int columns, F f) {
    double total = 0.0;
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < columns; ++c) total += f(r, c);
    }
    return total;
}

// Parts of a reduction over several loops: own_sum() and own_maxima() are what this thread has of a loop, and the sums and maxima
// of all are what the threads have together. There is no barrier in between.
template <class F>
METRICFIT_INLINE double own_sum(int rows, int columns, F f) {
    return sum(rows, columns, f);
}
METRICFIT_INLINE double sum_of_all(double own) { return own; }

// Both sums of a Pair f(i).
template <class F>
METRICFIT_INLINE Pair sums(int count, F f) {
    double first = 0.0, second = 0.0;
    for (int i = 0; i < count; ++i) {
        const Pair value = f(i);
        first += value.first;
        second += value.second;
    }
    return {first, second};
}

// The largest f(i), or minus infinity.
template <class F>
METRICFIT_INLINE double maximum(int count, F f) {
    double best = -INFINITY;
    for (int i = 0; i < count; ++i) {
        const double value = f(i);
        best = value > best ? value : best;
    }
    return best;
}

// The first i with the largest f(i); -1 if none is above `least`.
template <class F>
METRICFIT_INLINE int argmax(int count, double least, F f) {
    int best = -1;
    for (int i = 0; i < count; ++i) {
        const double value = f(i);
        if (value > least) {
            least = value;
            best = i;
        }
    }
    return best;
}

// Both maxima of a Pair f(row, column). Eight running maxima each, since compilers do not vectorise a single one.
template <class F>
METRICFIT_INLINE Pair maxima(int rows, int columns, F f) {
    constexpr int lanes = 8;
    double first[lanes], second[lanes];
    for (int lane = 0; lane < lanes; ++lane) first[lane] = second[lane] = -INFINITY;
    for (int r = 0; r < rows; ++r) {
        int c = 0;
        for (; c + lanes <= columns; c += lanes) {
            for (int lane = 0; lane < lanes; ++lane) {
                const Pair value = f(r, c + lane);
                first[lane] = value.first > first[lane] ? value.first : first[lane];
                second[lane] = value.second > second[lane] ? value.second : second[lane];
            }
        }
        for (; c < columns; ++c) {
            const Pair value = f(r, c);
            first[0] = value.first > first[0] ? value.first : first[0];
            second[0] = value.second > second[0] ? value.second : second[0];
        }
    }
    for (int lane = 1; lane < lanes; ++lane) {
        first[0] = first[lane] > first[0] ? first[lane] : first[0];
        second[0] = second[lane] > second[0] ? second[lane] : second[0];
    }
    return {first[0], second[0]};
}
template <class F>
METRICFIT_INLINE Pair own_maxima(int rows, int columns, F f) {
    return maxima(rows, columns, f);
}
METRICFIT_INLINE Pair maxima_of_all(Pair own) { return own; }

}  // namespace metricfit::METRICFIT_TARGET
#endif
