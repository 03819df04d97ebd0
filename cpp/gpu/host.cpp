#include "gpu/host.hpp"

#include "gpu/solve.hpp"

namespace metricfit {

long long block_bytes(int n, int constraints) {
    Arena measure;
    Block block;
    lay_out(measure, block, n, constraints);
    return static_cast<long long>(measure.used());
}

void solve_on_host(const void* batch, int blocks) {
    Block state;
    for (int block = 0; block < blocks; ++block) solve_batch(state, *static_cast<const Batch*>(batch), block, blocks);
}

}  // namespace metricfit
