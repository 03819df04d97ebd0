// A block of a GPU's threads on the CPU: what CUDA gives to gpu/execution.hpp, by one fiber for each thread.
//
// Fibers run one at a time, from one barrier to the next, in an order that can be chosen: a program that depends on the order
// lacks a barrier. Under the thread sanitizer only barriers put fibers in an order, so that it sees every race that a
// hardware could show. Threads that wait at different barriers, or for threads that have ended, end the program.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <vector>

// What the sanitizer is told; it looks at the kernel, and not at what is in this file.
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
extern "C" void AnnotateIgnoreReadsBegin(const char*, int);
extern "C" void AnnotateIgnoreReadsEnd(const char*, int);
extern "C" void AnnotateIgnoreWritesBegin(const char*, int);
extern "C" void AnnotateIgnoreWritesEnd(const char*, int);
#define NOT_WATCHED __attribute__((no_sanitize_thread))
#else
#define NOT_WATCHED
inline void* __tsan_get_current_fiber() { return nullptr; }
inline void* __tsan_create_fiber(unsigned) { return nullptr; }
inline void __tsan_destroy_fiber(void*) {}
inline void __tsan_switch_to_fiber(void*, unsigned) {}
inline void __tsan_acquire(void*) {}
inline void __tsan_release(void*) {}
constexpr unsigned __tsan_switch_to_fiber_no_sync = 1;
inline void AnnotateIgnoreReadsBegin(const char*, int) {}
inline void AnnotateIgnoreReadsEnd(const char*, int) {}
inline void AnnotateIgnoreWritesBegin(const char*, int) {}
inline void AnnotateIgnoreWritesEnd(const char*, int) {}
#endif

#define METRICFIT_BLOCK
#define __shared__ static  // of the one block there is
#define threadIdx (emulation::block->place())
#define blockDim (emulation::block->size())
#define __syncthreads() emulation::block->wait(true)
#define __syncwarp() emulation::block->wait(false)
#define __shfl_xor_sync(mask, own, distance) emulation::block->from_lane(own, [&](int lane) { return lane ^ (distance); })
#define __shfl_up_sync(mask, own, distance) \
    emulation::block->from_lane(own, [&](int lane) { return lane < int(distance) ? lane : lane - int(distance); })
#define __shfl_sync(mask, own, source) emulation::block->from_lane(own, [&](int) { return source; })

namespace emulation {

constexpr int WARP_SIZE = 32, STACK = 256 * 1024;

struct Place {
    unsigned x;
};

class Block {
public:
    // The order of threads: forwards, backwards, or by chance, anew each time.
    enum Order { FORWARDS, BACKWARDS, SHUFFLED };

    Block(int threads, Order order) : threads_(threads), order_(order), slots_(threads), fibers_(threads), places_(threads) {}

    // Runs the kernel in every thread.
    void run(const std::function<void()>& kernel) {
        kernel_ = &kernel;
        Unwatched here;
        main_.sanitizer = __tsan_get_current_fiber();
        __tsan_release(this);  // what was done before the launch is known to all threads
        for (int t = 0; t < threads_; ++t) start(t);
        while (turn()) {
        }
        __tsan_acquire(this);
        for (Fiber& fiber : fibers_) __tsan_destroy_fiber(fiber.sanitizer);
    }

    NOT_WATCHED Place place() const { return {static_cast<unsigned>(now_)}; }
    NOT_WATCHED Place size() const { return {static_cast<unsigned>(threads_)}; }

    // At a barrier of the block, or of the warp.
    void wait(bool all) {
        Unwatched here;
        Fiber& fiber = fibers_[now_];
        void* const meeting = all ? static_cast<void*>(this) : static_cast<void*>(&places_[now_ / WARP_SIZE]);
        fiber.state = all ? AT_BLOCK : AT_WARP;
        __tsan_release(meeting);
        resume(fiber, main_);
        __tsan_acquire(meeting);
    }

    template <class Source>
    double from_lane(double own, Source source) {
        const int thread = place().x, lane = thread % WARP_SIZE, first = thread - lane;
        slots_[thread] = own;
        wait(false);
        const double result = slots_[first + source(lane)];
        wait(false);
        return result;
    }

private:
    struct Unwatched {
        Unwatched() {
            AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
            AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
        }
        ~Unwatched() {
            AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
            AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
        }
    };
    enum State { RUNNING, AT_BLOCK, AT_WARP, ENDED };
    struct Fiber {
        ucontext_t context;
        std::unique_ptr<char[]> stack;
        State state = RUNNING;
        void* sanitizer = nullptr;
    };

    static void enter();
    void end() {
        Fiber* own;
        {
            Unwatched here;
            own = &fibers_[now_];
            own->state = ENDED;
        }
        resume(*own, main_);
    }

    void start(int t) {
        Fiber& fiber = fibers_[t];
        fiber.stack = std::make_unique<char[]>(STACK);
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.get();
        fiber.context.uc_stack.ss_size = STACK;
        makecontext(&fiber.context, enter, 0);
        fiber.sanitizer = __tsan_create_fiber(0);
    }

    NOT_WATCHED static void resume(Fiber& from, Fiber& to) {
        __tsan_switch_to_fiber(to.sanitizer, __tsan_switch_to_fiber_no_sync);
        swapcontext(&from.context, &to.context);
    }

    // Runs every thread that can, as far as it can; false if all have ended.
    bool turn() {
        std::vector<int> able;
        for (int t = 0; t < threads_; ++t) {
            if (fibers_[t].state == RUNNING) able.push_back(t);
        }
        if (order_ == BACKWARDS) std::reverse(able.begin(), able.end());
        if (order_ == SHUFFLED) std::shuffle(able.begin(), able.end(), random_);
        for (const int t : able) {
            now_ = t;
            resume(main_, fibers_[t]);
        }
        const auto all = [&](int first, int last, State state) {
            return std::all_of(&fibers_[first], &fibers_[0] + last, [&](const Fiber& fiber) { return fiber.state == state; });
        };
        const auto release = [&](int first, int last) {
            for (int t = first; t < last; ++t) fibers_[t].state = RUNNING;
        };
        if (all(0, threads_, ENDED)) return false;
        if (all(0, threads_, AT_BLOCK)) {
            release(0, threads_);
            return true;
        }
        bool released = false;
        for (int first = 0; first < threads_; first += WARP_SIZE) {
            if (!all(first, first + WARP_SIZE, AT_WARP)) continue;
            release(first, first + WARP_SIZE);
            released = true;
        }
        if (!released) {
            std::printf("threads wait at different barriers\n");
            std::exit(1);
        }
        return true;
    }

    const int threads_;
    const Order order_;
    std::vector<double> slots_;
    std::vector<Fiber> fibers_;
    std::vector<char> places_;
    Fiber main_;
    int now_ = 0;
    std::mt19937 random_{0};
    const std::function<void()>* kernel_ = nullptr;
};

inline Block* block = nullptr;

NOT_WATCHED inline void Block::enter() {
    __tsan_acquire(block);
    (*block->kernel_)();
    __tsan_release(block);
    block->end();
}

}  // namespace emulation
