// The program for the CPU: blocks one after the other, each with as many threads as it is asked for.

extern "C" long long workspace_numbers(int n) {
    Arena arena = {nullptr, 0};
    Solver s;
    take_workspace(arena, s, n);
    return arena.used;
}

extern "C" int quick_numbers(int count) { return near_fixed(count); }

extern "C" void solve_games(const Batch* batch, int blocks, int count) {
    std::vector<double> quick(batch->quick_size);
    for (int block = 0; block < blocks; ++block) {
        if (count == 1) {
            seat = Seat();
            solve_batch(*batch, quick.data(), block, blocks);
            continue;
        }
        std::barrier<> meeting(count);
        std::vector<std::thread> workers;
        for (int index = 0; index < count; ++index) {
            workers.emplace_back([&, index] {
                seat = Seat{index, count, &meeting};
                solve_batch(*batch, quick.data(), block, blocks);
            });
        }
        for (std::thread& worker : workers) worker.join();
    }
}
