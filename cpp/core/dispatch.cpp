// Chooses the instruction set once, when it is first asked for.
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "target.hpp"

namespace metricfit {

namespace {

struct Candidate {
    Target target;
    bool available;
};

}  // namespace

namespace baseline {
SolvedGame solve_game(const RestrictedGame& game, const Settings& settings);
void release_memory();
}
#if defined(__x86_64__)
namespace avx2 {
SolvedGame solve_game(const RestrictedGame& game, const Settings& settings);
void release_memory();
}
namespace avx512 {
SolvedGame solve_game(const RestrictedGame& game, const Settings& settings);
void release_memory();
}
#endif

namespace {

const Target& choose() {
    static const Candidate candidates[] = {
#if defined(__x86_64__)
        {{"avx512", avx512::solve_game, avx512::release_memory},
         __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512bw")},
        {{"avx2", avx2::solve_game, avx2::release_memory}, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
#endif
        {{"baseline", baseline::solve_game, baseline::release_memory}, true},
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
