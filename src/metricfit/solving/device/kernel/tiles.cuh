// Products of small matrices, by tiles of TILE rows and columns that a warp holds in its registers. On GPUs since sm_80
// there is an instruction for it, which takes the place of eight multiplications by every lane and of their operands;
// since sm_90 one for two tiles above each other, in the same time.

constexpr int TILE = 8, DEPTH = 4;
constexpr int ENTRIES = per_lane(TILE * TILE);

// The entries of a lane follow each other in a row.
struct Tile {
    double entry[ENTRIES];
};

INLINE int tile_row(int entry) { return (lane() * ENTRIES + entry) / TILE; }
INLINE int tile_column(int entry) { return (lane() * ENTRIES + entry) % TILE; }
INLINE constexpr int in_tiles(int count) { return (count + TILE - 1) / TILE; }

// Add left(row, k) * right(k, column), summed over k < depth, to each entry of neighbouring tiles. The depth is rounded up
// to a multiple of DEPTH: what lies beyond has to be zero on one side, and finite on the other.
template <int ROWS, int COLUMNS, class Left, class Right>
INLINE void add_product(Tile (&tiles)[ROWS][COLUMNS], int depth, Left left, Right right) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const int place = lane() / DEPTH, inner = lane() % DEPTH;
#pragma unroll 4
    for (int k = 0; k < depth; k += DEPTH) {
        double l[ROWS], r[COLUMNS];
#pragma unroll
        for (int row = 0; row < ROWS; ++row) l[row] = left(row * TILE + place, k + inner);
#pragma unroll
        for (int column = 0; column < COLUMNS; ++column) r[column] = right(k + inner, column * TILE + place);
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
#pragma unroll
            for (int column = 0; column < COLUMNS; ++column) {
                double(&own)[ENTRIES] = tiles[row][column].entry;
#if __CUDA_ARCH__ >= 900
                if (row % 2 == 0 && row + 1 < ROWS) {
                    double(&next)[ENTRIES] = tiles[row + 1][column].entry;
                    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "
                        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                        : "+d"(own[0]), "+d"(own[1]), "+d"(next[0]), "+d"(next[1])
                        : "d"(l[row]), "d"(l[row + 1]), "d"(r[column]));
                }
                if (row % 2 == 1 || row + 1 < ROWS) continue;
#endif
                asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                    : "+d"(own[0]), "+d"(own[1])
                    : "d"(l[row]), "d"(r[column]));
            }
        }
    }
#else
    for (int k = 0; k < (depth + DEPTH - 1) / DEPTH * DEPTH; ++k) {
        for (int row = 0; row < ROWS; ++row) {
            for (int column = 0; column < COLUMNS; ++column) {
                for (int c = 0; c < ENTRIES; ++c) {
                    tiles[row][column].entry[c] +=
                        left(row * TILE + tile_row(c), k) * right(k, column * TILE + tile_column(c));
                }
            }
        }
    }
#endif
}

// Do something with every entry of neighbouring tiles: visit(row, column, value).
template <int ROWS, int COLUMNS, class Visit>
INLINE void each_entry(const Tile (&tiles)[ROWS][COLUMNS], Visit visit) {
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
#pragma unroll
        for (int column = 0; column < COLUMNS; ++column) {
#pragma unroll
            for (int c = 0; c < ENTRIES; ++c) {
                visit(row * TILE + tile_row(c), column * TILE + tile_column(c), tiles[row][column].entry[c]);
            }
        }
    }
}
