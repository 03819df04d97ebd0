// How a block of threads shares its work; the rules are those of core/execution.hpp.
//
// Threads come in warps of 32. A block of one warp, which is enough for small games, meets without the multiprocessor's
// barrier. Reductions combine in a fixed order, and every thread gets the same result to the last bit.
#pragma once

namespace metricfit::METRICFIT_TARGET {

constexpr int WARP = 32;
constexpr int MOST_WARPS = 8;

constexpr int MOST_TEAMS = MOST_WARPS;  // TEAMS in solve.hpp

// Whether each warp works on its own, as a team.
METRICFIT_INLINE int& in_teams() {
    __shared__ int value;
    return value;
}
METRICFIT_INLINE int lane() { return static_cast<int>(threadIdx.x) % WARP; }
METRICFIT_INLINE int thread() { return in_teams() ? lane() : static_cast<int>(threadIdx.x); }
METRICFIT_INLINE int threads() { return in_teams() ? WARP : static_cast<int>(blockDim.x); }
// A barrier is for whole warps: lanes that left a loop at different times come together first.
METRICFIT_INLINE void block_barrier() {
    __syncwarp();
    __syncthreads();
}
METRICFIT_INLINE void barrier() {
    if (threads() == WARP) {
        __syncwarp();
    } else {
        block_barrier();
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
    block_barrier();
    if (threadIdx.x == 0) in_teams() = value;
    block_barrier();
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
#define METRICFIT_SHARED __shared__
METRICFIT_INLINE void lanes_meet() { __syncwarp(); }

template <class F>
METRICFIT_INLINE void each_now(int count, F f) {
#pragma unroll 1
    for (int i = thread(); i < count; i += threads()) f(i);
    barrier();
}

// This thread's first entry of a matrix with so many columns, and how far it is to the next. Divisions take many instructions.
struct Entries {
    int row, column, down, along;
};
METRICFIT_FUNCTION Entries entries_of(int columns) {
    const int row = thread() / columns, down = threads() / columns;
    return {row, thread() - row * columns, down, threads() - down * columns};
}

// f(row, column) for this thread's entries of a matrix. Neighbouring threads have neighbouring columns.
template <class F>
METRICFIT_INLINE void own_entries(int rows, int columns, F f) {
    if (rows <= 0 || columns <= 0) return;
    Entries at = entries_of(columns);
#pragma unroll 1
    while (at.row < rows) {
        f(at.row, at.column);
        at.row += at.down;
        at.column += at.along;
        if (at.column >= columns) {
            at.column -= columns;
            ++at.row;
        }
    }
}

template <class F>
METRICFIT_INLINE void each(int rows, int columns, F f) {
    barrier();
    own_entries(rows, columns, f);
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

// Combines the numbers of the first `count` lanes, as many as a power of two; the others' do not matter.
template <class Operation>
METRICFIT_INLINE Pair reduce_lanes(Pair own, int count, Operation combine) {
#pragma unroll 1
    for (int distance = count / 2; distance > 0; distance /= 2) {
        const Pair other = {__shfl_xor_sync(0xffffffffu, own.first, distance),
                            __shfl_xor_sync(0xffffffffu, own.second, distance)};
        // The same order of operands in both lanes, since equal bits are promised to all.
        own = (thread() & distance) == 0 ? combine(own, other) : combine(other, own);
    }
    return own;
}

template <class Operation>
METRICFIT_FUNCTION Pair reduce(Pair own, Operation combine) {
    __shared__ double slots[2 * MOST_WARPS];
    __syncwarp();
    own = reduce_lanes(own, WARP, combine);
    if (threads() == WARP) return own;
    if (thread() % WARP == 0) {
        slots[2 * (thread() / WARP)] = own.first;
        slots[2 * (thread() / WARP) + 1] = own.second;
    }
    block_barrier();
    // Every warp combines what all of them have found, in the same order.
    const int warps = threads() / WARP;
    Pair whole = {slots[0], slots[1]};
#pragma unroll 1
    for (int w = 1; w < warps; ++w) whole = combine(whole, Pair{slots[2 * w], slots[2 * w + 1]});
    block_barrier();
    return whole;
}

template <class F>
METRICFIT_INLINE double sum(int count, F f) {
    double total = 0.0;
#pragma unroll 2
    for (int i = thread(); i < count; i += threads()) total += f(i);
    return reduce(Pair{total, 0.0}, Add()).first;
}

// start - f(0) - ... - f(count - 1)
template <class F>
METRICFIT_INLINE double less_sum(double start, int count, F f) {
    return start - sum(count, f);
}

template <class F>
METRICFIT_INLINE double own_sum(int rows, int columns, F f) {
    double total = 0.0;
    own_entries(rows, columns, [&](int r, int c) { total += f(r, c); });
    return total;
}
METRICFIT_INLINE double sum_of_all(double own) { return reduce(Pair{own, 0.0}, Add()).first; }

template <class F>
METRICFIT_INLINE double sum(int rows, int columns, F f) {
    return sum_of_all(own_sum(rows, columns, f));
}

template <class F>
METRICFIT_INLINE Pair sums(int count, F f) {
    Pair total = {0.0, 0.0};
#pragma unroll 2
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
METRICFIT_INLINE Pair own_maxima(int rows, int columns, F f) {
    Pair best = {-INFINITY, -INFINITY};
    own_entries(rows, columns, [&](int r, int c) { best = Maximum()(best, f(r, c)); });
    return best;
}
METRICFIT_INLINE Pair maxima_of_all(Pair own) { return reduce(own, Maximum()); }

template <class F>
METRICFIT_INLINE Pair maxima(int rows, int columns, F f) {
    return maxima_of_all(own_maxima(rows, columns, f));
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

METRICFIT_FUNCTION double warp_sum(double own) {
    __syncwarp();
#pragma unroll 1
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

// The sum of the numbers of this thread and those before it, and the sum of all.
METRICFIT_FUNCTION Pair scan(double own) {
    __shared__ double slots[MOST_WARPS];
    __syncwarp();
    double sum = own;
#pragma unroll 1
    for (int distance = 1; distance < WARP; distance *= 2) {
        const double other = __shfl_up_sync(0xffffffffu, sum, distance);
        if (thread() % WARP >= distance) sum += other;
    }
    double whole = __shfl_sync(0xffffffffu, sum, WARP - 1);
    if (threads() == WARP) return {sum, whole};
    if (thread() % WARP == 0) slots[thread() / WARP] = whole;
    block_barrier();
    whole = 0.0;
#pragma unroll 1
    for (int w = 0; w < threads() / WARP; ++w) {
        if (w == thread() / WARP) sum += whole;
        whole += slots[w];
    }
    block_barrier();
    return {sum, whole};
}

// use(i, term(0) + ... + term(i)) for every i; what use() writes is no part of any term.
template <class Term, class Use>
METRICFIT_INLINE void running(int count, Term term, Use use) {
    barrier();
    double before = 0.0;
#pragma unroll 1
    for (int first = 0; first < count; first += threads()) {
        const int i = first + thread();
        const Pair found = scan(i < count ? term(i) : 0.0);
        if (i < count) use(i, before + found.first);
        before += found.second;
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
