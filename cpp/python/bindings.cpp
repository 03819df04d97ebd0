// The extension module metricfit._core: the solver and the referee for NumPy arrays.
//
// Arrays are checked for type and layout by nanobind, and their shapes here; every function gives up Python's lock while it
// computes. Nothing keeps a pointer into an array beyond its call: a Setting copies what it is made of.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/playing.hpp"
#include "core/projection.hpp"
#include "gpu/host.hpp"

namespace nb = nanobind;
using namespace metricfit;

namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Plane = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using VectorOut = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using PlaneOut = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using CubeOut = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<nb::numpy, double>;
using Integers = nb::ndarray<nb::numpy, Index>;

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

template <class T>
std::vector<T> copied(const nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>& array) {
    return {array.data(), array.data() + array.size()};
}

Table table_of(const Plane& array) {
    Table table(static_cast<int>(array.shape(0)), static_cast<int>(array.shape(1)));
    std::copy_n(array.data(), array.size(), table.numbers.data());
    return table;
}

Table transposed(const Table& table) {
    Table result(table.columns, table.rows);
    for (int r = 0; r < table.rows; ++r) {
        for (int c = 0; c < table.columns; ++c) result[c][r] = table[r][c];
    }
    return result;
}

ConstMatrix view(const Plane& array) { return {array.data(), static_cast<std::ptrdiff_t>(array.shape(1))}; }

// Hand a vector over to NumPy, which frees it.
template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T>&& numbers, std::initializer_list<std::size_t> shape) {
    auto* owned = new std::vector<T>(std::move(numbers));
    nb::capsule owner(owned, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
    return nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.begin(), owner);
}

Numbers to_numpy(std::vector<double>&& numbers) {
    const std::size_t size = numbers.size();
    return to_numpy(std::move(numbers), {size});
}

// Whether numbers rise from 0 to `last`.
void require_rising(const Indices& numbers, Index last, const char* what) {
    const Index* all = numbers.data();
    const std::size_t count = numbers.size();
    require(count > 0 && all[0] == 0 && all[count - 1] == last, what);
    for (std::size_t x = 1; x < count; ++x) require(all[x - 1] < all[x], what);
}

// Whether each of the numbers from 0 on occurs once.
void require_order(const Indices& order, const char* what) {
    std::vector<char> seen(order.size(), 0);
    for (std::size_t x = 0; x < order.size(); ++x) {
        const Index place = order.data()[x];
        require(0 <= place && place < static_cast<Index>(order.size()) && !seen[place], what);
        seen[place] = 1;
    }
}

void require_blocks(const Indices& blocks, std::size_t width, std::size_t items) {
    require(blocks.size() == width + 1, "a strategy has a column of marginals for each block");
    require_rising(blocks, static_cast<Index>(items), "blocks are not empty, in order, and cover the items of their game");
}

Strategy strategy_of(const Indices& sizes, const Vector& weights, const Plane& marginals, const Indices& blocks,
                     Index items) {
    require(weights.size() == sizes.size() && marginals.shape(0) == sizes.size(),
            "a strategy has a weight and a row of marginals for each size");
    require_blocks(blocks, marginals.shape(1), static_cast<std::size_t>(items));
    for (std::size_t j = 0; j < sizes.size(); ++j) {
        require(0 <= sizes.data()[j] && sizes.data()[j] <= items, "the sizes of a strategy are between 0 and the number of items");
    }
    return {copied(sizes), copied(weights), table_of(marginals), copied(blocks)};
}

Limits limits_of(const Plane& gain, const Plane& offset, const Vector& multipliers, std::size_t sizes) {
    require(gain.shape(0) == multipliers.size() && offset.shape(0) == multipliers.size(),
            "there is one multiplier for each constraint");
    require(multipliers.size() == 0 || (gain.shape(1) == sizes && offset.shape(1) == sizes),
            "constraints have a column for each size");
    return {static_cast<int>(multipliers.size()), view(gain), view(offset)};
}

