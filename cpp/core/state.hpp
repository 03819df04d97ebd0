// What the interior-point method works on: the restricted game, the current point, and the workspace of a Newton step.
//
// G is the number of groups of items, A and P the capacity for columns of adversary and predictor, K and L the numbers of
// predictor and adversary sizes in the tables, C the number of constraints. Items of a group are treated alike.
#pragma once

#include "arrays.hpp"
#include "parameters.hpp"

namespace metricfit::METRICFIT_TARGET {

// The restricted game. The chain are the G + 1 sets made of the first 0, 1, ..., G groups; chain[j] is the row of the
// tables that belongs to the size of set j. Sizes are measured in the unit of the weights.
struct Problem {
    int groups = 0, rows = 0, columns = 0, constraints = 0;  // G, K, L, C
    ConstMatrix alpha, beta;      // (K, L) metric = alpha * true positives + beta; the last column of beta also holds
                                  // alpha * size, since a full set is hit by every item
    ConstMatrix alpha_t, beta_t;  // (L, K) transposed: pricing walks along the predictor's sizes
    const double *predictor_sizes = nullptr, *adversary_sizes = nullptr;      // (K), (L): the first is 0, the last everything
    const double *weight = nullptr, *score = nullptr, *positive = nullptr;    // (G) of items; positive is 1 or 0
    const int* chain = nullptr;   // (G + 1)
    ConstMatrix gain, offset;     // (C, K) value of a constraint = gain * true positives + offset
    ConstMatrix chain_gain;       // (C, G + 1) value of each constraint for the sets of the chain
};

// Marginals of one player for the sizes it has in play, with their dual variables. Column a has probability mass[a];
// inside[a][i] is the part of it in which group i is in the set, outside[a][i] = mass[a] - inside[a][i] the rest.
struct Columns {
    int capacity_items = 0;  // G that there is room for
    Matrix inside, outside, dual_inside, dual_outside;  // (MAX_COLUMNS, G)
    double *mass = nullptr, *dual_mass = nullptr;       // (MAX_COLUMNS + 2) the adversary keeps its empty and full set last
    double* price = nullptr;                            // (MAX_COLUMNS) multiplier of sum(weight * inside) = size * mass
    int* size_index = nullptr;                          // (MAX_COLUMNS) which row or column of the tables
    bool *member = nullptr, *dropped = nullptr;         // (K) or (L) is this size in play, was it taken out of play
    int sizes = 0;                                      // K or L
    int used = 0;                                       // number of columns in play
};

// A strictly positive primal-dual point.
struct Iterate {
    Columns adversary, predictor;
    double *chain_mass = nullptr, *chain_slack = nullptr;      // (G + 1) probability of each set of the chain, and how far it
                                                               // falls short of the value
    double *multiplier = nullptr, *multiplier_slack = nullptr;  // (C) of the constraints
    double eta = 0.0, rho = 0.0;  // multiplier of sum of adversary masses = 1, and the value of the game
};

// Groups of neighbours that share their unknowns for the time being, and the problem on them; see merging.hpp.
struct Grouping {
    int *blocks = nullptr, *coming = nullptr;                      // (G + 1) where each group begins in the order of the chain
    double *weight = nullptr, *score = nullptr, *positive = nullptr;  // (G)
    int* chain = nullptr;                                          // (G + 1)
    Matrix gain;                                                   // (C, G + 1)
    int count = 0;       // of the groups to come
    bool split = false;  // is one of them a part of a group
};

// What a solve works on and what it leaves behind.
struct Room {
    Iterate iterate;
    Iterate best;    // the best strategies met; of their duals, the multipliers only
    Columns pooled;  // of the adversary, where ties are broken evenly
    Grouping grouping;
    double *value_k = nullptr, *value_p = nullptr;  // (K) payoffs of the predictor's sizes
    double* value_l = nullptr;                      // (L) of the adversary's
};

// What belongs to the marginals of one player in a Newton step; (MAX_COLUMNS + 1, G) each, G filled up to whole vectors.
struct Side {
    Matrix inv_diag;       // 1 / D of the adversary, 1 / E of the predictor
    Matrix out;            // the part of the diagonal's inverse that comes from `outside`
    Matrix weighed, weighed_out;     // weight * inv_diag, and that times out
    Matrix per_inside, per_outside;  // reciprocals
    Matrix rhs, step;                // right-hand side and step of `inside`
    Matrix neg_residual;             // minus the residual of the items' equations
    Matrix comp_inside, comp_outside;  // right-hand sides of complementarity, divided by the variable
};

// Memory for a Newton step. Everything is laid out for MAX_COLUMNS columns; ranks are those of alpha's factors.
struct Workspace {
    Side adversary, predictor;
    double *precision = nullptr, *step_chain = nullptr, *residual_chain = nullptr, *comp_chain = nullptr;  // (G + 1)
    Matrix chain_alpha;    // (G + 1, A) alpha of each set of the chain against each column
    Matrix chain_beta;     // (G + 1, A + 8) beta likewise, then against the empty and the full set
    Matrix chain_row;      // (G + 1, ...) the chain's rows of the border, in the filter's order
    Matrix cross, cross_t; // (P, A), (A, P) alpha between the columns of both players
    Matrix sums;           // (4, A)
    double* rest = nullptr;          // (A * (G + 1 + P)) of alpha, while it is factorised
    int rank = 0, wide = 0;          // number of factors, and the multiple of four they are filled up to
    int most_rank = 0;               // factors there is room for
    Matrix basis, basis_t;           // (A, R), (R, A) alpha's factors of the adversary's columns
    Matrix chain_on, cross_on;       // (G + 1, A), (P, R) of the chain and of the predictor's columns
    double* blocks = nullptr;        // what is kept of the items' blocks, see items.hpp
    double* answers = nullptr;
    double* coupling = nullptr;      // the matrices of a vector of items while they are factorised
    double *pull = nullptr, *seen = nullptr, *free = nullptr, *met = nullptr;  // (G / 8, A / 4, 4, 8) each, see items.hpp
    Matrix scratch;                  // (A, G)
    Matrix team_factor;              // (teams, A)
    MatrixView<int> team_order;      // (teams, G)
    double *factor = nullptr, *factor_2 = nullptr;  // (max(A, G + 4))
    double* factors = nullptr;       // (G + 4, 4)
    int *order = nullptr, *order_2 = nullptr;       // (G + 1)
    double *running = nullptr, *running_2 = nullptr, *running_3 = nullptr;  // (A + 2)
    double* filtered = nullptr;      // mean of the chain's random walk
    double* passing = nullptr;       // (panels, A, A) and what the panels of gpu/filtering.hpp make of it
    Matrix carried;                  // (panels, A)
    double* share = nullptr;         // what the chain sees of eight items, item by item
    double* observed = nullptr;
    Matrix kalman_gain;              // (G + 1, A)
    Matrix innovation;               // (G + 4, m) L^-1 F, filled up with zeros to a multiple of four sets
    Matrix border;                   // (m, m) upper triangle of the Schur complement, then its LDL' factors
    double* reciprocal = nullptr;    // (m) of its pivots
    double *step = nullptr, *residual_border = nullptr;  // (m)
    double *comp_mass = nullptr, *comp_mass_p = nullptr, *comp_multiplier = nullptr;
};

// Where the unknowns of the border begin: predictor masses (f), adversary prices (q), adversary masses (q + 2), predictor
// prices (f), the two levels eta and rho, the multipliers (C).
struct Border {
    int q, f, prices, masses, prices_p, levels, multipliers, m;
};
METRICFIT_INLINE Border border_of(const Problem& problem, const Iterate& it) {
    const int q = it.adversary.used, f = it.predictor.used;
    return {q, f, f, f + q, f + 2 * q + 2, 2 * f + 2 * q + 2, 2 * f + 2 * q + 4, 2 * f + 2 * q + 4 + problem.constraints};
}

}  // namespace metricfit::METRICFIT_TARGET
