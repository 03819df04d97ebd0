// What block.cuh expects of CUDA, for a C++ compiler: a block is one thread, or several with a barrier.

#include <barrier>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#define DEVICE static
#define INLINE static inline
#define INLINE_MEMBER

struct Seat {
    int index = 0, count = 1;
    std::barrier<>* meeting = nullptr;
};

static thread_local Seat seat;

static inline int thread() { return seat.index; }
static inline int threads() { return seat.count; }
static inline void barrier() {
    if (seat.meeting) seat.meeting->arrive_and_wait();
}
