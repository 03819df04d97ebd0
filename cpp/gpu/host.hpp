// The device's program on the CPU: one thread plays all threads of a block.
#pragma once

namespace metricfit {

// Bytes of work space that a block needs for games of n items.
long long block_bytes(int n, int constraints);

// Solves a batch, whose address is that of a structure Batch (gpu/solve.hpp), as that many blocks would.
void solve_on_host(const void* batch, int blocks);

}  // namespace metricfit
