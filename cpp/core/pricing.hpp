// Exact best responses of both players to the current strategies, for every size.
//
// They bound the value of the restricted game from both sides and say which sizes to add.
#pragma once

#include "kernels.hpp"
#include "running.hpp"
#include "state.hpp"

namespace metricfit::METRICFIT_TARGET {

// Sort groups by value. Insertion sort is linear on what is nearly sorted; else Shell's wider strides come first.
METRICFIT_FUNCTION void sort_by(const double* value, int* METRICFIT_RESTRICT order, int groups) {
    int descents = 0;
    for (int a = 1; a < groups; ++a) descents += value[order[a - 1]] > value[order[a]];
    if (descents == 0) return;
    int stride = 1;
    if (parameters::pricing::NEARLY_SORTED * descents > groups) {
        while (3 * stride < groups) stride = 3 * stride + 1;
    }
    for (; stride > 0; stride /= 3) {
        for (int a = stride; a < groups; ++a) {
            const int current = order[a];
            const double x = value[current];
            int b = a - stride;
            for (; b >= 0 && value[order[b]] > x; b -= stride) order[b + stride] = order[b];
            order[b + stride] = current;
        }
    }
}

// Groups in about the order of their values, and the place in it that a smaller size reached.
struct Ranking {
    int* order;
    int place = 0;
    double before = 0.0;  // weight of the groups before it
};

// Least total of `size` items, where group g offers weight[g] items of value[g]; or a lower bound of it that is `enough`.
//
// By duality the least total is the maximum over levels t of
//
//     size t + sum_g weight_g min(value_g - t, 0),
//
// a concave function made of straight lines, whose slope is `size` less the weight of the groups up to the level. Its value
// at any level is a lower bound. An order in which values rose a few sizes ago tells a level that is nearly the best one,
// and by the slope, how many places the best one is away. With a level on either side of the best one the next is where
// their lines meet, until that is a line known before. Where this leads nowhere, groups are sorted.
METRICFIT_FUNCTION double least_total(const double* value, const double* weight, int groups, double size, double enough,
                          Ranking& ranking) {
    using namespace parameters::pricing;
    int* order = ranking.order;
    while (ranking.place < groups - 1 && ranking.before + weight[order[ranking.place]] < size) {
        ranking.before += weight[order[ranking.place++]];
    }
    struct Line {
        double level, total, slope;
    };
    const auto line_at = [=](double level) {
        const Pair found = sums(groups, [=](int g) {
            return Pair{weight[g] * smaller(value[g] - level, 0.0), value[g] <= level ? weight[g] : 0.0};
        });
        return Line{level, size * level + found.first, size - found.second};
    };
    Line low = {-INFINITY, 0.0, 0.0}, high = {INFINITY, 0.0, 0.0};
    // Where the lines meet.
    const auto crossing = [&] {
        const double rise = high.total - low.total - high.slope * (high.level - low.level);
        return low.level + rise / (low.slope - high.slope);
    };
    int place = ranking.place;
    double level = value[order[place]], best = -INFINITY;
    for (int trial = 0; trial < MOST_LEVELS; ++trial) {
        const Line line = line_at(level);
        best = larger(best, line.total);
        if (line.slope == 0.0) return best;
        if (best >= enough && (std::fabs(line.slope) <= 1.0 || trial > IMPROVING_LEVELS)) return best;
        if (line.slope == low.slope || line.slope == high.slope) return best;
        (line.slope > 0.0 ? low : high) = line;
        if (low.level > -INFINITY && high.level < INFINITY) {
            level = crossing();
        } else {
            const int away = static_cast<int>(line.slope > 0.0 ? std::ceil(line.slope) : std::floor(line.slope));
            place = smaller(larger(place + away, 0), groups - 1);
            level = value[order[place]];
        }
        if (low.level < level && level < high.level) continue;
        if (low.level > -INFINITY && high.level < INFINITY) return best;
        break;
    }
    if constexpr (MOST_TEAMS > 1) {
        // One thread would sort for long: the best level lies between the least and the largest value.
        const Pair ends = maxima(1, groups, [=](int, int g) { return Pair{-value[g], value[g]}; });
        if (low.level == -INFINITY) low = line_at(-ends.first);
        if (high.level == INFINITY) high = line_at(ends.second);
        best = larger(best, larger(low.total, high.total));
        for (int trial = 0; trial < MOST_HALVINGS && low.slope > 0.0 && high.slope < 0.0; ++trial) {
            level = trial % 2 == 0 ? crossing() : 0.5 * (low.level + high.level);
            if (!(low.level < level && level < high.level)) break;
            const Line line = line_at(level);
            best = larger(best, line.total);
            if (line.slope == 0.0 || (trial % 2 == 0 && (line.slope == low.slope || line.slope == high.slope))) break;
            (line.slope > 0.0 ? low : high) = line;
        }
        return best;
    }
    once([&] { sort_by(value, order, groups); });
    double total = 0.0;
    ranking.before = 0.0;
    for (ranking.place = 0; ranking.place < groups - 1; ++ranking.place) {
        const int g = order[ranking.place];
        if (ranking.before + weight[g] >= size) break;
        total += weight[g] * value[g];
        ranking.before += weight[g];
    }
    return total + (size - ranking.before) * value[order[ranking.place]];
}

// value[l]: payoff if the adversary answers the predictor with its best set of size l.
//
// `whole` is the game without groups: the adversary may tell items apart that the predictor treats alike. Only every
// `stride`-th size and those in play are looked at; the others are set to infinity. Of a size that is not in play and
// surely has no payoff below `bar` or those in play, a lower bound will do.
METRICFIT_FUNCTION void price_adversary(const Problem& whole, const Problem& problem, const Iterate& it, Workspace& w, const int* blocks,
                            int stride, double bar, double* METRICFIT_RESTRICT value) {
    const Columns& predictor = it.predictor;
    const int groups = problem.groups, items = whole.groups, sizes = problem.columns, f = predictor.used;
    const double *chain_mass = it.chain_mass, *score = problem.score, *weight = problem.weight;
    const int* chain = problem.chain;
    const bool* member = it.adversary.member;
    const bool apart = groups < items;
    double* change = w.scratch[0];
    int* group = w.order_2;
    each(groups, [&](int g) {
        for (int i = blocks[g]; i < blocks[g + 1]; ++i) {
            group[i] = g;
            change[i] = score[g] - whole.score[i];
        }
    });
    each(MOST_TEAMS, items, [&](int team, int i) { w.team_order[team][i] = i; });
    Ranking ranking = {nullptr};
    by_teams(sizes, [&](int l, int team) {
        if (l % stride != 0 && !member[l]) {
            once([&] { value[l] = INFINITY; });
            return;
        }
        ranking.order = w.team_order[team];
        double *cost = w.scratch[1 + 2 * team], *own = apart ? w.scratch[2 + 2 * team] : cost, *factor = w.team_factor[team];
        const double *alpha = problem.alpha_t[l], *beta = problem.beta_t[l];
        double total = sum(groups + 1, [=](int j) { return chain_mass[j] * beta[chain[j]]; });
        total += sum(f, [&](int a) { return predictor.mass[a] * beta[predictor.size_index[a]]; });
        if (l == sizes - 1) {
            total -= sum(groups, [=](int i) { return weight[i] * score[i]; });
        } else if (l > 0) {
            running_back(groups, [=](int i) { return chain_mass[i + 1] * alpha[chain[i + 1]]; },
                         [=](int i, double of_later_sets) { cost[i] = of_later_sets - score[i]; });
            each(f, [&](int a) { factor[a] = -alpha[predictor.size_index[a]]; });
            subtract_rows(cost, factor, predictor.inside, f, 0, groups);
            const double size = problem.adversary_sizes[l];
            if (apart) each(items, [=](int i) { own[i] = cost[group[i]] + change[i]; });
            total += least_total(own, whole.weight, items, size, member[l] ? INFINITY : bar - total, ranking);
        }
        once([&] { value[l] = total; });
        if (member[l]) bar = smaller(bar, total);
    });
}

// The expected sum of the scores that the adversary chooses.
METRICFIT_FUNCTION double chosen_score(const Problem& problem, const Columns& adversary) {
    const double *weight = problem.weight, *score = problem.score, full = adversary.mass[MAX_COLUMNS + 1];
    const double of_full = full * sum(problem.groups, [=](int i) { return weight[i] * score[i]; });
    return of_full + sum(adversary.used, problem.groups, [&](int b, int i) {
        return weight[i] * score[i] * adversary.inside[b][i];
    });
}

// The best payoff among the sets of the chain but for the scores, against this adversary.
METRICFIT_FUNCTION double chain_value(const Problem& problem, const Columns& adversary, Workspace& w, const double* multiplier) {
    const int q = adversary.used, groups = problem.groups, last = problem.columns - 1;
    const double *weight = problem.weight, *mass = adversary.mass;
    double *value = w.factor, *hits = w.factor_2;
    once([&] { hits[0] = 0.0; });
    each(groups + 1, [&](int j) {
        const double* beta = problem.beta[problem.chain[j]];
        double total = beta[0] * mass[MAX_COLUMNS] + beta[last] * mass[MAX_COLUMNS + 1];
        for (int c = 0; c < problem.constraints; ++c) total += multiplier[c] * problem.chain_gain[c][j];
        value[j] = total;
    });
    for (int b = 0; b < q; ++b) {
        const int column = adversary.size_index[b];
        const double* inside = adversary.inside[b];
        running(groups, [=](int i) { return weight[i] * inside[i]; }, [=](int i, double total) { hits[i + 1] = total; });
        const double *alpha = problem.alpha_t[column], *beta = problem.beta_t[column];
        const int* chain = problem.chain;
        each(groups + 1, [=](int j) { value[j] += beta[chain[j]] * mass[b] + alpha[chain[j]] * hits[j]; });
    }
    return maximum(groups + 1, [=](int j) { return value[j]; });
}

// Results of price_predictor: the best payoff among the sets of the chain, and the expected sum of the chosen scores.
struct ChainResponse {
    double best, score;
};

// value[k]: payoff if the predictor answers this adversary with its best set of size k.
//
// Only every `stride`-th size and those in play (`member`) are looked at; the others are set to minus infinity. Of a size
// that surely has no payoff above those of the chain or in play, an upper bound will do. If `known` is finite, `value`
// holds bounds already, but for scores whose sum was `known`.
METRICFIT_FUNCTION ChainResponse price_predictor(const Problem& problem, const Columns& adversary, Workspace& w,
                                     const double* multiplier, const bool* member, int stride, double known,
                                     double* METRICFIT_RESTRICT value) {
    const int groups = problem.groups, q = adversary.used, last = problem.columns - 1;
    const double *weight = problem.weight, *positive = problem.positive, *mass = adversary.mass;
    const double score = chosen_score(problem, adversary);
    const double best = chain_value(problem, adversary, w, multiplier) - score;
    double bar = best;
    each(MOST_TEAMS, groups, [&](int team, int i) { w.team_order[team][i] = i; });
    Ranking ranking = {nullptr};
    by_teams(problem.rows, [&](int row, int team) {
        if (row % stride != 0 && !member[row]) {
            once([&] { value[row] = -INFINITY; });
            return;
        }
        const double bound = known < INFINITY ? value[row] + known - score : INFINITY;
        if (bound <= bar && !member[row]) {
            once([&] { value[row] = bound; });
            return;
        }
        ranking.order = w.team_order[team];
        double *loss = w.scratch[team], *factor = w.team_factor[team];
        const double *alpha = problem.alpha[row], *beta = problem.beta[row];
        double total = beta[0] * mass[MAX_COLUMNS] + beta[last] * mass[MAX_COLUMNS + 1] - score;
        double bonus = 0.0;
        for (int c = 0; c < problem.constraints; ++c) {
            bonus += multiplier[c] * problem.gain[c][row];
            total += multiplier[c] * problem.offset[c][row];
        }
        total += sum(q, [&](int b) { return beta[adversary.size_index[b]] * mass[b]; });
        const double size = problem.predictor_sizes[row];
        if (size > 0.0) {
            each(groups, [=](int i) { loss[i] = -bonus * positive[i]; });
            each(q, [&](int b) { factor[b] = alpha[adversary.size_index[b]]; });
            subtract_rows(loss, factor, adversary.inside, q, 0, groups);
            total -= least_total(loss, weight, groups, size, total - bar, ranking);
        }
        once([&] { value[row] = total; });
        if (member[row]) bar = larger(bar, total);
    });
    return {best, score};
}

// Index of the largest of `count` values.
METRICFIT_FUNCTION int largest(const double* value, int count) {
    return larger(0, argmax(count, -INFINITY, [=](int x) { return value[x]; }));
}

// Index of the largest value above the threshold among sizes not in play, or -1.
//
// Its neighbourhood in `value` is removed, so that the next call finds another one: adjacent sizes improve the game by
// nearly the same amount, so one of them is enough.
METRICFIT_FUNCTION int most_promising(double* value, const bool* member, int count, double threshold, int radius) {
    const int best = argmax(count, threshold, [=](int x) { return member[x] ? -INFINITY : value[x]; });
    if (best < 0) return best;
    const int first = larger(0, best - radius), last = smaller(count - 1, best + radius);
    each(last + 1 - first, [=](int x) { value[first + x] = -INFINITY; });
    return best;
}

}  // namespace metricfit::METRICFIT_TARGET