Setting make_setting(const Plane& alpha, const Plane& beta, const Vector& predictor_sizes, const Vector& adversary_sizes,
                     const Indices& chain, const Plane& gain, const Plane& offset, const Indices& rows,
                     const Indices& columns, const Indices& blocks, const Indices& order, Index split, double reach,
                     const Indices& opening) {
    require(blocks.size() > 1, "a game has at least one block of items");
    const std::size_t k = rows.size(), l = columns.size(), groups = blocks.size() - 1;
    const Index items = blocks.data()[groups];
    require_rising(blocks, items, "blocks are not empty, in order, and begin with the first item");
    require_rising(rows, items, "the predictor's sizes rise from 0 to the number of items");
    require_rising(columns, items, "the adversary's sizes rise from 0 to the number of items");
    require(0 <= split && split <= items, "the split is one of the items, or after the last");
    require(alpha.shape(0) == k && alpha.shape(1) == l && beta.shape(0) == k && beta.shape(1) == l,
            "the tables have a row for each size of the predictor and a column for each of the adversary");
    require(predictor_sizes.size() == k && adversary_sizes.size() == l, "sizes are given twice, in items and in units");
    require(chain.size() == groups + 1, "the chain has a set for each number of groups");
    require(order.size() == groups || order.size() == 0, "the order names each block once");
    require_order(order, "the order names each block once");
    require(gain.shape(0) == offset.shape(0) && (gain.shape(0) == 0 || (gain.shape(1) == k && offset.shape(1) == k)),
            "constraints have a column for each size of the predictor");
    Setting setting;
    setting.constraints = static_cast<int>(gain.shape(0));
    setting.alpha = table_of(alpha);
    setting.beta = table_of(beta);
    setting.alpha_t = transposed(setting.alpha);
    setting.beta_t = transposed(setting.beta);
    setting.predictor_sizes = copied(predictor_sizes);
    setting.adversary_sizes = copied(adversary_sizes);
    for (std::size_t j = 0; j <= groups; ++j) {
        require(0 <= chain.data()[j] && chain.data()[j] < static_cast<Index>(k), "the chain names rows of the tables");
        setting.chain.push_back(static_cast<int>(chain.data()[j]));
    }
    for (std::size_t x = 0; x < opening.size(); ++x) {
        require(0 <= opening.data()[x] && opening.data()[x] < static_cast<Index>(k), "the opening names rows of the tables");
        setting.opening.push_back(static_cast<int>(opening.data()[x]));
    }
    setting.gain = table_of(gain);
    setting.offset = table_of(offset);
    setting.rows = copied(rows);
    setting.columns = copied(columns);
    setting.blocks = copied(blocks);
    setting.order = copied(order);
    setting.split = split;
    setting.reach = reach;
    return setting;
}

using StrategyArrays = std::tuple<Integers, Numbers, Numbers>;

StrategyArrays arrays_of(Strategy&& strategy) {
    const std::size_t rows = strategy.marginals.rows, columns = strategy.marginals.columns;
    return {to_numpy(std::move(strategy.sizes), {rows}), to_numpy(std::move(strategy.weights)),
            to_numpy(std::move(strategy.marginals.numbers), {rows, columns})};
}

std::tuple<double, int, Numbers, StrategyArrays, StrategyArrays> py_attempt(const Setting& setting, const Vector& scores,
                                                                           double tolerance, int max_iterations,
                                                                           double regularisation) {
    require(static_cast<Index>(scores.size()) == setting.items(), "there is one score for each item");
    Attempt found;
    {
        nb::gil_scoped_release release;
        found = attempt(setting, copied(scores), {tolerance, max_iterations, regularisation});
    }
    return {found.gap, found.iterations, to_numpy(std::move(found.multipliers)), arrays_of(std::move(found.adversary)),
            arrays_of(std::move(found.predictor))};
}

