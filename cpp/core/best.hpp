// The best strategies so far: copies, item by item, of strategies that treat the items of a group alike.
#pragma once

#include "state.hpp"

namespace metricfit::METRICFIT_TARGET {

// Keeps a player's strategy; group g begins at item blocks[g].
METRICFIT_FUNCTION void keep_columns(Columns& kept, const Columns& found, const int* blocks, int groups) {
    each(found.used, groups, [&](int a, int g) {
        for (int i = blocks[g]; i < blocks[g + 1]; ++i) kept.inside[a][i] = found.inside[a][g];
    });
    each(MAX_COLUMNS + 2, [&](int a) { kept.mass[a] = found.mass[a]; });
    each(found.used, [&](int a) { kept.size_index[a] = found.size_index[a]; });
    once([&] { kept.used = found.used; });
}

// Keeps the probabilities of the chain's sets: those that end within a group have none.
METRICFIT_FUNCTION void keep_chain(double* kept, const double* found, const int* blocks, int groups, int items) {
    each(items + 1, [=](int j) { kept[j] = 0.0; });
    each(groups + 1, [=](int g) { kept[blocks[g]] = found[g]; });
}

}  // namespace metricfit::METRICFIT_TARGET
