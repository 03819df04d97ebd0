// The threads of a block, and how they meet.
//
// One block solves one game, or two do. The code is CUDA C++, but uses only the index of a thread, barriers, memory that the
// block shares and numbers handed from lane to lane, so that a C++ compiler turns the same source into a program
// for the CPU (host.hpp). That is how it is tested where there is no GPU.
//
// Threads come in warps of LANES, which is 32 on a GPU; on the CPU it is 1, or a few to look for races. What one
// warp does is written for any number of lanes: a row of numbers is spread over them, per_lane(row) to each.
//
// Where a device lets blocks meet (sm_90) and has more processors than games, two blocks play a game together: a team.
// Both do the same with memory of their own, and so come to the same numbers to the last bit, but for the work that
// grows with the items and for pricing: of that each does its share, and what the other needs it writes into the
// other's memory too (of_partner).
//
// Rule: whoever writes what another thread reads ends the phase with barrier(), or with meet() if only its own
// warp reads it; with team_barrier() if the other block does. Decisions that all threads must take alike are made
// from values that all of them read after a barrier.

#ifdef __CUDACC__
#define DEVICE static __device__ __noinline__
#define INLINE static __device__ __forceinline__
#define INLINE_MEMBER __device__ __forceinline__
constexpr int LANES = 32;
INLINE int thread() { return static_cast<int>(threadIdx.x); }
INLINE int threads() { return static_cast<int>(blockDim.x); }
INLINE void meet() { __syncwarp(); }
// Lanes that left a loop at different times come together before: a barrier is for whole warps, and without this some
// sums over the block came out wrong on an H200.
INLINE void barrier() {
    __syncwarp();
    __syncthreads();
}
INLINE double from_lane(double value, int lane) { return __shfl_sync(0xffffffffu, value, lane); }
// Far memory is read past the cache of the multiprocessor, and never waits behind near memory.
INLINE double far_read(const double* place) { return __ldcg(place); }
// 1 / x of an ordinary number to rounding, without the branches that a division has for the others; those give NaN.
INLINE double reciprocal(double x) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    y += y * (1.0 - x * y);
    return y + y * (1.0 - x * y);
}
// Sign, exponent and the first digits of a number.
INLINE unsigned upper_half(double x) { return static_cast<unsigned>(__double2hiint(x)); }
// The near memory of the block.
extern __shared__ __align__(16) double quick[];

// Which of its team a block is, and how many there are.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
INLINE int rank() {
    int value;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(value));
    return value;
}
INLINE int team() {
    int value;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(value));
    return value;
}
INLINE void team_barrier() {
    barrier();
    if (team() > 1) asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}
INLINE bool is_near(const double* place) { return __isShared(place); }
// The same place in the near memory of the other block.
INLINE double* across(double* near) {
    unsigned long long place;
    asm("mapa.u64 %0, %1, %2;" : "=l"(place) : "l"(near), "r"(1 - rank()));
    return reinterpret_cast<double*>(place);
}
#else
INLINE int rank() { return 0; }
INLINE int team() { return 1; }
INLINE void team_barrier() { barrier(); }
INLINE bool is_near(const double* place) { return __isShared(place); }
INLINE double* across(double* near) { return near; }
#endif
#endif

INLINE int lane() { return thread() % LANES; }
INLINE int warp() { return thread() / LANES; }
INLINE int warps() { return threads() / LANES; }
INLINE constexpr int per_lane(int count) { return (count + LANES - 1) / LANES; }

// Share the numbers below count out among the threads, the warps, or the lanes of a warp. Each gets few, so that
// unrolling the loop would only make the program larger than what the processor keeps at hand.
#define EACH(index, count) _Pragma("unroll 1") for (int index = thread(); index < (count); index += threads())
#define WARP_EACH(index, count) _Pragma("unroll 1") for (int index = warp(); index < (count); index += warps())
#define LANE_EACH(index, count) _Pragma("unroll 1") for (int index = lane(); index < (count); index += LANES)

constexpr int MOST_WARPS = 12;  // more would leave each thread too few registers
constexpr int CAPACITY = 32;  // largest number of sizes that each player may have in play
constexpr double HUGE_VALUE = 1e300;  // stands for infinity where arithmetic follows

INLINE double larger(double x, double y) { return x > y ? x : y; }
INLINE double smaller(double x, double y) { return x < y ? x : y; }
INLINE int larger(int x, int y) { return x > y ? x : y; }
INLINE int smaller(int x, int y) { return x < y ? x : y; }
INLINE unsigned larger(unsigned x, unsigned y) { return x > y ? x : y; }
INLINE double absolute(double x) { return x < 0.0 ? -x : x; }
INLINE bool is_finite(double x) { return x - x == 0.0; }
INLINE double undefined() { return HUGE_VALUE * HUGE_VALUE * 0.0; }

