// How a block of threads shares its work; the rules are those of core/execution.hpp.
//
// Threads come in warps of 32. A block of one warp, which is enough for small games, meets without the multiprocessor's
// barrier. Reductions combine in a fixed order, and every thread gets the same result to the last bit.
#pragma once

namespace metricfit::METRICFIT_TARGET {

constexpr int WARP = 32;
constexpr int MOST_WARPS = 16;

constexpr int MOST_TEAMS = MOST_WARPS;  // TEAMS in solve.hpp

// Whether each warp works on its own, as a team.
METRICFIT_INLINE int& in_teams() {
    __shared__ int value;
    return value;
}
METRICFIT_INLINE int lane() { return static_cast<int>(threadIdx.x) % WARP; }
METRICFIT_INLINE int thread() { return in_teams() ? lane() : static_cast<int>(threadIdx.x); }
METRICFIT_INLINE int threads() { return in_teams() ? WARP : static_cast<int>(blockDim.x); }
METRICFIT_INLINE void barrier() {
    if (threads() == WARP) {
        __syncwarp();
    } else {
        __syncthreads();
    }
}

// The barrier before it, here and below, lets all threads read what is overwritten.
template <class F>
METRICFIT_INLINE void each(int count, F f) {
    barrier();
#pragma unroll 1
    for (int i = thread(); i < count; i += threads()) f(i);
    barrier();
}

METRICFIT_INLINE void set_teams(bool value) {
    __syncthreads();
    if (threadIdx.x == 0) in_teams() = value;
    __syncthreads();
}

template <class F>
METRICFIT_INLINE void by_teams(int count, F f) {
    const int team = static_cast<int>(threadIdx.x) / WARP, teams = static_cast<int>(blockDim.x) / WARP;
    set_teams(true);
#pragma unroll 1
    for (int i = team; i < count; i += teams) f(i, team);
    set_teams(false);
}

template <class F>
METRICFIT_INLINE void by_lanes(F f) {
    barrier();
    if (thread() < WARP) f();
    barrier();
}
METRICFIT_INLINE double lane_sum(double own, int count) {
    for (int distance = 1; distance < count && distance < WARP; distance *= 2) {
        own += __shfl_xor_sync(0xffffffffu, own, distance);
    }
    return own;
}

template <class F>
METRICFIT_INLINE void each_now(int count, F f) {
#pragma unroll 1
    for (int i = thread(); i < count; i += threads()) f(i);
    barrier();
}

// Rows and columns of a matrix: f(row, column). Neighbouring threads have neighbouring columns.
template <class F>
METRICFIT_INLINE void each(int rows, int columns, F f) {
    barrier();
    if (rows > 0 && columns > 0) {
        int r = thread() / columns, c = thread() % columns;
        const int down = threads() / columns, along = threads() % columns;
#pragma unroll 1
        while (r < rows) {
            f(r, c);
            r += down;
            c += along;
            if (c >= columns) {
                c -= columns;
                ++r;
            }
        }
    }
    barrier();
}

template <class F>
METRICFIT_INLINE void once(F f) {
    barrier();
    if (thread() == 0) f();
    barrier();
}

struct Add {
    METRICFIT_INLINE Pair operator()(Pair x, Pair y) const { return {x.first + y.first, x.second + y.second}; }
};
struct Maximum {
    METRICFIT_INLINE Pair operator()(Pair x, Pair y) const {
        return {x.first > y.first ? x.first : y.first, x.second > y.second ? x.second : y.second};
    }
};
// The largest first, of equal ones that with the smallest second.
struct Argument {
    METRICFIT_INLINE Pair operator()(Pair x, Pair y) const {
        return y.first > x.first || (y.first == x.first && y.second < x.second) ? y : x;
    }
};

template <class Operation>
METRICFIT_FUNCTION Pair reduce(Pair own, Operation combine) {
    __shared__ double slots[2 * MOST_WARPS];
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        const Pair other = {__shfl_xor_sync(0xffffffffu, own.first, distance),
                            __shfl_xor_sync(0xffffffffu, own.second, distance)};
        // The same order of operands in both lanes, since equal bits are promised to all.
        own = (thread() & distance) == 0 ? combine(own, other) : combine(other, own);
    }
    if (threads() == WARP) return own;
    if (thread() % WARP == 0) {
        slots[2 * (thread() / WARP)] = own.first;
        slots[2 * (thread() / WARP) + 1] = own.second;
    }
    __syncthreads();
    Pair whole = {slots[0], slots[1]};
    for (int w = 1; w < threads() / WARP; ++w) whole = combine(whole, Pair{slots[2 * w], slots[2 * w + 1]});
    __syncthreads();
    return whole;
}

template <class F>
METRICFIT_INLINE double sum(int count, F f) {
    double total = 0.0;
#pragma unroll 1
    for (int i = thread(); i < count; i += threads()) total += f(i);
    return reduce(Pair{total, 0.0}, Add()).first;
}