void py_judge(const Setting& setting, const Plane& scores, double tolerance, int max_iterations, double regularisation,
              const Plane& alpha, const Plane& beta, const CubeOut& inclusion, const PlaneOut& verdicts) {
    const std::size_t games = scores.shape(0), items = scores.shape(1);
    require(setting.constraints == 0 && static_cast<Index>(items) == setting.items() &&
                setting.groups() == setting.items(),
            "games of single items without constraints are judged");
    require(alpha.shape(0) == items + 1 && alpha.shape(1) == items + 1 && beta.shape(0) == items + 1 &&
                beta.shape(1) == items + 1,
            "the metric's tables have a row and a column for each number of items");
    require(inclusion.shape(0) == games && inclusion.shape(1) == 2 && inclusion.shape(2) == items,
            "there is room for the inclusion probabilities of both players");
    require(verdicts.shape(0) == games && verdicts.shape(1) == 3, "there is room for a verdict on each game");
    nb::gil_scoped_release release;
    for (std::size_t game = 0; game < games; ++game) {
        double* included = inclusion.data() + 2 * items * game;
        const Verdict verdict = judge(setting, scores.data() + items * game, {tolerance, max_iterations, regularisation},
                                      view(alpha), view(beta), included, included + items);
        double* row = verdicts.data() + 3 * game;
        row[0] = verdict.upper;
        row[1] = verdict.upper - verdict.lower;
        row[2] = verdict.iterations;
    }
}

bool py_clean(const Indices& sizes, const VectorOut& weights, const PlaneOut& marginals, const Indices& blocks) {
    require(weights.size() == sizes.size() && marginals.shape(0) == sizes.size() && blocks.size() == marginals.shape(1) + 1 &&
                blocks.size() > 0,
            "a strategy has a weight and a row of marginals for each size, and a column for each block");
    nb::gil_scoped_release release;
    return clean(sizes.data(), weights.data(), marginals.data(), blocks.data(), static_cast<int>(sizes.size()),
                 static_cast<int>(marginals.shape(1)));
}

std::tuple<Numbers, Integers> py_tie_averages(const Vector& scores, Index split, const Plane& marginals,
                                              const Indices& blocks) {
    require_blocks(blocks, marginals.shape(1), scores.size());
    Strategy strategy{{}, {}, table_of(marginals), copied(blocks)};
    average_ties(scores.data(), static_cast<Index>(scores.size()), split, strategy);
    const std::size_t rows = strategy.marginals.rows, columns = strategy.marginals.columns;
    return {to_numpy(std::move(strategy.marginals.numbers), {rows, columns}),
            to_numpy(std::move(strategy.blocks), {columns + 1})};
}

void py_inclusion_in_order(const Plane& marginals, const Indices& blocks, const Indices& order, const VectorOut& result) {
    require(order.size() == result.size(), "there is a place for each item");
    require_blocks(blocks, marginals.shape(1), order.size());
    require_order(order, "the order names each item once");
    inclusion_in_order(view(marginals), static_cast<int>(marginals.shape(0)), static_cast<int>(marginals.shape(1)),
                       blocks.data(), order.data(), result.data());
}

// Whether tables have a column for each size of the strategy, and `values` room for the sizes of their rows.
void require_part(const Plane& alpha, const Plane& beta, const Strategy& strategy, Index start, const VectorOut& values) {
    const std::size_t count = strategy.sizes.size();
    require(alpha.shape(0) > 0 && alpha.shape(0) == beta.shape(0) && alpha.shape(1) == count && beta.shape(1) == count,
            "the tables have a column for each size of the strategy");
    require(start >= 0 && start + alpha.shape(0) <= values.size(), "there is a place for the value of each size");
}

