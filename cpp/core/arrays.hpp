// Views of memory that somebody else owns, and the arena that hands it out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "execution.hpp"

namespace metricfit::METRICFIT_TARGET {

// A matrix by rows; matrix[r][c].
template <class T>
struct MatrixView {
    T* data = nullptr;
    std::ptrdiff_t stride = 0;
    METRICFIT_INLINE T* operator[](std::ptrdiff_t row) const { return data + row * stride; }
};
using Matrix = MatrixView<double>;
using ConstMatrix = MatrixView<const double>;

// Hands out memory in whole cache lines. Without a base it only counts, so the same code measures and lays out.
class Arena {
public:
    METRICFIT_INLINE explicit Arena(unsigned char* base = nullptr) : base_(base) {}

    template <class T>
    METRICFIT_INLINE T* take(std::size_t count) {
        T* result = base_ ? reinterpret_cast<T*>(base_ + used_) : nullptr;
        used_ += (count * sizeof(T) + LINE - 1) / LINE * LINE;
        return result;
    }
    METRICFIT_INLINE Matrix matrix(std::size_t rows, std::size_t columns) {
        return {take<double>(rows * columns), static_cast<std::ptrdiff_t>(columns)};
    }
    METRICFIT_INLINE std::size_t used() const { return used_; }

    static constexpr std::size_t LINE = 64;

private:
    unsigned char* base_;
    std::size_t used_ = 0;
};

}  // namespace metricfit::METRICFIT_TARGET
