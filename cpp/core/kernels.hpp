// The linear algebra of a Newton step, in the form that suits this target: vectors of one thread, or a block of threads.
#pragma once

#if defined(__CUDACC__) || defined(METRICFIT_BLOCK_KERNELS)
#include "gpu/chain_sums.hpp"
#include "gpu/elimination.hpp"
#else
#include "core/chain_sums.hpp"
#include "core/coupling.hpp"
#include "core/elimination.hpp"
#include "core/substitution.hpp"
#endif
