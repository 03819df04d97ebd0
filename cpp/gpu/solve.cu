// The kernel: each block of threads solves one game after the other.
#include "gpu/solve.hpp"

extern "C" __global__ void __launch_bounds__(256) solve_games(metricfit::gpu::Batch batch) {
    using metricfit::gpu::Block;
    metricfit::gpu::set_teams(false);
    __shared__ __align__(16) unsigned char memory[sizeof(Block)];
    metricfit::gpu::solve_batch(*reinterpret_cast<Block*>(memory), batch, static_cast<int>(blockIdx.x),
                                static_cast<int>(gridDim.x));
}
