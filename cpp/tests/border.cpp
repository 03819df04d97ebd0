// The factors of the border against dense algebra.
#include "checks.hpp"
#include "core/border.hpp"

using namespace metricfit;
using checks::Random;

// Solves with the kernels; what is not there is filled up with unknowns that are 0. Below the diagonal nothing may be read.
static std::vector<double> solved(const std::vector<double>& matrix, const std::vector<double>& side) {
    const int m = static_cast<int>(side.size()), rows = fours(m), room = whole_eights(m);
    std::vector<double> whole(room * room, 0.0), x(room, 0.0), reciprocal(room, NAN);
    for (int r = 0; r < room; ++r) {
        for (int c = 0; c < room; ++c) {
            whole[r * room + c] = r < m && c < m ? matrix[r * m + c] : double(r == c && r < rows);
            if (c < r) whole[r * room + c] = NAN;
        }
        if (r < m) x[r] = side[r];
    }
    // The four of the diagonal share a vector, so that their lower triangle is read, but it decides nothing.
    for (int r = 0; r < room; ++r) {
        for (int c = r / LANES * LANES; c < r; ++c) whole[r * room + c] = 1e3;
    }
    ldl_factorise({whole.data(), room}, rows, reciprocal.data());
    ldl_solve({whole.data(), room}, rows, reciprocal.data(), x.data());
    for (int r = m; r < room; ++r) CHECK(x[r] == 0.0);
    x.resize(m);
    return x;
}

// A symmetric matrix with definite blocks of both signs, and rows of very different sizes.
static std::vector<double> quasi_definite(Random& random, int positive, int negative, double spread) {
    const int m = positive + negative;
    std::vector<double> factor(m * m), matrix(m * m), scale(m);
    for (double& x : factor) x = random.normal();
    for (double& x : scale) x = std::pow(10.0, random.uniform(-spread, spread));
    for (int r = 0; r < m; ++r) {
        for (int c = 0; c <= r; ++c) {
            double value = random.normal();
            if ((r < positive) == (c < positive)) {
                value = r == c ? 1.0 : 0.0;
                for (int k = 0; k < m; ++k) value += factor[r * m + k] * factor[c * m + k];
                if (r >= positive) value = -value;
            }
            matrix[r * m + c] = matrix[c * m + r] = scale[r] * value * scale[c];
        }
    }
    return matrix;
}

static void check_solution(int positive, int negative, double spread) {
    const int m = positive + negative;
    Random random(m);
    const std::vector<double> matrix = quasi_definite(random, positive, negative, spread);
    std::vector<double> truth(m), side(m, 0.0);
    for (int r = 0; r < m; ++r) truth[r] = random.normal() / std::sqrt(std::fabs(matrix[r * m + r]));
    for (int r = 0; r < m; ++r) {
        for (int c = 0; c < m; ++c) side[r] += matrix[r * m + c] * truth[c];
    }
    const std::vector<double> found = solved(matrix, side);
    for (int r = 0; r < m; ++r) {
        const double size = std::sqrt(std::fabs(matrix[r * m + r]));
        CHECK_NEAR(found[r] * size, truth[r] * size, 1e-7 * (1.0 + std::fabs(truth[r] * size)));
    }
}

CASE(factors_solve_with_the_upper_triangle_alone) {
    const int shapes[][2] = {{1, 0}, {0, 1}, {1, 1}, {2, 1}, {3, 4}, {10, 9}, {40, 37}};
    for (const auto& shape : shapes) check_solution(shape[0], shape[1], 0.0);
}

CASE(rows_may_be_of_very_different_sizes) {
    const int shapes[][2] = {{1, 1}, {3, 4}, {10, 9}, {40, 37}};
    for (const auto& shape : shapes) check_solution(shape[0], shape[1], 6.0);
}

CASE(rows_may_vanish) {
    const std::vector<double> found = solved({2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -4.0}, {2.0, 0.0, 4.0});
    CHECK_NEAR(found[0], 1.0, 1e-15);
    CHECK_NEAR(found[1], 0.0, 1e-15);
    CHECK_NEAR(found[2], -1.0, 1e-15);
}

CASE(products_of_rows_are_those_of_the_definition) {
    Random random(9);
    for (const int columns : {1, 5, 8, 9, 31, 70}) {
        for (const int count : {0, 1, 3, 11}) {
            const int stride = whole_eights(columns);
            std::vector<double> rows(12 * stride, 0.0), factor(12), target(stride, 0.0);
            for (double& x : factor) x = random.normal();
            for (int r = 0; r < 12; ++r) {
                for (int c = 0; c < columns; ++c) rows[r * stride + c] = random.normal();
            }
            for (double& x : target) x = random.normal();
            std::vector<double> wanted = target;
            for (int r = 0; r < count; ++r) {
                for (int c = 0; c < columns; ++c) wanted[c] -= factor[r] * rows[r * stride + c];
            }
            subtract_rows(target.data(), factor.data(), {rows.data(), stride}, count, 0, columns);
            for (int c = 0; c < columns; ++c) CHECK_NEAR(target[c], wanted[c], 1e-13);
            std::vector<double> product(12, NAN);
            multiply_rows(product.data(), {rows.data(), stride}, target.data(), count, stride);
            for (int r = 0; r < count; ++r) {
                double sum = 0.0;
                for (int c = 0; c < stride; ++c) sum += rows[r * stride + c] * target[c];
                CHECK_NEAR(product[r], sum, 1e-12);
            }
        }
    }
}
