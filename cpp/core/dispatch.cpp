// Chooses the instruction set once, when it is first asked for.
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "core/target.hpp"

namespace metricfit {

namespace {

struct Candidate {
    Target target;
    bool available;
};

}  // namespace

namespace baseline {
SolvedGame solve_game(const RestrictedGame& game, const Precision& precision);
}
namespace block {
SolvedGame solve_game(const RestrictedGame& game, const Precision& precision);
}
#if defined(__x86_64__)
namespace avx2 {
SolvedGame solve_game(const RestrictedGame& game, const Precision& precision);
}
namespace avx512 {
SolvedGame solve_game(const RestrictedGame& game, const Precision& precision);
}
#endif

namespace {

const Target& choose() {
    static const Candidate candidates[] = {
#if defined(__x86_64__)
        {{"avx512", avx512::solve_game},
         __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512bw")},
        {{"avx2", avx2::solve_game}, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
#endif
        {{"baseline", baseline::solve_game}, true},
        {{"block", block::solve_game}, true},
    };
    const char* wanted = std::getenv("METRICFIT_TARGET");
    for (const Candidate& candidate : candidates) {
        if (candidate.available && (!wanted || std::strcmp(wanted, candidate.target.name) == 0)) return candidate.target;
    }
    throw std::runtime_error("METRICFIT_TARGET=" + std::string(wanted) +
                             " is not an instruction set of this processor; unset it, or set it to baseline");
}

}  // namespace

const Target& best_target() {
    static const Target& target = choose();
    return target;
}

}  // namespace metricfit
