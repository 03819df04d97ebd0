// What block.cuh expects of CUDA, for a C++ compiler: a block is one thread, or several with barriers.

#include <barrier>
#include <bit>
#include <cmath>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#define DEVICE static
#define INLINE static inline
#define INLINE_MEMBER

// Lanes of a warp; more than one needs as many threads.
#ifndef WARP_LANES
#define WARP_LANES 1
#endif
constexpr int LANES = WARP_LANES;

struct Warp {
    std::barrier<> meeting{LANES};
    double told[LANES];
};

struct Seat {
    int index = 0, count = 1, rank = 0, team = 1;
    std::barrier<>*meeting = nullptr, *team_meeting = nullptr;
    Warp* warp = nullptr;
    double *near = nullptr, *other_near = nullptr;
    int near_size = 0;
};

static thread_local Seat seat;

static inline int thread() { return seat.index; }
static inline int threads() { return seat.count; }
static inline void barrier() {
    if (seat.meeting) seat.meeting->arrive_and_wait();
}
static inline int rank() { return seat.rank; }
static inline int team() { return seat.team; }
static inline void team_barrier() {
    if (seat.team > 1) seat.team_meeting->arrive_and_wait();
    else barrier();
}
static inline bool is_near(const double* place) {
    return !std::less<>()(place, seat.near) && std::less<>()(place, seat.near + seat.near_size);
}
static inline double* across(double* near) { return seat.other_near + (near - seat.near); }
static inline void meet() {
    if (LANES > 1) seat.warp->meeting.arrive_and_wait();
}
static inline double from_lane(double value, int lane) {
    if (LANES == 1) return value;
    seat.warp->told[seat.index % LANES] = value;
    meet();
    value = seat.warp->told[lane];
    meet();
    return value;
}
static inline double reciprocal(double x) { return 1.0 / x; }
static inline unsigned upper_half(double x) { return static_cast<unsigned>(std::bit_cast<unsigned long long>(x) >> 32); }
static inline double far_read(const double* place) { return *place; }

// The near memory of the block that this thread is of.
static thread_local double* quick = nullptr;
