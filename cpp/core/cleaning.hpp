// Exact mixtures of sets out of iterates that are so up to rounding, before they are judged.
#pragma once

#include "growth.hpp"
#include "kernels.hpp"
#include "state.hpp"

namespace metricfit::METRICFIT_TARGET {

// Remove rounding from a player's marginals, so that the bounds computed from them are valid. `total` is the sum of all
// masses.
METRICFIT_FUNCTION void tidy_columns(const Problem& problem, Columns& columns, const double* sizes, double total) {
    const int groups = problem.groups;
    const double* weight = problem.weight;
    if (std::fabs(total - 1.0) > parameters::cleaning::ROUNDING) dilute(columns, 1.0 / total, groups);
    for (int a = 0; a < columns.used; ++a) {
        const double mass = columns.mass[a];
        double *inside = columns.inside[a], *outside = columns.outside[a];
        each(groups, [=](int i) {
            const double scale = mass / (inside[i] + outside[i]);
            inside[i] *= scale;
            outside[i] *= scale;
        });
        const Pair held = sums(groups, [=](int i) { return Pair{weight[i] * inside[i], weight[i] * outside[i]}; });
        const double missing = sizes[columns.size_index[a]] * mass - held.first;
        const double in = missing > 0.0 ? missing / held.second : 0.0, out = missing > 0.0 ? 0.0 : -missing / held.first;
        each(groups, [=](int i) {
            const double move = in * outside[i] - out * inside[i];
            inside[i] += move;
            outside[i] -= move;
        });
    }
}

// Make both players' strategies exact mixtures of sets.
METRICFIT_FUNCTION void tidy(const Problem& problem, Iterate& it) {
    Columns &adversary = it.adversary, &predictor = it.predictor;
    double* chain_mass = it.chain_mass;
    const int sets = problem.groups + 1;
    double total = adversary.mass[MAX_COLUMNS] + adversary.mass[MAX_COLUMNS + 1];
    total += sum(adversary.used, [&](int b) { return adversary.mass[b]; });
    tidy_columns(problem, adversary, problem.adversary_sizes, total);
    total = sum(sets, [=](int j) { return chain_mass[j]; });
    total += sum(predictor.used, [&](int a) { return predictor.mass[a]; });
    each(sets, [=](int j) { chain_mass[j] /= total; });
    tidy_columns(problem, predictor, problem.predictor_sizes, total);
}

// Average the adversary over neighbours until the predictor's item gains at `row` fall.
//
// Pool-adjacent-violators, within each label. Averaging never raises a best response, and without constraints the chain's
// set of this size is one afterwards. It irons out the noise of marginals that ought to be equal.
METRICFIT_FUNCTION void pool(const Problem& problem, const Columns& adversary, Workspace& w, int row, Columns& target) {
    const int groups = problem.groups, used = adversary.used;
    const double *weight = problem.weight, *positive = problem.positive, *alpha = problem.alpha[row];
    each(used, groups, [&](int b, int i) { target.inside[b][i] = adversary.inside[b][i]; });
    each(MAX_COLUMNS + 2, [&](int b) { target.mass[b] = adversary.mass[b]; });
    each(used, [&](int b) { target.size_index[b] = adversary.size_index[b]; });
    once([&] { target.used = used; });
    double *level = w.scratch[0], *pool_weight = w.scratch[1], *gain = w.scratch[2];
    int *member = w.order, *first = w.order_2;  // groups of a label in the order of the chain, and where each pool begins
    each(groups, [=](int i) { gain[i] = 0.0; });
    each(used, [&](int b) { w.running[b] = -alpha[adversary.size_index[b]]; });
    subtract_rows(gain, w.running, adversary.inside, used, 0, groups);
    for (int label = 0; label < 2; ++label) {
        once([&] {
            int members = 0, pools = 0;
            for (int i = 0; i < groups; ++i) {
                if (positive[i] != label) continue;
                first[pools] = members;
                level[pools] = gain[i];
                pool_weight[pools] = weight[i];
                member[members++] = i;
                for (++pools; pools > 1 && level[pools - 1] >= level[pools - 2]; --pools) {
                    const double total = pool_weight[pools - 2] + pool_weight[pools - 1];
                    level[pools - 2] += (level[pools - 1] - level[pools - 2]) * pool_weight[pools - 1] / total;
                    pool_weight[pools - 2] = total;
                }
            }
            first[pools] = members;
        });
        const int members = static_cast<int>(sum(groups, [=](int i) { return positive[i] == label ? 1.0 : 0.0; }));
        each(used, [&](int b) {
            const double* inside = adversary.inside[b];
            double* mean = target.inside[b];
            for (int x = 0; first[x] < members; ++x) {
                if (first[x + 1] - first[x] == 1) continue;
                double total = 0.0;
                for (int y = first[x]; y < first[x + 1]; ++y) total += weight[member[y]] * inside[member[y]];
                for (int y = first[x]; y < first[x + 1]; ++y) mean[member[y]] = total / pool_weight[x];
            }
        });
    }
}

}  // namespace metricfit::METRICFIT_TARGET
