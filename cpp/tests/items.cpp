// Alpha in factors, and what items answer by them, against dense algebra.
#include "core/answering.hpp"
#include "core/coupling.hpp"
#include "games.hpp"

using namespace games;

static constexpr int N = 60;
static const std::vector<int> ADVERSARY = {1, 2, 5, 11, 17, 30, 41, 44, 58}, PREDICTOR = {3, 4, 12, 25, 33, 59};
static const Metric METRICS[] = {f1, accuracy, kappa, mcc};

// A metric's tables with some sizes in play, factorised.
struct Factorised {
    Game game;
    Problem problem;
    PoisonedMemory memory;
    Iterate& it;
    Workspace& w;
    int q, f;

    Factorised(Metric metric, double left_aside, const std::vector<int>& predictor = PREDICTOR, int most_rank = MAX_COLUMNS)
        : game(metric, std::vector<double>(N, 0.0), std::vector<double>(N, 0.0)), problem(game.problem()), memory(problem),
          it(memory.room.iterate), w(memory.workspace), q(static_cast<int>(ADVERSARY.size())),
          f(static_cast<int>(predictor.size())) {
        Random random(1);
        random_iterate(problem, it, ADVERSARY, predictor, random);
        w.most_rank = smaller(w.most_rank, most_rank);
        for (int b = 0; b < q; ++b) {
            for (int j = 0; j <= N; ++j) w.chain_alpha[j][b] = problem.alpha[j][ADVERSARY[b]];
            for (int a = 0; a < f; ++a) w.cross[a][b] = problem.alpha[predictor[a]][ADVERSARY[b]];
        }
        fill_up(it.adversary, w.adversary, N);
        fill_up(it.predictor, w.predictor, N);
        factorise_alpha(problem, it, w, left_aside);
    }

    // What the factors make of alpha between a row of U and a column of the adversary.
    double product(const double* on, int b) const {
        double total = 0.0;
        for (int r = 0; r < w.rank; ++r) total += on[r] * w.basis[b][r];
        return total;
    }

    // The share of alpha that is not in the factors.
    double left() const {
        double missing = 0.0, whole = 0.0;
        const auto add = [&](int row, const double* on) {
            for (int b = 0; b < q; ++b) {
                const double alpha = problem.alpha[row][ADVERSARY[b]], scale = double(row) * ADVERSARY[b];
                missing += scale * std::pow(alpha - product(on, b), 2);
                whole += scale * alpha * alpha;
            }
        };
        for (int j = 0; j <= N; ++j) add(j, w.chain_on[j]);
        for (int a = 0; a < f; ++a) add(it.predictor.size_index[a], w.cross_on[a]);
        return std::sqrt(missing / whole);
    }
};

CASE(no_more_of_alpha_is_left_aside_than_allowed) {
    for (const Metric metric : METRICS) {
        for (const double left_aside : {1e-1, 5e-3, 1e-6}) CHECK(Factorised(metric, left_aside).left() <= left_aside);
    }
}

CASE(few_factors_are_enough_for_a_step) {
    for (const Metric metric : METRICS) CHECK(Factorised(metric, parameters::start::LEFT_ASIDE).w.rank <= 8);
    CHECK(Factorised(mcc, parameters::start::LEFT_ASIDE).w.rank == 1);
}

CASE(all_of_alpha_is_in_as_many_factors_as_columns) {
    const Factorised whole(kappa, 0.0);
    CHECK(whole.w.rank == whole.q);
    CHECK(whole.left() < 1e-12);
}

CASE(there_need_not_be_room_for_as_many_factors_as_columns) {
    const Factorised few(kappa, 0.0, PREDICTOR, 4);
    CHECK(few.w.rank == 4);
    CHECK(few.left() < 0.1);
}

CASE(without_columns_of_the_predictor_every_column_is_a_factor) {
    const Factorised alone(f1, 0.1, {});
    CHECK(alone.w.rank == alone.q);
    for (int j = 0; j <= N; ++j) {
        for (int b = 0; b < alone.q; ++b) CHECK(alone.w.chain_on[j][b] == alone.problem.alpha[j][ADVERSARY[b]]);
    }
}

#ifndef METRICFIT_BLOCK_KERNELS  // those have other matrices of items, which newton.cpp checks
// Answers to random right-hand sides against the solution of each item's equations.
static void check_answers(Metric metric, double left_aside, double spread) {
    Factorised whole(metric, left_aside);
    Workspace& w = whole.w;
    const int q = whole.q, f = whole.f, rank = w.rank;
    Random random(3);
    std::vector<double> c(rank * N);
    for (int i = 0; i < N; ++i) {
        for (int b = 0; b < q; ++b) {
            w.adversary.inv_diag[b][i] = std::pow(10.0, random.uniform(-spread, spread));
            w.adversary.rhs[b][i] = random.normal();
        }
        for (int a = 0; a < f; ++a) {
            w.predictor.inv_diag[a][i] = std::pow(10.0, random.uniform(-spread, spread));
            w.predictor.rhs[a][i] = random.normal();
        }
    }
    reduce_items(whole.problem, whole.it, w);
    for (int x = 0; x < whole_eights(N) * w.wide; ++x) w.pull[x] = 0.0;
    for (int i = 0; i < N; ++i) {
        for (int r = 0; r < rank; ++r) {
            c[r * N + i] = random.normal();
            moment(w.pull, w, i / LANES)[LANES * r + i % LANES] = -c[r * N + i];
        }
    }
    answer_items(whole.problem, whole.it, w);
    const int m = q + f;
    for (int i = 0; i < N; ++i) {
        std::vector<double> matrix(m * m, 0.0), side(m);
        for (int b = 0; b < q; ++b) {
            matrix[b * m + b] = 1.0 / w.adversary.inv_diag[b][i];
            side[b] = w.adversary.rhs[b][i];
            for (int r = 0; r < rank; ++r) side[b] -= w.basis[b][r] * c[r * N + i];
        }
        for (int a = 0; a < f; ++a) {
            matrix[(q + a) * m + q + a] = -1.0 / w.predictor.inv_diag[a][i];
            side[q + a] = -w.predictor.rhs[a][i];
            for (int b = 0; b < q; ++b) matrix[(q + a) * m + b] = matrix[b * m + q + a] = whole.product(w.cross_on[a], b);
        }
        const std::vector<double> truth = checks::dense_solve(matrix, side);
        double size = 0.0;
        for (const double x : truth) size = std::fmax(size, std::fabs(x));
        for (int b = 0; b < q; ++b) CHECK_NEAR(w.adversary.step[b][i], truth[b], 1e-5 * size);
        for (int a = 0; a < f; ++a) CHECK_NEAR(w.predictor.step[a][i], truth[q + a], 1e-5 * size);
        for (int r = 0; r < rank; ++r) {
            double seen = 0.0;
            for (int b = 0; b < q; ++b) seen -= w.basis[b][r] * truth[b];
            CHECK_NEAR(moment(w.seen, w, i / LANES)[LANES * r + i % LANES], seen, 1e-5 * size);
        }
    }
}

CASE(answers_solve_the_items_equations) {
    for (const Metric metric : METRICS) {
        for (const double left_aside : {5e-3, 0.0}) check_answers(metric, left_aside, 0.0);
    }
}

CASE(answers_solve_equations_with_very_different_diagonals) {
    for (const Metric metric : METRICS) {
        for (const double spread : {2.0, 4.0}) check_answers(metric, 5e-3, spread);
    }
}
#endif