// Share the numbers below count out among the threads, each of which reads for several of them before it uses the first:
// far memory answers late, but to many at a time. use(index, read(index)).
constexpr int AHEAD = 4;
template <class Read, class Use>
INLINE void each_ahead(int count, Read read, Use use) {
#pragma unroll 1
    for (int first = thread(); first < count; first += AHEAD * threads()) {
        decltype(read(0)) known[AHEAD];
#pragma unroll
        for (int c = 0; c < AHEAD; ++c) {
            const int index = first + c * threads();
            known[c] = read(index < count ? index : first);
        }
#pragma unroll
        for (int c = 0; c < AHEAD; ++c) {
            if (first + c * threads() < count) use(first + c * threads(), known[c]);
        }
    }
}

// Two numbers: neighbours in memory, or both results of a reduction.
struct alignas(16) Pair {
    double first, second;
};

// Both numbers at an even place, by one access.
INLINE Pair two(const double* place) { return *reinterpret_cast<const Pair*>(place); }

// Neighbours from an even place on, all of them read before the first is used: a warp that waits for each in turn waits
// long. CHUNK pairs at a time leave room for other numbers in registers.
constexpr int CHUNK = 8;
template <int COUNT>
INLINE void read_pairs(Pair (&target)[CHUNK], const double* place, int first) {
#pragma unroll
    for (int c = 0; c < CHUNK; ++c) {
        if (first + 2 * c < COUNT) target[c] = two(place + first + 2 * c);
    }
}

struct Add {
    INLINE_MEMBER Pair operator()(Pair x, Pair y) const { return {x.first + y.first, x.second + y.second}; }
};

struct Maximum {
    INLINE_MEMBER Pair operator()(Pair x, Pair y) const {
        return {larger(x.first, y.first), larger(x.second, y.second)};
    }
};

// The largest value and where it is; of equal values the first.
struct Argument {
    INLINE_MEMBER Pair operator()(Pair x, Pair y) const {
        const bool second = y.first > x.first || (y.first == x.first && y.second < x.second);
        return second ? y : x;
    }
};

// Combine the values of a warp; every lane gets the same result, to the last bit.
template <class Operation>
INLINE Pair reduce_warp(Pair own, Operation combine) {
#pragma unroll
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
        const int other = lane() ^ distance;
        own = combine(own, Pair{from_lane(own.first, other), from_lane(own.second, other)});
    }
    return own;
}

INLINE double warp_sum(double own) {
#pragma unroll
    for (int distance = LANES / 2; distance > 0; distance /= 2) own += from_lane(own, lane() ^ distance);
    return own;
}

INLINE int warp_count(int own) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xffffffffu, own);
#else
    return static_cast<int>(warp_sum(own));
#endif
}

INLINE unsigned warp_largest(unsigned own) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xffffffffu, own);
#else
    return static_cast<unsigned>(reduce_warp(Pair{static_cast<double>(own), 0.0}, Maximum()).first);
#endif
}

// The sum of the values of this lane and those below it.
INLINE double warp_running_sum(double own) {
#pragma unroll
    for (int distance = 1; distance < LANES; distance *= 2) {
        const double other = from_lane(own, larger(lane() - distance, 0));
        if (lane() >= distance) own += other;
    }
    return own;
}

// Combine the values of all threads in a fixed order; known to all of them. Whoever calls next finds the slots read.
template <class Operation>
INLINE Pair reduce(Pair* slots, Pair own, Operation combine) {
    own = reduce_warp(own, combine);
    if (lane() == 0) slots[warp()] = own;
    barrier();
    Pair whole = slots[0];
    for (int w = 1; w < warps(); ++w) whole = combine(whole, slots[w]);
    barrier();
    return whole;
}

// Likewise of both blocks of a team; these slots are for nothing else.
template <class Operation>
INLINE Pair reduce_team(Pair* slots, Pair own, Operation combine) {
    if (team() == 1) return reduce(slots, own, combine);
    own = reduce_warp(own, combine);
    Pair* mine = slots + rank() * MOST_WARPS + warp();
    if (lane() == 0) *mine = *reinterpret_cast<Pair*>(across(&mine->first)) = own;
    team_barrier();
    Pair whole = slots[0];
    for (int w = 1; w < warps(); ++w) whole = combine(whole, slots[w]);
    for (int w = 0; w < warps(); ++w) whole = combine(whole, slots[MOST_WARPS + w]);
    team_barrier();
    return whole;
}

INLINE Pair block_sums(Pair* slots, double x, double y) { return reduce(slots, Pair{x, y}, Add()); }
INLINE double block_sum(Pair* slots, double x) { return block_sums(slots, x, 0.0).first; }
INLINE Pair block_maxima(Pair* slots, double x, double y) { return reduce(slots, Pair{x, y}, Maximum()); }
INLINE double block_maximum(Pair* slots, double x) { return block_maxima(slots, x, -HUGE_VALUE).first; }
