// Every tuned number of the solver: what it does and how it was found. There are no others; a bare number elsewhere is a
// mathematical constant.
//
// "Evolution" below means: found together with the others by an evolution strategy on recorded training games other than
// the benchmark's. Changing them one at a time had not improved any of them. "By hand" means: no search is on record.
#pragma once

#include "execution.hpp"

namespace metricfit {

// Largest number of set sizes that each player may have in play as full columns. The optimal mixtures use 2 to 20.
constexpr int MAX_COLUMNS = 64;

namespace parameters {

// Each file of the algorithm has a section here; see the namespaces below.

}  // namespace parameters
}  // namespace metricfit

namespace metricfit::parameters::memory {

// Numbers that the factors of alpha may take: with a hundred groups, as many as there can be columns.
constexpr double MOST_FACTORS = 8e6;

// A thread keeps its memory for the next game up to this many groups; more takes megabytes per ten groups.
constexpr int MOST_KEPT = 400;

}  // namespace metricfit::parameters::memory

namespace metricfit::parameters::referee {

// Numbers that the referee remembers of a player's strategy: the values of all blocks for all sizes, if they are no more. With
// constraints it asks for many of them again, about a tenth of the time of games of 400 items; 8 MB for 1000 items.
constexpr std::size_t MOST_REMEMBERED = 2'000'000;

}  // namespace metricfit::parameters::referee

namespace metricfit::parameters::mixtures {

// Sets of the chain with the smallest probabilities are left out of an answer, up to this share of the tolerance in total.
// More in games of blocks, where the referee takes time for every size that is left.
constexpr double SPARE = 0.01;
constexpr double SPARE_OF_BLOCKS = 0.2;

}  // namespace metricfit::parameters::mixtures

namespace metricfit::parameters::path {

// Where the path is followed to, complementary products of items are this share of all others. Each column has two per
// item. With equal products, a new column would shift the path by nearly as much as all the rest. By hand.
constexpr double ITEM_SHARE = 0.3;
// A duality gap from here on means that the step broke down. A guard.
constexpr double HIGHEST_GAP = 1e15;

}  // namespace metricfit::parameters::path

namespace metricfit::parameters::start {

// Mass of the adversary's empty and full set. They are rarely used: a large mass would put them far off the path.
// Evolution.
constexpr double END_MASS = 0.0235;
// The same where the adversary has nothing else.
constexpr double ONLY_END_MASS = 0.5;
// First target of the products: the smaller of the largest score and the steepest alpha, and these shares of both.
// Evolution.
constexpr double STEEPEST_SHARE = 0.165;
constexpr double LARGEST_SHARE = 0.017;
// And a little, for games where all scores and tables are zero. A guard.
constexpr double LEAST_TARGET = 1e-12;
// A size that differs from the weight of the positive scores by this share is the same. Rounding.
constexpr double ROUNDING = 1e-12;
// First multiplier of a constraint, and its slack. By hand.
constexpr double MULTIPLIER = 0.1;
// Mass of all of the predictor's opening sizes together. By hand.
constexpr double OPENING_MASS = 0.5;
// Duality gap, in units of the metric, before the first look at best responses. Evolution.
constexpr double FIRST_AIM = 0.13;
// Share of alpha, as a norm, that Newton steps leave aside at first. By hand.
constexpr double LEFT_ASIDE = 1e-2;

}  // namespace metricfit::parameters::start

