// The program for the CPU: teams of blocks one after the other, each block with as many threads as it is asked for.

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

extern "C" void solve_games(const Batch* batch, int blocks, int count, int team) {
    std::vector<Pair> near[2];
    for (int rank = 0; rank < team; ++rank) near[rank].resize(batch->quick_size / 2);
    for (int first = 0; first < blocks; first += team) {
        std::barrier<> meeting[2] = {std::barrier<>(count), std::barrier<>(count)}, team_meeting(team * count);
        std::vector<Warp> warps(team * count / LANES);
        const auto play = [&](int place) {
            const int rank = place / count, index = place % count;
            double *own = &near[rank][0].first, *other = team == 1 ? nullptr : &near[1 - rank][0].first;
            seat = Seat{index, count, rank, team, count == 1 ? nullptr : &meeting[rank], &team_meeting,
                        &warps[place / LANES], own, other, batch->quick_size};
            quick = own;
            solve_batch(*batch, first + rank, blocks);
        };
        if (team * count == 1) {
            play(0);
            continue;
        }
        std::vector<std::thread> workers;
        for (int place = 0; place < team * count; ++place) workers.emplace_back(play, place);
        for (std::thread& worker : workers) worker.join();
    }
}
