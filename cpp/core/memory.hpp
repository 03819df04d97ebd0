// Memory of a solve, laid out for a number of groups and owned by one object.
#pragma once

#include <cmath>
#include <cstddef>
#ifndef __CUDACC__
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#endif

#include "state.hpp"

namespace metricfit::METRICFIT_TARGET {

// What the memory of a solve has to be large enough for.
struct Shape {
    int groups = 0, constraints = 0, rows = 0, columns = 0;
    METRICFIT_INLINE bool operator==(const Shape& other) const {
        return groups == other.groups && constraints == other.constraints && rows == other.rows &&
               columns == other.columns;
    }
};

METRICFIT_FUNCTION Columns lay_out_columns(Arena& arena, int groups, int sizes) {
    Columns columns;
    columns.capacity_items = groups;
    columns.inside = arena.matrix(MAX_COLUMNS, groups);
    columns.outside = arena.matrix(MAX_COLUMNS, groups);
    columns.dual_inside = arena.matrix(MAX_COLUMNS, groups);
    columns.dual_outside = arena.matrix(MAX_COLUMNS, groups);
    columns.mass = arena.take<double>(MAX_COLUMNS + 2);
    columns.dual_mass = arena.take<double>(MAX_COLUMNS + 2);
    columns.price = arena.take<double>(MAX_COLUMNS);
    columns.size_index = arena.take<int>(MAX_COLUMNS);
    columns.member = arena.take<bool>(sizes);
    columns.dropped = arena.take<bool>(sizes);
    columns.sizes = sizes;
    return columns;
}

METRICFIT_FUNCTION Iterate lay_out_iterate(Arena& arena, const Shape& shape) {
    Iterate it;
    it.adversary = lay_out_columns(arena, shape.groups, shape.columns);
    it.predictor = lay_out_columns(arena, shape.groups, shape.rows);
    it.chain_mass = arena.take<double>(shape.groups + 1);
    it.chain_slack = arena.take<double>(shape.groups + 1);
    it.multiplier = arena.take<double>(shape.constraints);
    it.multiplier_slack = arena.take<double>(shape.constraints);
    return it;
}

METRICFIT_FUNCTION Room lay_out_room(Arena& arena, const Shape& shape) {
    const int groups = shape.groups;
    Room room;
    room.iterate = lay_out_iterate(arena, shape);
    room.best = lay_out_iterate(arena, shape);
    room.pooled = lay_out_columns(arena, groups, shape.columns);
    Grouping& grouping = room.grouping;
    grouping.blocks = arena.take<int>(groups + 1);
    grouping.coming = arena.take<int>(groups + 1);
    grouping.weight = arena.take<double>(groups);
    grouping.score = arena.take<double>(groups);
    grouping.positive = arena.take<double>(groups);
    grouping.chain = arena.take<int>(groups + 1);
    grouping.gain = arena.matrix(shape.constraints, groups + 1);
    room.value_k = arena.take<double>(shape.rows);
    room.value_p = arena.take<double>(shape.rows);
    room.value_l = arena.take<double>(shape.columns);
    return room;
}

// One more row than there can be columns: with a power of two, everything about an item would fall into the same set of
// the processor's cache.
METRICFIT_FUNCTION Side lay_out_side(Arena& arena, int groups) {
    Side side;
    Matrix* const all[] = {&side.weighed, &side.inv_diag, &side.out, &side.per_inside, &side.per_outside, &side.step,
                           &side.rhs, &side.neg_residual, &side.comp_inside, &side.comp_outside, &side.weighed_out};
    for (Matrix* matrix : all) *matrix = arena.matrix(MAX_COLUMNS + 1, groups);
    return side;
}

// `at_once` is how many items are factorised together; `most_rank` limits the factors of alpha, and with them the memory;
// `teams` is how many teams of threads there may be.
METRICFIT_FUNCTION Workspace lay_out_workspace(Arena& arena, const Shape& shape, int at_once = LANES,
                                               int most_rank = MAX_COLUMNS, int teams = MOST_TEAMS) {
    const int columns = MAX_COLUMNS, constraints = shape.constraints;
    const int groups = whole_eights(shape.groups), sets = groups + 1;
    const int fitting = static_cast<int>(std::sqrt(parameters::memory::MOST_FACTORS / (20.0 * groups)));
    const int rank = larger(4, smaller(most_rank, fitting) / 4 * 4);
    const int width = whole_eights(2 * columns + constraints), border = whole_eights(4 * columns + 4 + constraints);
    const int along = larger(columns, groups + 4);
    const int panels = BLOCK_KERNELS ? (sets + parameters::panels::SETS - 1) / parameters::panels::SETS : 1;
    Workspace w;
    w.adversary = lay_out_side(arena, groups);
    w.predictor = lay_out_side(arena, groups);
    w.precision = arena.take<double>(sets);
    w.step_chain = arena.take<double>(sets);
    w.residual_chain = arena.take<double>(sets);
    w.comp_chain = arena.take<double>(sets);
    w.chain_alpha = arena.matrix(sets, columns);
    w.chain_beta = arena.matrix(sets, columns + LANES);
    w.chain_row = arena.matrix(sets, 2 * width + LANES);
    w.cross = arena.matrix(columns, columns);
    w.cross_t = arena.matrix(columns, columns);
    w.sums = arena.matrix(4, columns);
    w.rest = arena.take<double>(static_cast<std::size_t>(columns) * (sets + columns));
    w.most_rank = rank;
    w.basis = arena.matrix(columns, rank);
    w.basis_t = arena.matrix(rank, columns);
    w.chain_on = arena.matrix(sets, columns);
    w.cross_on = arena.matrix(columns, rank);
    w.blocks = arena.take<double>(std::size_t{3} * rank * rank * groups);
    w.answers = arena.take<double>(std::size_t{2} * (2 * columns + constraints) * rank * groups);
    w.coupling = arena.take<double>(static_cast<std::size_t>(at_once) * (4 * rank * rank + 2 * rank));
    double** const moments[] = {&w.pull, &w.seen, &w.free, &w.met};
    for (double** moment : moments) {
        *moment = arena.take<double>(static_cast<std::size_t>(groups) * columns);
    }
    w.scratch = arena.matrix(columns, groups);
    w.team_factor = arena.matrix(teams, columns);
    w.team_order = {arena.take<int>(static_cast<std::size_t>(teams) * groups), groups};
    w.factor = arena.take<double>(along);
    w.factor_2 = arena.take<double>(along);
    w.factors = arena.take<double>(std::size_t{4} * (groups + 4));
    w.order = arena.take<int>(sets);
    w.order_2 = arena.take<int>(sets);
    w.running = arena.take<double>(columns + LANES);
    w.running_2 = arena.take<double>(columns + 2);
    w.running_3 = arena.take<double>(columns + 2);
    w.filtered = arena.take<double>(static_cast<std::size_t>(panels) * columns * (2 * width + LANES));
    w.passing = arena.take<double>(static_cast<std::size_t>(panels) * columns * columns);
    w.carried = arena.matrix(panels, columns);
    w.share = arena.take<double>(std::size_t{LANES} * (rank + 1) * width);
    w.observed = arena.take<double>(2 * width + LANES);
    w.kalman_gain = arena.matrix(sets, columns);
    w.innovation = arena.matrix(groups + 4, border);
    w.border = arena.matrix(border, border);
    w.reciprocal = arena.take<double>(border);
    w.step = arena.take<double>(border);
    w.residual_border = arena.take<double>(border);
    w.comp_mass = arena.take<double>(columns + 2);
    w.comp_mass_p = arena.take<double>(columns);
    w.comp_multiplier = arena.take<double>(constraints);
    return w;
}

#ifndef __CUDACC__
// Room and workspace of one thread, zeros at first. Most of a large one is never written: it has room for all the columns there
// may be. So the zeros are the operating system's, which it makes when a page is used; writing them took half of the
// time of a game of 1000 items.
class Memory {
public:
    explicit Memory(const Shape& shape) : shape_(shape) {
        Arena measure;
        lay_out_room(measure, shape);
        lay_out_workspace(measure, shape);
        bytes_ = measure.used();
        std::size_t room_for_both = bytes_ + Arena::LINE;
        owned_.reset(std::calloc(room_for_both, 1));
        begin_ = owned_.get();
        if (begin_ == nullptr || std::align(Arena::LINE, bytes_, begin_, room_for_both) == nullptr) throw std::bad_alloc();
        Arena arena(static_cast<unsigned char*>(begin_));
        room = lay_out_room(arena, shape);
        workspace = lay_out_workspace(arena, shape);
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    const Shape& shape() const { return shape_; }

    // Sets every byte. What is filled with 0xFF are numbers that are not numbers, and indices that lead nowhere.
    void fill(unsigned char byte) { std::memset(begin_, byte, bytes_); }

    Room room;
    Workspace workspace;

private:
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    Shape shape_;
    std::size_t bytes_ = 0;
    std::unique_ptr<void, Free> owned_;
    void* begin_ = nullptr;  // the first whole line of it
};
#endif

}  // namespace metricfit::METRICFIT_TARGET