void py_predictor_values(const Plane& alpha, const Plane& beta, Index start, double expected_score, Index split,
                         const Indices& sizes, const Vector& weights, const Plane& marginals, const Indices& blocks,
                         const Vector& multipliers, const Plane& gain, const Plane& offset, const VectorOut& values) {
    const Strategy strategy = strategy_of(sizes, weights, marginals, blocks, static_cast<Index>(values.size()) - 1);
    const Limits limits = limits_of(gain, offset, multipliers, values.size());
    require_part(alpha, beta, strategy, start, values);
    nb::gil_scoped_release release;
    predictor_values(view(alpha), view(beta), static_cast<int>(alpha.shape(0)), start, expected_score, split, strategy,
                     multipliers.data(), limits, values.data());
}

void py_adversary_values(const Plane& alpha, const Plane& beta, Index start, const Vector& scores,
                         const std::optional<Vector>& running, const Indices& sizes, const Vector& weights,
                         const Plane& marginals, const Indices& blocks, const VectorOut& values) {
    const Strategy strategy = strategy_of(sizes, weights, marginals, blocks, static_cast<Index>(scores.size()));
    require_part(alpha, beta, strategy, start, values);
    require(values.size() == scores.size() + 1, "there is a place for the value of each size");
    require(!running || running->size() == values.size(), "running sums of the scores begin with 0");
    nb::gil_scoped_release release;
    adversary_values(view(alpha), view(beta), static_cast<int>(alpha.shape(0)), start, scores.data(),
                     running ? running->data() : nullptr, strategy, values.data());
}

double py_expected_score(const Vector& scores, const Plane& marginals, const Indices& blocks) {
    require_blocks(blocks, marginals.shape(1), scores.size());
    return expected_score(scores.data(), view(marginals), static_cast<int>(marginals.shape(0)),
                          static_cast<int>(marginals.shape(1)), blocks.data());
}

Numbers py_constraint_slacks(const Plane& gain, const Plane& offset, Index split, const Indices& sizes,
                             const Vector& weights, const Plane& marginals, const Indices& blocks) {
    const Strategy strategy = strategy_of(sizes, weights, marginals, blocks, static_cast<Index>(gain.shape(1)) - 1);
    const Limits limits = {static_cast<int>(gain.shape(0)), view(gain), view(offset)};
    return to_numpy(constraint_slacks(limits, split, strategy.sizes.data(), strategy.weights.data(),
                                      strategy.marginals.view(), strategy.marginals.rows, strategy.marginals.columns,
                                      strategy.blocks.data()));
}

std::tuple<Index, double, double> py_best_pure(const Plane& gain, const Plane& offset, Index split) {
    require(gain.shape(0) == offset.shape(0) && gain.shape(1) == offset.shape(1), "gain and offset have the same shape");
    const Limits limits = {static_cast<int>(gain.shape(0)), view(gain), view(offset)};
    const PureChoice best = best_pure(limits, static_cast<Index>(gain.shape(1)) - 1, split);
    return {best.k, best.m, best.slack};
}