namespace metricfit::parameters::solver {

// From this many tolerances on the best responses of every size are looked at, and many sizes join. Evolution.
constexpr double LATE = 17.5;
// The duality gap is not closed further than this many tolerances: what is missing then are sizes. Evolution.
constexpr double HOLD_BACK = 1.7;
// Before that, one size in so many parts of all sizes is looked at. Evolution.
constexpr int COARSE_PARTS = 22;
// After so many steps between two looks, where three are the rule, steps become more exact. By hand.
constexpr int PATIENCE = 7;
// By this factor. By hand.
constexpr double MORE_EXACT = 0.1;
// If best responses differ by more than this many duality gaps, steps left too much of alpha aside, and from then on
// they leave this share of it. By hand: at a feasible point the factor is 1.
constexpr double TOO_FAR_APART = 2.0;
constexpr double LESS_ASIDE = 0.2;
// What a size has to improve to join: shares of how far the restricted game is from solved, and of the tolerance.
// Evolution.
constexpr double WORTH_OF_UNSOLVED = 0.02;
constexpr double WORTH_OF_TOLERANCE = 0.08;
// Ties are broken evenly if sizes out of play improve the bound by more than this share of the tolerance. By hand.
constexpr double POOLED_FROM = 0.1;
// What the lower bound loses by a constraint that is not met: its violation times one and this many multipliers. By hand.
constexpr double PENALTY = 2.0;
// The next look is due at this share of the duality gap. Evolution.
constexpr double NEXT_AIM = 0.25;
// If columns joined, no later than at this share of the gap of the whole game: solved much further, the restricted game
// would be fitted to the sizes it has. Evolution.
constexpr double NEXT_AIM_OUTER = 0.26;
// Mass of a new column: so much of the gap in units of scores and alpha, and at most. Evolution.
constexpr double MASS_PER_GAP = 1.6;
constexpr double MOST_MASS = 0.175;
// A column joins between its neighbours if it gets this share of that mass. Evolution.
constexpr double SPLIT_LEAST = 0.24;
constexpr double SPLIT_LEAST_P = 0.2;
// Columns that may join at a look, before the gap is LATE tolerances and after. Evolution, but JOINING_P by hand.
constexpr int JOINING = 2, JOINING_LATE = 10;
constexpr int JOINING_P = 4, JOINING_LATE_P = 6;
// One column joins among neighbours that are this fraction of all sizes apart. Evolution, but RADIUS_PARTS_P by hand.
constexpr int RADIUS_PARTS = 11, RADIUS_PARTS_P = 20, RADIUS_PARTS_LATE = 29;
// From this many columns of both players on items are grouped. By hand.
constexpr int GROUPED_FROM = 6;

}  // namespace metricfit::parameters::solver

namespace metricfit::parameters::attempts {

// Runs of the method on a device, each if those before missed: what is added to the curvature in a Newton step, how many
// times the usual number of steps are allowed, and the share of the tolerance that is aimed at. The same numbers as
// metricfit.solving.fast has.
constexpr int COUNT = 6;
METRICFIT_INLINE constexpr double regularisation(int attempt) { return attempt % 3 == 0 ? 1e-6 : attempt % 3 == 1 ? 1e-8 : 1e-4; }
METRICFIT_INLINE constexpr int patience(int attempt) { return attempt % 3 == 0 ? 1 : 4; }
METRICFIT_INLINE constexpr double target(int attempt) { return attempt < 3 ? 0.99 : 0.1; }

}  // namespace metricfit::parameters::attempts

namespace metricfit::parameters::panels {

// Sets of the chain that a GPU's thread filters one after the other. By hand.
constexpr int SETS = 16;

}  // namespace metricfit::parameters::panels

namespace metricfit::parameters::stepping {

// Largest correction of a product, in units of the product itself. Where the affine step would overshoot many times, its
// second-order term says nothing about the step that will be taken, and would hold up all the others. Evolution.
constexpr double MOST_CORRECTED = 4.5;
// From this many columns of both players on a third solve with the same factors is worth its time. Evolution.
constexpr int MANY_COLUMNS = 9;
// A product this many times larger or smaller than its target is to come nearer. Evolution.
constexpr double FAR = 16.0;
// How much further the third solve hopes to come: a multiple of the step length, and a constant. Evolution.
constexpr double FURTHER = 1.65;
constexpr double FURTHER_BY = 0.25;
// It is kept if both step lengths together are this share of what they were. Evolution.
constexpr double WORTHWHILE = 0.5;
// It is tried if the shorter step length is in between. Evolution, and by hand.
constexpr double TOO_SHORT = 0.05;
constexpr double LONG_ENOUGH = 0.9;
// Target of the products: so many times the ratio by which an affine step would shrink the gap. Evolution.
constexpr double CENTRING = 0.26;
// And at least this. A guard.
constexpr double LEAST_CENTRING = 1e-8;
// How near the boundary a step may go. Evolution.
constexpr double FRACTION = 0.9935;
// Relative decreases below are taken for this, and above mean that the step broke down. Guards.
constexpr double LEAST_DECREASE = 1e-12;
constexpr double MOST_DECREASE = 1e12;

}  // namespace metricfit::parameters::stepping

