// What the test programs have in common: cases that register themselves, checks, random numbers, dense algebra.
//
// A program runs the cases that are named on its command line, or all. It ends with 1 if a check failed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

namespace checks {

struct Case {
    const char* name;
    void (*run)();
};

inline std::vector<Case>& cases() {
    static std::vector<Case> all;
    return all;
}

inline int& failures() {
    static int count = 0;
    return count;
}

struct Registered {
    Registered(const char* name, void (*run)()) { cases().push_back({name, run}); }
};

inline void report(bool holds, const char* what, const char* file, int line) {
    if (holds) return;
    if (++failures() <= 20) std::printf("%s:%d: %s does not hold\n", file, line, what);
}

inline void report_near(double found, double wanted, double tolerance, const char* what, const char* file, int line) {
    if (std::fabs(found - wanted) <= tolerance || found == wanted) return;
    if (++failures() <= 20) std::printf("%s:%d: %s is %.17g, not %.17g\n", file, line, what, found, wanted);
}

class Random {
public:
    explicit Random(unsigned seed) : engine_(seed) {}
    double uniform(double low = 0.0, double high = 1.0) { return std::uniform_real_distribution<double>(low, high)(engine_); }
    double normal() { return std::normal_distribution<double>()(engine_); }
    int integer(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
    bool chance(double probability) { return uniform() < probability; }
    // Shares of 1, all positive.
    std::vector<double> shares(int count) {
        std::vector<double> result(count);
        double total = 0.0;
        for (double& share : result) total += share = -std::log(uniform(1e-6, 1.0));
        for (double& share : result) share /= total;
        return result;
    }
    std::vector<int> permutation(int count) {
        std::vector<int> result(count);
        for (int i = 0; i < count; ++i) result[i] = i;
        std::shuffle(result.begin(), result.end(), engine_);
        return result;
    }

private:
    std::mt19937 engine_;
};

// Solves a dense system by elimination with pivots; `matrix` is by rows.
inline std::vector<double> dense_solve(std::vector<double> matrix, std::vector<double> side) {
    const std::size_t n = side.size();
    for (std::size_t x = 0; x < n; ++x) {
        std::size_t pivot = x;
        for (std::size_t y = x + 1; y < n; ++y) {
            if (std::fabs(matrix[y * n + x]) > std::fabs(matrix[pivot * n + x])) pivot = y;
        }
        for (std::size_t c = 0; c < n; ++c) std::swap(matrix[x * n + c], matrix[pivot * n + c]);
        std::swap(side[x], side[pivot]);
        for (std::size_t y = x + 1; y < n; ++y) {
            const double factor = matrix[y * n + x] / matrix[x * n + x];
            if (factor == 0.0) continue;
            for (std::size_t c = x; c < n; ++c) matrix[y * n + c] -= factor * matrix[x * n + c];
            side[y] -= factor * side[x];
        }
    }
    for (std::size_t x = n; x-- > 0;) {
        for (std::size_t c = x + 1; c < n; ++c) side[x] -= matrix[x * n + c] * side[c];
        side[x] /= matrix[x * n + x];
    }
    return side;
}

}  // namespace checks

#define CASE(name)                                          \
    static void name();                                     \
    static const checks::Registered registered_##name{#name, name}; \
    static void name()
#define CHECK(holds) checks::report((holds), #holds, __FILE__, __LINE__)
#define CHECK_NEAR(found, wanted, tolerance) checks::report_near((found), (wanted), (tolerance), #found, __FILE__, __LINE__)

int main(int count, char** names) {
    int known = 0;
    for (const checks::Case& one : checks::cases()) {
        bool wanted = count == 1;
        for (int x = 1; x < count; ++x) wanted |= std::strcmp(names[x], one.name) == 0;
        if (!wanted) continue;
        ++known;
        one.run();
    }
    if (known == 0) std::printf("there is no such case\n");
    return known == 0 || checks::failures() > 0;
}
