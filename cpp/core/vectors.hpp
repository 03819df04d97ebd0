// Vectors of numbers, as wide as the instruction set has them.
//
// Kernels treat LANES = 8 items at once, as LANES / WIDTH vectors. Wider vectors than there are registers for are ten times
// slower, because the compiler keeps them in memory.
#pragma once

#include <utility>

#include "execution.hpp"

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

METRICFIT_INLINE Vector load(const double* source) { return *reinterpret_cast<const UnalignedVector*>(source); }
METRICFIT_INLINE void store(double* target, Vector value) { *reinterpret_cast<UnalignedVector*>(target) = value; }
METRICFIT_INLINE Vector all(double value) { return value - Vector{}; }

// Whether the compiler can shuffle vectors; GCC learned it with version 12.
#if !defined(METRICFIT_SHUFFLE) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define METRICFIT_SHUFFLE 1
#endif
#endif
#ifndef METRICFIT_SHUFFLE
#define METRICFIT_SHUFFLE 0
#endif

// The numbers at these places of a, followed by b.
template <int... PLACE>
METRICFIT_INLINE Vector picked(Vector a, Vector b) {
#if METRICFIT_SHUFFLE
    return __builtin_shufflevector(a, b, PLACE...);
#else
    return Vector{(PLACE < WIDTH ? a[PLACE % WIDTH] : b[PLACE % WIDTH])...};
#endif
}

using AllLanes = std::make_integer_sequence<int, WIDTH>;

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
