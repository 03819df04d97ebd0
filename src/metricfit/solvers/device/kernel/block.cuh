// The threads of a block, and how they meet.
//
// One block solves one game. The code below is CUDA C++, but uses only the index of a thread, a barrier and
// memory that the block shares, so that a C++ compiler turns the same source into a program for the CPU, whose
// blocks are one thread or several (host.hpp). That is how it is tested where there is no GPU.
//
// Rule: whoever writes what another thread reads ends the phase with barrier(). Decisions that all threads
// must take alike are made from values that all of them read after a barrier.

#ifdef __CUDACC__
#define DEVICE static __device__ __noinline__
#define INLINE static __device__ __forceinline__
INLINE int thread() { return static_cast<int>(threadIdx.x); }
INLINE int threads() { return static_cast<int>(blockDim.x); }
INLINE void barrier() { __syncthreads(); }
#define INLINE_MEMBER __device__ __forceinline__
#endif

// Share the numbers below count out among the threads. Each gets few, so that unrolling the loop would only make the
// program larger than what the processor keeps at hand.
#define EACH(index, count) _Pragma("unroll 1") for (int index = thread(); index < (count); index += threads())

// Rows of a matrix are shared out among warps, and their entries among the lanes of each. A block is a multiple of
// 32 threads, or fewer on the CPU.
INLINE int lanes() { return threads() < 32 ? 1 : 32; }
INLINE int lane() { return thread() % lanes(); }
INLINE int warp() { return thread() / lanes(); }
INLINE int warps() { return threads() / lanes(); }

constexpr int CAPACITY = 32;  // largest number of sizes that each player may have in play
constexpr int FINALISTS = 16;  // partial results of a reduction
constexpr double HUGE_VALUE = 1e300;  // stands for infinity where arithmetic follows

INLINE double larger(double x, double y) { return x > y ? x : y; }
INLINE double smaller(double x, double y) { return x < y ? x : y; }
INLINE int larger(int x, int y) { return x > y ? x : y; }
INLINE int smaller(int x, int y) { return x < y ? x : y; }
INLINE double absolute(double x) { return x < 0.0 ? -x : x; }
INLINE bool is_finite(double x) { return x - x == 0.0; }
INLINE double undefined() { return HUGE_VALUE * HUGE_VALUE * 0.0; }

INLINE int slots_needed(int count) { return 2 * (count + FINALISTS); }

// Both results of a reduction over the block, known to all its threads.
struct Pair {
    double first, second;
};

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

// Combine the values of all threads in a fixed order. Two barriers: the next call may follow at once, because it
// writes what is read here only after its own first barrier.
template <class Operation>
INLINE Pair reduce(Pair* slots, Pair own, Operation combine) {
    const int count = threads();
    Pair* finals = slots + count;
    slots[thread()] = own;
    barrier();
    const int finalists = smaller(count, FINALISTS);
    if (thread() < finalists) {
        Pair part = slots[thread()];
        for (int t = thread() + finalists; t < count; t += finalists) part = combine(part, slots[t]);
        finals[thread()] = part;
    }
    barrier();
    Pair whole = finals[0];
    for (int t = 1; t < finalists; ++t) whole = combine(whole, finals[t]);
    return whole;
}

INLINE Pair block_sums(Pair* slots, double x, double y) { return reduce(slots, Pair{x, y}, Add()); }
INLINE double block_sum(Pair* slots, double x) { return block_sums(slots, x, 0.0).first; }
INLINE Pair block_maxima(Pair* slots, double x, double y) { return reduce(slots, Pair{x, y}, Maximum()); }
INLINE double block_maximum(Pair* slots, double x) { return block_maxima(slots, x, -HUGE_VALUE).first; }