namespace metricfit::parameters::growth {

// Relative precision of the sum of shares at which the search for a column's price ends. By hand.
constexpr double PRECISION = 1e-3;
// And its passes, of which five are the rule. A guard.
constexpr int MOST_PASSES = 100;
// Share of what its neighbours can give that a column between them gets. Evolution.
constexpr double SPLIT_SHARE = 0.42;
// A new column of the predictor gets this share of a new column's mass, and what the chain can give. Evolution.
constexpr double MASS_SHARE_P = 0.39;
// That comes from sets of the chain which are this fraction of all away, but from two at least on either side. By hand.
constexpr int NEARBY_PARTS = 8, NEARBY_LEAST = 2;
// Share of their probability that they give. By hand.
constexpr double TAKEN = 0.5;
// A column goes if its best set is worse than the level by this many duality gaps. Evolution.
constexpr double USELESS_GAPS = 15.0;
// And its mass is less than the duality gap and this. Evolution.
constexpr double USELESS_MASS = 0.0125;

}  // namespace metricfit::parameters::growth

namespace metricfit::parameters::restoring {

// How many times its share of the duality gap a column may lift the level by. On the central path the duals of rare
// columns are large, their items' taken together larger than the gap. One such column would lift the level, and the
// products of all others, by a multiple of it. Evolution.
constexpr double MOST_LIFT = 7.4;
// Relative precision of the sum of shares at which the search for a column's new price ends. By hand.
constexpr double PRECISION = 0.01;
// Duals of columns and slacks of the chain are lifted to this share of what they were at least. Evolution.
constexpr double FLOOR = 0.115;

}  // namespace metricfit::parameters::restoring

namespace metricfit::parameters::cleaning {

// Masses whose sum is off by less are left alone. Rounding.
constexpr double ROUNDING = 1e-14;

}  // namespace metricfit::parameters::cleaning

namespace metricfit::parameters::pricing {

// From one descent in so many neighbours on, an order is sorted with wide strides first. By hand.
constexpr int NEARLY_SORTED = 8;
// Levels that are tried for a least total before groups are sorted. By hand.
constexpr int MOST_LEVELS = 12;
// The same where a warp looks for the level and sorts nothing. A guard.
constexpr int MOST_HALVINGS = 60;
// Levels after the first that a bound which is enough is still improved by, unless it is off by one item at most. What a
// strategy proves is judged by these bounds: with bounds that are just enough, one game of 570 items with recall at a
// precision of 0.9 takes seven times as long. Games without constraints take 4 % more for it.
constexpr int IMPROVING_LEVELS = 2;

}  // namespace metricfit::parameters::pricing

namespace metricfit::parameters::merging {

// Share of the duality gap that groups may cost: scores nearer than that belong together, decided or not. Evolution.
constexpr double COSTS = 0.17;
// How many margins the scores of a group may span when it is made; few are as far from their mean. Evolution.
constexpr double SPAN = 1.55;
// Probability of a new set of the chain inside a group, as a share of its neighbours'. By hand.
constexpr double NEW_SETS = 0.1;

}  // namespace metricfit::parameters::merging

namespace metricfit::parameters::coupling {

// What is left of alpha by rounding is less than this share, as a norm: further factors would be noise. A guard.
constexpr double ROUNDING = 1e-14;

}  // namespace metricfit::parameters::coupling

namespace metricfit::parameters::items {

// Pivots of the items' matrices are not smaller than this share of what they are the rest of. A guard against rounding.
constexpr double SMALLEST_PIVOT = 1e-14;

}  // namespace metricfit::parameters::items

namespace metricfit::parameters::border {

// A pivot of zero is replaced by this, so that its unknown becomes zero where the right-hand side is. A guard.
constexpr double ZERO_PIVOT = 1e-30;

}  // namespace metricfit::parameters::border
