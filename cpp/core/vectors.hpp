// Vectors of numbers, as wide as the instruction set has them.
//
// Kernels treat LANES = 8 items at once, as LANES / WIDTH vectors. Wider vectors than there are registers for are ten times
// slower, because the compiler keeps them in memory.
#pragma once

#include <utility>

#include "core/execution.hpp"

namespace metricfit::METRICFIT_TARGET {

#if defined(__AVX512F__)
constexpr int WIDTH = 8;
#elif defined(__AVX__)
constexpr int WIDTH = 4;
#else
constexpr int WIDTH = 2;  // SSE2 and NEON
#endif

typedef double Vector __attribute__((vector_size(8 * WIDTH)));
typedef double UnalignedVector __attribute__((vector_size(8 * WIDTH), aligned(8)));

// Four numbers, or two.
constexpr int SHORT = WIDTH < 4 ? WIDTH : 4;
typedef double ShortVector __attribute__((vector_size(8 * SHORT), aligned(8)));

METRICFIT_INLINE Vector load(const double* source) { return *reinterpret_cast<const UnalignedVector*>(source); }
METRICFIT_INLINE void store(double* target, Vector value) { *reinterpret_cast<UnalignedVector*>(target) = value; }
METRICFIT_INLINE ShortVector load_short(const double* source) { return *reinterpret_cast<const ShortVector*>(source); }
METRICFIT_INLINE void store_short(double* target, ShortVector value) { *reinterpret_cast<ShortVector*>(target) = value; }
METRICFIT_INLINE Vector all(double value) { return value - Vector{}; }

// The smaller and the larger halves of what pairs of blocks of D numbers are: a0 b0 a2 b2 ... and a1 b1 a3 b3 ...
template <int D, int... I>
METRICFIT_INLINE Vector even_blocks(Vector a, Vector b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (I & D ? I - D + WIDTH : I)...);
}
template <int D, int... I>
METRICFIT_INLINE Vector odd_blocks(Vector a, Vector b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (I & D ? I + WIDTH : I + D)...);
}
using AllLanes = std::make_integer_sequence<int, WIDTH>;

// Transposes WIDTH vectors, block by block of twice the size.
template <int D = 1>
METRICFIT_INLINE void transpose(Vector (&v)[WIDTH]) {
    if constexpr (D < WIDTH) {
        for (int i = 0; i < WIDTH; ++i) {
            if (i & D) continue;
            const Vector a = v[i], b = v[i + D];
            v[i] = even_blocks<D>(a, b, AllLanes{});
            v[i + D] = odd_blocks<D>(a, b, AllLanes{});
        }
        transpose<2 * D>(v);
    }
}

// The sums of the numbers in each of WIDTH vectors.
template <int D = 1>
METRICFIT_INLINE Vector sums_of(const Vector* v) {
    if constexpr (D == WIDTH) {
        return v[0];
    } else {
        Vector half[WIDTH / (2 * D)];
        for (int i = 0; i < WIDTH / (2 * D); ++i) {
            half[i] = even_blocks<D>(v[2 * i], v[2 * i + 1], AllLanes{}) + odd_blocks<D>(v[2 * i], v[2 * i + 1], AllLanes{});
        }
        return sums_of<2 * D>(half);
    }
}

// The same of eight vectors, and of four.
METRICFIT_INLINE void store_sums(double* target, const Vector (&v)[LANES]) {
    for (int i = 0; i < LANES; i += WIDTH) store(target + i, sums_of(v + i));
}
METRICFIT_INLINE void store_sums(double* target, const Vector (&v)[4]) {
    if constexpr (WIDTH <= 4) {
        for (int i = 0; i < 4; i += WIDTH) store(target + i, sums_of(v + i));
    } else {
        const Vector both[LANES] = {v[0], v[1], v[2], v[3]};
        const Vector sums = sums_of(both);
        for (int i = 0; i < 4; ++i) target[i] = sums[i];
    }
}

METRICFIT_INLINE double sum_of(Vector v) {
    double total = 0.0;
    for (int i = 0; i < WIDTH; ++i) total += v[i];
    return total;
}

METRICFIT_INLINE Vector larger(Vector x, Vector y) { return x > y ? x : y; }

// 1 / sqrt(x); the loop becomes vector instructions.
METRICFIT_INLINE Vector reciprocal_root(Vector x) {
    double root[WIDTH];
    for (int i = 0; i < WIDTH; ++i) root[i] = __builtin_sqrt(x[i]);
    return 1.0 / load(root);
}

}  // namespace metricfit::METRICFIT_TARGET
