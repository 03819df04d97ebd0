// What crosses between the solver, which is compiled once for each instruction set, and the rest of the library, which is
// compiled once and strictly (no reordered sums). Plain data and pointers only: a std container that both sides
// instantiate would be merged by the linker, and a machine without AVX-512 could end up in its AVX-512 copy.
#pragma once

#include <cstddef>

#include "settings.hpp"

namespace metricfit {

// A restricted game: G groups of items, K sizes of the predictor, L of the adversary, C constraints. See Problem in
// state.hpp for what the arrays mean; all are by rows and without gaps.
struct RestrictedGame {
    int groups, rows, columns, constraints;
    const double *alpha, *beta;      // (K, L)
    const double *alpha_t, *beta_t;  // (L, K)
    const double *predictor_sizes, *adversary_sizes;  // (K), (L)
    const double *weight, *score, *positive;          // (G)
    const int* chain;                                 // (G + 1)
    const double *gain, *offset;                      // (C, K)
    const double* chain_gain;                         // (C, G + 1)
    const int* opening;  // rows that the predictor has in play from the start
    int openings;
};

// One player's mixture as the solver keeps it.
struct SolvedColumns {
    int used;
    const int* size_index;   // (used) which row or column of the tables
    const double* mass;      // (MAX_COLUMNS + 2); the adversary's empty and full set come last
    const double* inside;    // (used, G), rows `stride` apart
    std::ptrdiff_t stride;
};

// The best strategies found. The pointers lead into memory that the solver keeps for the calling thread; they are valid
// until that thread solves another game.
struct SolvedGame {
    double upper, lower;
    int iterations;
    SolvedColumns adversary, predictor;
    const double* chain_mass;  // (G + 1)
    const double* multiplier;  // (C)
};

using SolveGame = SolvedGame (*)(const RestrictedGame&, const Settings&);

// An instruction set that the solver is compiled for.
struct Target {
    const char* name;
    SolveGame solve;
    void (*release)();  // gives memory for large games back, when what the thread solved last is not needed any more
};

// The widest instruction set that this processor has; METRICFIT_TARGET in the environment names another one.
const Target& best_target();

}  // namespace metricfit