Numbers py_project(const Plane& matrix) {
    const std::size_t n = matrix.shape(0);
    require(matrix.shape(1) == n, "there is a row for each size from 1 to n and a column for each of n items");
    std::vector<double> result(n * n);
    {
        nb::gil_scoped_release release;
        project(view(matrix), static_cast<int>(n), {result.data(), static_cast<std::ptrdiff_t>(n)});
    }
    return to_numpy(std::move(result), {n, n});
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "The compiled core: the interior-point solver and the referee.";
    // Settings in a cache of the library are still there when Python ends, if something else, like PyTorch, keeps modules
    // alive. Nothing is lost by that, and users need not read about it.
    nb::set_leak_warnings(false);
    nb::class_<Setting>(m, "Setting", "A restricted game but for its scores. Immutable; shared between threads.")
        .def_prop_ro("groups", &Setting::groups)
        .def_prop_ro("items", &Setting::items);
    m.def("make_setting", &make_setting, nb::arg("alpha"), nb::arg("beta"), nb::arg("predictor_sizes"),
          nb::arg("adversary_sizes"), nb::arg("chain"), nb::arg("gain"), nb::arg("offset"), nb::arg("rows"),
          nb::arg("columns"), nb::arg("blocks"), nb::arg("order"), nb::arg("split"), nb::arg("reach"), nb::arg("opening"),
          "Copy a restricted game; see the documentation of metricfit.solving.fast.");
    m.def("attempt", &py_attempt, nb::arg("setting"), nb::arg("scores"), nb::arg("tolerance"), nb::arg("max_iterations"),
          nb::arg("regularisation"),
          "Run the interior-point method on canonical scores; gap, iterations, multipliers and both players' sizes, weights "
          "and marginals.");
    m.def("judge", &py_judge, nb::arg("setting"), nb::arg("scores"), nb::arg("tolerance"), nb::arg("max_iterations"),
          nb::arg("regularisation"), nb::arg("alpha"), nb::arg("beta"), nb::arg("inclusion").noconvert(),
          nb::arg("verdicts").noconvert(),
          "Solve games one after the other and have the referee judge them; fills inclusion and verdicts (upper bound, gap, "
          "iterations).");
    m.def("clean_in_place", &py_clean, nb::arg("sizes"), nb::arg("weights").noconvert(), nb::arg("marginals").noconvert(),
          nb::arg("blocks"), "Make weights and marginals exactly those of a mixture; False if that is impossible.");
    m.def("tie_averages", &py_tie_averages, nb::arg("scores"), nb::arg("split"), nb::arg("marginals"), nb::arg("blocks"),
          "Marginals and blocks in which items of equal score are treated alike.");
    m.def("inclusion_in_order", &py_inclusion_in_order, nb::arg("marginals"), nb::arg("blocks"), nb::arg("order"),
          nb::arg("result").noconvert(), "Write the probability of each item, in the user's order, to result.");
    m.def("predictor_values", &py_predictor_values, nb::arg("alpha"), nb::arg("beta"), nb::arg("start"),
          nb::arg("expected_score"), nb::arg("split"), nb::arg("sizes"), nb::arg("weights"), nb::arg("marginals"),
          nb::arg("blocks"), nb::arg("multipliers"), nb::arg("gain"), nb::arg("offset"), nb::arg("values").noconvert(),
          "Fill in the payoff of the predictor's best set of some sizes.");
    m.def("adversary_values", &py_adversary_values, nb::arg("alpha"), nb::arg("beta"), nb::arg("start"), nb::arg("scores"),
          nb::arg("running").none(), nb::arg("sizes"), nb::arg("weights"), nb::arg("marginals"), nb::arg("blocks"),
          nb::arg("values").noconvert(), "Fill in the payoff of the adversary's best set of some sizes.");
    m.def("expected_score", &py_expected_score, nb::arg("scores"), nb::arg("marginals"), nb::arg("blocks"),
          "The expected sum of the scores of the items in the set.");
    m.def("constraint_slacks", &py_constraint_slacks, nb::arg("gain"), nb::arg("offset"), nb::arg("split"),
          nb::arg("sizes"), nb::arg("weights"), nb::arg("marginals"), nb::arg("blocks"),
          "By how much a predictor meets each constraint on average.");
    m.def("best_pure", &py_best_pure, nb::arg("gain"), nb::arg("offset"), nb::arg("split"),
          "The size and number of true positives with the largest smallest slack, and that slack.");
    m.def("project", &py_project, nb::arg("matrix"), "Nearest marginals of a mixture; one row per size from 1 to n.");
    m.def("block_bytes", &block_bytes, nb::arg("items"), nb::arg("constraints"),
          "Bytes of work space that a block of a device's threads needs for a game.");
    m.def("solve_on_host", [](std::uintptr_t batch, int blocks) {
              nb::gil_scoped_release release;
              solve_on_host(reinterpret_cast<const void*>(batch), blocks);
          }, nb::arg("batch"), nb::arg("blocks"),
          "Solve a batch in the CPU's memory by the device's program; see metricfit.solving.device.batch.");
    m.def("target", [] { return std::string(best_target().name); }, "The instruction set in use.");
}
