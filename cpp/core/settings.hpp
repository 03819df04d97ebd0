// How far to solve a game: for the loop, and for those who call it.
#pragma once

namespace metricfit {

struct Settings {
    double tolerance;       // the bounds of the value are to differ by no more than this
    int max_iterations;     // Newton steps, after which the best strategies so far are the answer
    double regularisation;  // what is added to the curvature of every item in a Newton step
};

}  // namespace metricfit
