// The linear algebra of a Newton step, in the form that suits this target: vectors of one thread, or a block of threads.
#pragma once

#include "chain_sums.hpp"
#include "coupling.hpp"
#include "weighing.hpp"

#if defined(METRICFIT_BLOCK) || defined(METRICFIT_BLOCK_KERNELS)
#include "gpu/elimination.hpp"
#else
#include "elimination.hpp"
#include "substitution.hpp"
#endif
