// The program for the CPU: blocks one after the other, each with as many threads as it is asked for.

extern "C" long long workspace_numbers(int n) {
    Arena near = {nullptr, 0}, far = {nullptr, 0};
    Solver s;
    take_memory(near, far, s, n);
    return far.used;
}

// Near memory that a block needs at least.
extern "C" int quick_numbers(int n) {
    Arena near = {nullptr, SOLVER_SIZE}, far = {nullptr, 0};
    Solver s;
    take_memory(near, far, s, n);
    return static_cast<int>(near.used) + larger(scratch_needed(n, CAPACITY),
                                                  (CAPACITY + PANEL) * LARGEST_BORDER + PANEL_SIZE + PANEL * 2 * CAPACITY);
}

extern "C" void solve_games(const Batch* batch, int blocks, int count) {
    std::vector<Pair> near(batch->quick_size / 2);
    for (int block = 0; block < blocks; ++block) {
        std::barrier<> meeting(count);
        std::vector<Warp> warps(count / LANES);
        const auto play = [&](int index) {
            seat = Seat{index, count, count == 1 ? nullptr : &meeting, &warps[index / LANES]};
            quick = &near[0].first;
            solve_batch(*batch, block, blocks);
        };
        if (count == 1) {
            play(0);
            continue;
        }
        std::vector<std::thread> workers;
        for (int index = 0; index < count; ++index) workers.emplace_back(play, index);
        for (std::thread& worker : workers) worker.join();
    }
}