// start - f(0) - ... - f(count - 1)
template <class F>
METRICFIT_INLINE double less_sum(double start, int count, F f) {
    return start - sum(count, f);
}

template <class F>
METRICFIT_INLINE double sum(int rows, int columns, F f) {
    double total = 0.0;
#pragma unroll 1
    for (int x = thread(); x < rows * columns; x += threads()) total += f(x / columns, x % columns);
    return reduce(Pair{total, 0.0}, Add()).first;
}

template <class F>
METRICFIT_INLINE Pair sums(int count, F f) {
    Pair total = {0.0, 0.0};
#pragma unroll 1
    for (int i = thread(); i < count; i += threads()) total = Add()(total, f(i));
    return reduce(total, Add());
}

template <class F>
METRICFIT_INLINE double maximum(int count, F f) {
    double best = -INFINITY;
#pragma unroll 1
    for (int i = thread(); i < count; i += threads()) {
        const double value = f(i);
        best = value > best ? value : best;
    }
    return reduce(Pair{best, -INFINITY}, Maximum()).first;
}

template <class F>
METRICFIT_INLINE Pair maxima(int rows, int columns, F f) {
    Pair best = {-INFINITY, -INFINITY};
#pragma unroll 1
    for (int x = thread(); x < rows * columns; x += threads()) best = Maximum()(best, f(x / columns, x % columns));
    return reduce(best, Maximum());
}

template <class F>
METRICFIT_INLINE int argmax(int count, double least, F f) {
    Pair best = {-INFINITY, 1e300};
#pragma unroll 1
    for (int i = thread(); i < count; i += threads()) {
        const double value = f(i);
        if (value > best.first) best = {value, static_cast<double>(i)};
    }
    best = reduce(best, Argument());
    return best.first > least ? static_cast<int>(best.second) : -1;
}

METRICFIT_INLINE double warp_sum(double own) {
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) own += __shfl_xor_sync(0xffffffffu, own, distance);
    return own;
}

// A row is summed up by one warp.
template <int N, class Term, class Use>
METRICFIT_INLINE void row_sums(int rows, int columns, Term add, Use use) {
    barrier();
#pragma unroll 1
    for (int r = thread() / WARP; r < rows; r += threads() / WARP) {
        double totals[N] = {};
#pragma unroll 2
        for (int c = thread() % WARP; c < columns; c += WARP) add(r, c, totals);
#pragma unroll
        for (int k = 0; k < N; ++k) {
            const double total = warp_sum(totals[k]);
            if (thread() % WARP == k) use(r, k, total);
        }
    }
    barrier();
}

template <class Term, class Use>
METRICFIT_INLINE void row_sums(int rows, int columns, Term term, Use use) {
    row_sums<1>(rows, columns, [&](int r, int c, double* total) { total[0] += term(r, c); },
                [&](int r, int, double total) { use(r, total); });
}

// The sums over the columns of term(row, column), as a function of the row; they are kept in `room`.
template <class Term>
METRICFIT_INLINE auto sum_rows(int rows, int columns, double* room, Term term) {
    row_sums(rows, columns, term, [=](int r, double total) { room[r] = total; });
    return [=](int r) { return room[r]; };
}

// use(i, term(0) + ... + term(i)) for every i; what use() writes is no part of any term. Threads have neighbouring numbers,
// and sum them up twice: to learn what comes before them, and to use them.
template <class Term, class Use>
METRICFIT_INLINE void running(int count, Term term, Use use) {
    __shared__ double slots[MOST_WARPS];
    const int chunk = (count + threads() - 1) / threads();
    const int first = thread() * chunk < count ? thread() * chunk : count;
    const int last = first + chunk < count ? first + chunk : count;
    double own = 0.0;
    for (int i = first; i < last; ++i) own += term(i);
    double before = own;
#pragma unroll
    for (int distance = 1; distance < WARP; distance *= 2) {
        const double other = __shfl_up_sync(0xffffffffu, before, distance);
        if (thread() % WARP >= distance) before += other;
    }
    const double of_warp = __shfl_sync(0xffffffffu, before, WARP - 1);
    before = __shfl_up_sync(0xffffffffu, before, 1);
    if (thread() % WARP == 0) before = 0.0;
    if (threads() > WARP) {
        if (thread() % WARP == 0) slots[thread() / WARP] = of_warp;
        __syncthreads();
        for (int w = 0; w < thread() / WARP; ++w) before += slots[w];
    }
    for (int i = first; i < last; ++i) {
        before += term(i);
        use(i, before);
    }
    barrier();
}

// use(i, term(i) + ... + term(count - 1)) for every i.
template <class Term, class Use>
METRICFIT_INLINE void running_back(int count, Term term, Use use) {
    running(count, [&](int x) { return term(count - 1 - x); },
            [&](int x, double after) { use(count - 1 - x, after); });
}

}  // namespace metricfit::METRICFIT_TARGET
