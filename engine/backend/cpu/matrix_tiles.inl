// The integer sums by AMX: one instruction multiplies 16 rows of activations with 16 weight rows,
// over one sub-block of K. Included inside int8_kernels.inl. The weights are unpacked as for
// registers (a dword of four weights per lane is the layout that AMX wants of its second factor),
// so the sums are the same integers, and everything after them is the same code.

// Fewer columns, and sub-blocks of 16, are faster in registers (measured).
constexpr int kFewestTileColumns = 8;

struct alignas(64) TileConfig {
    std::uint8_t palette = 1, startRow = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t rowBytes[16] = {};
    std::uint8_t rows[16] = {};
};

template<class Format> struct TileDots {
    static constexpr int dwords = Format::subBlock / 4, parts = 64 / Format::subBlock;
    alignas(64) std::int32_t sums[4 * parts][kTileColumns][16];

    // Tiles: 0, 1 sums; 2, 3 activations; 4, 5 weights.
    static void configure(int columns) {
        TileConfig config;
        for (int tile = 0; tile < 6; ++tile) {
            const bool isWeights = tile >= 4, isActivations = tile == 2 || tile == 3;
            config.rows[tile] = static_cast<std::uint8_t>(isWeights ? dwords : columns);
            config.rowBytes[tile] = isActivations ? Format::subBlock : 64;
        }
        _tile_loadconfig(&config);
    }

    // All groups of a unit at once: what is stored here comes back through the cache, and needs
    // time to get there. (Computing the next unit's sums beside this unit's floats was tried and
    // was slower.)
    KERNEL_INLINE void beginUnit(const Format& f, const ActivationUnit* x) {
        alignas(64) std::uint8_t weights[64 * 64];
        unpackGroup<0>(f, weights);
        unpackGroup<1>(f, weights);
        unpackGroup<2>(f, weights);
        unpackGroup<3>(f, weights);
        const std::int8_t* q = x->q;
        for (int j = 0; j < 4 * parts; j += 2) {
            _tile_zero(0);
            _tile_zero(1);
            _tile_loadd(2, q + j * Format::subBlock, sizeof(ActivationUnit));
            _tile_loadd(4, weights + j * dwords * 64, 64);
            _tile_dpbsud(0, 2, 4);
            _tile_loadd(3, q + (j + 1) * Format::subBlock, sizeof(ActivationUnit));
            _tile_loadd(5, weights + (j + 1) * dwords * 64, 64);
            _tile_dpbsud(1, 3, 5);
            _tile_stored(0, sums[j], 64);
            _tile_stored(1, sums[j + 1], 64);
        }
    }
    template<int g> static KERNEL_INLINE void unpackGroup(const Format& f, std::uint8_t* weights) {
        I w[16];
        f.template unpack<g>(w);
        for (int i = 0; i < 16; ++i) storeI(weights + 64 * (16 * g + i), w[i]);
    }
    template<int g> KERNEL_INLINE void beginGroup(const Format&) {}
    template<int g, int part> KERNEL_INLINE F sum(const ActivationUnit& x, int column) const {
        constexpr int j = g * parts + part;
        return toFloat(loadI(sums[j][column]) + Format::start(x, j));
    }
};

template<class Format> inline void int8TileInTiles(const Int8Tile& tile) {
    TileDots<Format>::configure(tile.columns);
    int8TileOf<Format, TileDots<Format>, 0>(tile);
    _tile_release();
}
