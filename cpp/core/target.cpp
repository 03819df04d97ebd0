// The solver for one instruction set: this file is compiled several times, with METRICFIT_TARGET naming the set.
#include "target.hpp"

#include <memory>

#include "memory.hpp"
#include "solver.hpp"

namespace metricfit {
inline namespace METRICFIT_TARGET {

namespace {

// Memory for the next game of the same shape on this thread. Getting it from the operating system page by page would take
// a fifth of the time of a small game.
thread_local std::unique_ptr<Memory> kept;

Memory& memory_for(const Shape& shape) {
    if (!kept || !(kept->shape() == shape)) {
        kept.reset();
        kept = std::make_unique<Memory>(shape);
    }
#ifdef METRICFIT_POISON  // a build that shows whether a result depends on memory which nobody has written
    kept->fill(0xFF);
#endif
    return *kept;
}

SolvedColumns solved(const Columns& columns) {
    return {columns.used, columns.size_index, columns.mass, columns.inside.data, columns.inside.stride};
}

}  // namespace

SolvedGame solve_game(const RestrictedGame& game, const Settings& settings) {
    Problem problem;
    problem.groups = game.groups;
    problem.rows = game.rows;
    problem.columns = game.columns;
    problem.constraints = game.constraints;
    problem.alpha = {game.alpha, game.columns};
    problem.beta = {game.beta, game.columns};
    problem.alpha_t = {game.alpha_t, game.rows};
    problem.beta_t = {game.beta_t, game.rows};
    problem.predictor_sizes = game.predictor_sizes;
    problem.adversary_sizes = game.adversary_sizes;
    problem.weight = game.weight;
    problem.score = game.score;
    problem.positive = game.positive;
    problem.chain = game.chain;
    problem.gain = {game.gain, game.rows};
    problem.offset = {game.offset, game.rows};
    problem.chain_gain = {game.chain_gain, game.groups + 1};
    Memory& memory = memory_for({game.groups, game.constraints, game.rows, game.columns});
    const Outcome found = follow_path(problem, memory.room, memory.workspace, game.opening, game.openings, settings);
    const Iterate& best = memory.room.best;
    return {found.upper, found.lower, found.iterations, solved(best.adversary), solved(best.predictor),
            best.chain_mass, best.multiplier};
}

void release_memory() {
    if (kept && kept->shape().groups > parameters::memory::MOST_KEPT) kept.reset();
}

}  // namespace METRICFIT_TARGET
}  // namespace metricfit
