// One 16-row tile of quantised weights times up to 16 rows of 8-bit activations; included by each
// ops_*.cpp after its lanes_*.h. The arithmetic is that of int8_format.h, the layout that of
// weight_layout.h.
//
// Lanes are weight rows: a dword of a lane holds four weights that follow each other in K, and four
// activation bytes are broadcast to all lanes, so that no sum ever crosses lanes.
//
// Sub-scales are multiplied in floats, because a float multiply-add is cheaper than an integer one.
// That is still exact: |sc * dot| stays below 2^24 (Q5_K 63*31*127*32 = 7.9 M, Q6_K 128*32*127*16
// = 8.4 M, IQ4_XS 32*127*127*32 = 16.6 M), so products and the sums of two small ones are whole,
// and the last addition rounds once, which is what float(isum) does.

namespace engine {
namespace {

// The bits of `mask` (0x03 repeated and so on) at bit `from` of every byte, moved to bit `to`.
template<int from, int to> KERNEL_INLINE I moveBits(I x, std::int32_t mask) {
    if constexpr (from > to)
        x = shiftRight<from - to>(x);
    else if constexpr (to > from)
        x = shiftLeft<to - from>(x);
    return x & bcastI(mask << to);
}
template<int n> KERNEL_INLINE F byteToFloat(I x) { // byte n of each lane, unsigned
    return toFloat(shiftRight<8 * n>(x) & bcastI(255));
}
template<int n> KERNEL_INLINE F signedByteToFloat(I x) {
    return toFloat(shiftRightSigned<24>(shiftLeft<24 - 8 * n>(x)));
}
constexpr std::int32_t kLow4 = 0x0f0f0f0f, kLow2 = 0x03030303, kLow1 = 0x01010101;

KERNEL_INLINE F loadHalves(const std::uint8_t* p) {
    return loadHalf(reinterpret_cast<const std::uint16_t*>(p));
}

constexpr int kSigned = 0; // as a format's maxWeight: signed weights, as prepareSigned left them

// ---- formats. mainBytes and tailBytes are those of one unit of a
// tile. start: what the integer sum of sub-block j begins with, the offset of the weights taken
// off.

// The eight 6-bit scales and minima that Q4_K and Q5_K share.
struct ScalesAndMinima {
    F scale[8];
    I minimumPairs[4];
    KERNEL_INLINE void unpack(const std::uint8_t* p) {
        const I a = loadI(p), b = loadI(p + 64), c = loadI(p + 128);
        const I s0 = a & bcastI(0x3f3f3f3f), m0 = b & bcastI(0x3f3f3f3f);
        const I s1 = (c & bcastI(kLow4)) | moveBits<6, 4>(a, kLow2);
        const I m1 = moveBits<4, 0>(c, kLow4) | moveBits<6, 4>(b, kLow2);
        scale[0] = byteToFloat<0>(s0);
        scale[1] = byteToFloat<1>(s0);
        scale[2] = byteToFloat<2>(s0);
        scale[3] = byteToFloat<3>(s0);
        scale[4] = byteToFloat<0>(s1);
        scale[5] = byteToFloat<1>(s1);
        scale[6] = byteToFloat<2>(s1);
        scale[7] = byteToFloat<3>(s1);
        const I even = bcastI(0x00ff00ff);
        minimumPairs[0] = m0 & even; // minima 0 and 2
        minimumPairs[1] = shiftRight<8>(m0) & even;
        minimumPairs[2] = m1 & even;
        minimumPairs[3] = shiftRight<8>(m1) & even;
    }
};

struct Q4K {
    static constexpr int mainBytes = 2304, tailBytes = 0, subBlock = 32, minima = 8;
    static constexpr bool superBlock = true;
    const std::uint8_t* p;
    ScalesAndMinima s;
    F d, dmin;
    KERNEL_INLINE void begin(const std::uint8_t* unit, const std::uint8_t*) {
        p = unit;
        s.unpack(p + 2048);
        d = loadHalves(p + 2240);
        dmin = loadHalves(p + 2272);
    }
    KERNEL_INLINE F scale(int j) const { return s.scale[j]; }
    KERNEL_INLINE I minimumPairs(int i) const { return s.minimumPairs[i]; }
    template<int g> KERNEL_INLINE void unpack(I* w) const {
        for (int i = 0; i < 8; ++i) {
            const I q = loadI(p + 64 * (8 * g + i));
            w[i] = q & bcastI(kLow4);
            w[8 + i] = moveBits<4, 0>(q, kLow4);
        }
    }
    static constexpr int maxWeight = 15;
    static KERNEL_INLINE I start(const ActivationUnit&, int) { return zeroI(); }
};

struct Q5K {
    static constexpr int mainBytes = 2816, tailBytes = 0, subBlock = 32, minima = 8;
    static constexpr bool superBlock = true;
    const std::uint8_t* p;
    ScalesAndMinima s;
    F d, dmin;
    KERNEL_INLINE void begin(const std::uint8_t* unit, const std::uint8_t*) {
        p = unit;
        s.unpack(p + 2560);
        d = loadHalves(p + 2752);
        dmin = loadHalves(p + 2784);
    }
    KERNEL_INLINE F scale(int j) const { return s.scale[j]; }
    KERNEL_INLINE I minimumPairs(int i) const { return s.minimumPairs[i]; }
    template<int g> KERNEL_INLINE void unpack(I* w) const {
        for (int i = 0; i < 8; ++i) {
            const I q = loadI(p + 64 * (8 * g + i)), high = loadI(p + 2048 + 64 * i);
            w[i] = (q & bcastI(kLow4)) | moveBits<2 * g, 4>(high, kLow1);
            w[8 + i] = moveBits<4, 0>(q, kLow4) | moveBits<2 * g + 1, 4>(high, kLow1);
        }
    }
    static constexpr int maxWeight = 31;
    static KERNEL_INLINE I start(const ActivationUnit&, int) { return zeroI(); }
};

struct Q6K {
    static constexpr int mainBytes = 3328, tailBytes = 32, subBlock = 16, minima = 0;
    static constexpr bool superBlock = true;
    const std::uint8_t* p;
    I s[4];
    F d;
    KERNEL_INLINE void begin(const std::uint8_t* unit, const std::uint8_t* tail) {
        p = unit;
        for (int i = 0; i < 4; ++i) s[i] = loadI(p + 3072 + 64 * i);
        d = loadHalves(tail);
    }
    template<int g> KERNEL_INLINE void scales(F* f) const {
        f[0] = signedByteToFloat<0>(s[g]);
        f[1] = signedByteToFloat<1>(s[g]);
        f[2] = signedByteToFloat<2>(s[g]);
        f[3] = signedByteToFloat<3>(s[g]);
    }
    template<int g> KERNEL_INLINE void unpack(I* w) const {
        constexpr int half = g / 2, part = g % 2;
        for (int i = 0; i < 8; ++i) {
            const I a = loadI(p + 64 * (16 * half + i)), b = loadI(p + 64 * (16 * half + 8 + i));
            const I high = loadI(p + 2048 + 64 * (8 * half + i));
            w[i] = moveBits<4 * part, 0>(a, kLow4) | moveBits<4 * part, 4>(high, kLow2);
            w[8 + i] = moveBits<4 * part, 0>(b, kLow4) | moveBits<4 * part + 2, 4>(high, kLow2);
        }
    }
    static constexpr int maxWeight = 63;
    static KERNEL_INLINE I start(const ActivationUnit& x, int j) {
        return bcastLoad(x.minus32Sum16 + j);
    }
};

struct Q3K {
    static constexpr int mainBytes = 1728, tailBytes = 32, subBlock = 16, minima = 0;
    static constexpr bool superBlock = true;
    const std::uint8_t* p;
    I s[4];
    F d;
    KERNEL_INLINE void begin(const std::uint8_t* unit, const std::uint8_t* tail) {
        p = unit;
        const I a = loadI(p + 1536), b = loadI(p + 1600), c = loadI(p + 1664);
        s[0] = (a & bcastI(kLow4)) | moveBits<0, 4>(c, kLow2);
        s[1] = (b & bcastI(kLow4)) | moveBits<2, 4>(c, kLow2);
        s[2] = moveBits<4, 0>(a, kLow4) | moveBits<4, 4>(c, kLow2);
        s[3] = moveBits<4, 0>(b, kLow4) | moveBits<6, 4>(c, kLow2);
        d = loadHalves(tail);
    }
    template<int g> KERNEL_INLINE void scales(F* f) const {
        const F offset = bcast(32.0f);
        f[0] = byteToFloat<0>(s[g]) - offset;
        f[1] = byteToFloat<1>(s[g]) - offset;
        f[2] = byteToFloat<2>(s[g]) - offset;
        f[3] = byteToFloat<3>(s[g]) - offset;
    }
    template<int g> KERNEL_INLINE void unpack(I* w) const {
        constexpr int half = g / 2, part = g % 2;
        for (int i = 0; i < 8; ++i) {
            const I q = loadI(p + 64 * (8 * half + i)), high = loadI(p + 1024 + 64 * i);
            w[i] = moveBits<4 * part, 0>(q, kLow2) | moveBits<2 * g, 2>(high, kLow1);
            w[8 + i] = moveBits<4 * part + 2, 0>(q, kLow2) | moveBits<2 * g + 1, 2>(high, kLow1);
        }
    }
    static constexpr int maxWeight = 7;
    static KERNEL_INLINE I start(const ActivationUnit& x, int j) {
        return shiftRightSigned<3>(bcastLoad(x.minus32Sum16 + j));
    }
};

struct Q2K {
    static constexpr int mainBytes = 1344, tailBytes = 0, subBlock = 16, minima = 16;
    static constexpr bool superBlock = true;
    const std::uint8_t* p;
    I s[4];
    F d, dmin;
    KERNEL_INLINE void begin(const std::uint8_t* unit, const std::uint8_t*) {
        p = unit;
        for (int i = 0; i < 4; ++i) s[i] = loadI(p + 1024 + 64 * i);
        d = loadHalves(p + 1280);
        dmin = loadHalves(p + 1312);
    }
    template<int g> KERNEL_INLINE void scales(F* f) const {
        const I low = s[g] & bcastI(kLow4);
        f[0] = byteToFloat<0>(low);
        f[1] = byteToFloat<1>(low);
        f[2] = byteToFloat<2>(low);
        f[3] = byteToFloat<3>(low);
    }
    KERNEL_INLINE I minimumPairs(int i) const {
        const I m = i % 2 ? shiftRight<12>(s[i / 2]) : shiftRight<4>(s[i / 2]);
        return m & bcastI(0x000f000f);
    }
    template<int g> KERNEL_INLINE void unpack(I* w) const {
        constexpr int half = g / 2, part = g % 2;
        for (int i = 0; i < 8; ++i) {
            const I q = loadI(p + 64 * (8 * half + i));
            w[i] = moveBits<4 * part, 0>(q, kLow2);
            w[8 + i] = moveBits<4 * part + 2, 0>(q, kLow2);
        }
    }
    static constexpr int maxWeight = 3;
    static KERNEL_INLINE I start(const ActivationUnit&, int) { return zeroI(); }
};

alignas(16) constexpr std::int8_t kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                    1,    13,   25,  38,  53,  69,  89,  113};

// Four dwords of nibbles: the low ones are the first 16 weights, the high ones the last.
KERNEL_INLINE void unpackNibbles(const std::uint8_t* p, I* w) {
    for (int i = 0; i < 4; ++i) {
        const I q = loadI(p + 64 * i);
        w[i] = q & bcastI(kLow4);
        w[4 + i] = moveBits<4, 0>(q, kLow4);
    }
}
KERNEL_INLINE void unpackLevels(const std::uint8_t* p, I* w) {
    unpackNibbles(p, w);
    for (int i = 0; i < 8; ++i) w[i] = prepareSigned(lookUp(kIq4Levels, w[i]));
}

struct Iq4Xs {
    static constexpr int mainBytes = 2176, tailBytes = 0, subBlock = 32, minima = 0;
    static constexpr bool superBlock = true;
    const std::uint8_t* p;
    F s[8];
    F d;
    KERNEL_INLINE void begin(const std::uint8_t* unit, const std::uint8_t*) {
        p = unit;
        const I low = loadI(p + 2048),
                high = loadU16(reinterpret_cast<const std::uint16_t*>(p + 2112));
        for (int j = 0; j < 8; ++j) {
            const I nibble = shiftRightBy(low, 4 * j) & bcastI(15);
            const I top = shiftLeft<4>(shiftRightBy(high, 2 * j) & bcastI(3));
            s[j] = toFloat((nibble | top) - bcastI(32));
        }
        d = loadHalves(p + 2144);
    }
    KERNEL_INLINE F scale(int j) const { return s[j]; }
    template<int g> KERNEL_INLINE void unpack(I* w) const {
        unpackLevels(p + 512 * g, w);
        unpackLevels(p + 512 * g + 256, w + 8);
    }
    static constexpr int maxWeight = kSigned;
    static KERNEL_INLINE I start(const ActivationUnit& x, int j) {
        return bcastLoad(x.minus128Sum32 + j);
    }
};

// Blocks of 32: eight to a unit, the fields of all eight side by side.
struct Q80 {
    static constexpr int mainBytes = 4352, tailBytes = 0;
    static constexpr int subBlock = 32;
    static constexpr bool superBlock = false, hasMinima = false;
    const std::uint8_t* p;
    KERNEL_INLINE void begin(const std::uint8_t* unit, const std::uint8_t*) { p = unit; }
    KERNEL_INLINE F scale(int b) const { return loadHalves(p + 4096 + 32 * b); }
    template<int g> KERNEL_INLINE void unpack(I* w) const {
        for (int i = 0; i < 16; ++i) w[i] = prepareSigned(loadI(p + 64 * (16 * g + i)));
    }
    static constexpr int maxWeight = kSigned;
    static KERNEL_INLINE I start(const ActivationUnit& x, int j) {
        return bcastLoad(x.minus128Sum32 + j);
    }
};

struct Q40 {
    static constexpr int mainBytes = 2304, tailBytes = 0;
    static constexpr int subBlock = 32;
    static constexpr bool superBlock = false, hasMinima = false;
    const std::uint8_t* p;
    KERNEL_INLINE void begin(const std::uint8_t* unit, const std::uint8_t*) { p = unit; }
    KERNEL_INLINE F scale(int b) const { return loadHalves(p + 2048 + 32 * b); }
    template<int g> KERNEL_INLINE void unpack(I* w) const {
        unpackNibbles(p + 512 * g, w);
        unpackNibbles(p + 512 * g + 256, w + 8);
    }
    static constexpr int maxWeight = 15;
    static KERNEL_INLINE I start(const ActivationUnit& x, int j) {
        return shiftRightSigned<4>(bcastLoad(x.minus128Sum32 + j));
    }
};

struct Q41 : Q40 {
    static constexpr int mainBytes = 2560;
    static constexpr bool hasMinima = true;
    KERNEL_INLINE F minimum(int b) const { return loadHalves(p + 2304 + 32 * b); }
    static constexpr int maxWeight = 15;
    static KERNEL_INLINE I start(const ActivationUnit&, int) { return zeroI(); }
};

// Bit k of `high` is the fifth bit of weight k of its block.
KERNEL_INLINE void addFifthBits(I high, I* w) {
    for (int i = 0; i < 8; ++i) {
        const I nibble = shiftRightBy(high, 4 * i);
        // Bits 0..3 go to bit 4 of bytes 0..3.
        const I spread = (shiftLeft<4>(nibble) & bcastI(0x10)) |
                         (shiftLeft<11>(nibble) & bcastI(0x1000)) |
                         (shiftLeft<18>(nibble) & bcastI(0x100000)) |
                         (shiftLeft<25>(nibble) & bcastI(0x10000000));
        w[i] = w[i] | spread;
    }
}

struct Q50 {
    static constexpr int mainBytes = 2816, tailBytes = 0;
    static constexpr int subBlock = 32;
    static constexpr bool superBlock = false, hasMinima = false;
    const std::uint8_t* p;
    KERNEL_INLINE void begin(const std::uint8_t* unit, const std::uint8_t*) { p = unit; }
    KERNEL_INLINE F scale(int b) const { return loadHalves(p + 2560 + 32 * b); }
    template<int g> KERNEL_INLINE void unpack(I* w) const {
        unpackNibbles(p + 512 * g, w);
        unpackNibbles(p + 512 * g + 256, w + 8);
        addFifthBits(loadI(p + 2048 + 128 * g), w);
        addFifthBits(loadI(p + 2048 + 128 * g + 64), w + 8);
    }
    static constexpr int maxWeight = 31;
    static KERNEL_INLINE I start(const ActivationUnit& x, int j) {
        return shiftRightSigned<3>(bcastLoad(x.minus128Sum32 + j));
    }
};

struct Q51 : Q50 {
    static constexpr int mainBytes = 3072;
    static constexpr bool hasMinima = true;
    KERNEL_INLINE F minimum(int b) const { return loadHalves(p + 2816 + 32 * b); }
    static constexpr int maxWeight = 31;
    static KERNEL_INLINE I start(const ActivationUnit&, int) { return zeroI(); }
};

struct Iq4Nl : Q40 {
    template<int g> KERNEL_INLINE void unpack(I* w) const {
        unpackLevels(p + 512 * g, w);
        unpackLevels(p + 512 * g + 256, w + 8);
    }
    static constexpr int maxWeight = kSigned;
    static KERNEL_INLINE I start(const ActivationUnit& x, int j) {
        return bcastLoad(x.minus128Sum32 + j);
    }
};

// ---- one group of 64 of one unit, all columns: t is brought forward

// The integer sums of a group, from weights in registers.
template<class Format> struct RegisterDots {
    I w[16];
    KERNEL_INLINE void beginUnit(const Format&, const ActivationUnit*) {}
    template<int g> KERNEL_INLINE void beginGroup(const Format& f) { f.template unpack<g>(w); }
    // Sub-block `part` of group g.
    template<int g, int part> KERNEL_INLINE F sum(const ActivationUnit& x, int) const {
        constexpr int dwords = Format::subBlock / 4, j = g * 64 / Format::subBlock + part;
        const std::int8_t* q = x.q + Format::subBlock * j;
        if constexpr (Format::maxWeight == kSigned)
            return toFloat(dotSigned32(w + dwords * part, q, x.minus128Sum32 + j));
        else
            return toFloat(
                dot<dwords, Format::maxWeight>(Format::start(x, j), w + dwords * part, q));
    }
};

template<int g, class Format, class Dots>
KERNEL_INLINE void groupStep(const Format& f, Dots& dots, const ActivationUnit* x, int columns,
                             F* t) {
    dots.template beginGroup<g>(f);
    if constexpr (!Format::superBlock) {
        const F d0 = f.scale(2 * g), d1 = f.scale(2 * g + 1);
        for (int c = 0; c < columns; ++c) {
            const F dx = bcast(x[c].dx[g]);
            F sum = fma(d0 * dx, dots.template sum<g, 0>(x[c], c), g == 0 ? zeroF() : t[c]);
            if constexpr (Format::hasMinima)
                sum = fma(f.minimum(2 * g) * dx, bcast(x[c].sum32[2 * g]), sum);
            sum = fma(d1 * dx, dots.template sum<g, 1>(x[c], c), sum);
            if constexpr (Format::hasMinima)
                sum = fma(f.minimum(2 * g + 1) * dx, bcast(x[c].sum32[2 * g + 1]), sum);
            t[c] = sum;
        }
    } else {
        F sc[4];
        if constexpr (Format::subBlock == 32) {
            sc[0] = f.scale(2 * g);
            sc[1] = f.scale(2 * g + 1);
        } else {
            f.template scales<g>(sc);
        }
        for (int c = 0; c < columns; ++c) {
            // Onto zero, so that a sum of nothing is 0 and not -0 where scales are negative.
            F isum = fma(sc[1], dots.template sum<g, 1>(x[c], c),
                         fma(sc[0], dots.template sum<g, 0>(x[c], c), zeroF()));
            if constexpr (Format::subBlock == 16)
                isum = isum + fma(sc[3], dots.template sum<g, 3>(x[c], c),
                                  sc[2] * dots.template sum<g, 2>(x[c], c));
            const F dx = bcast(x[c].dx[g]);
            t[c] = g == 0 ? dx * isum : fma(dx, isum, t[c]);
        }
    }
}

template<class Format> KERNEL_INLINE F unitValue(const Format& f, const ActivationUnit& x, F t) {
    if constexpr (!Format::superBlock) {
        return t;
    } else {
        F v = f.d * t;
        if constexpr (Format::minima > 0) {
            const std::int16_t* s = Format::minima == 8 ? x.s32 : x.s16;
            I sum = zeroI();
            for (int i = 0; i < Format::minima / 2; ++i)
                sum = dotPairs(sum, f.minimumPairs(i), bcastLoad(s + 2 * i));
            const F scaled = bcast(Format::minima == 8 ? x.ds32 : x.ds16) * toFloat(sum);
            v = fma(negate(f.dmin), scaled, v);
        }
        return v;
    }
}

// Near, because the second-level cache is filled by the processor itself: 14 % more at one column
// than 4 KiB.
constexpr int kPrefetchBytes = 1152;

template<class Format, class Dots, int fixedColumns> // 0: any number up to 16
inline void int8TileOf(const Int8Tile& tile) {
    const int columns = fixedColumns ? fixedColumns : tile.columns;
    constexpr int kMost = fixedColumns ? fixedColumns : kTileColumns;
    F t[kMost], segment[kMost], total[kMost];
    const int perSegment = segmentUnits(tile.units);
    const std::uint8_t* unit = tile.weights;
    const std::uint8_t* tail = tile.weights + tile.units * Format::mainBytes;
    const ActivationUnit* x = tile.x;
    for (int c = 0; c < columns; ++c) t[c] = segment[c] = total[c] = zeroF();
    int inSegment = 0;
    for (std::int64_t u = 0; u < tile.units; ++u) {
        // The processor's own prefetching stops at pages and falls behind when many columns are
        // computed.
        for (int line = 0; line < Format::mainBytes; line += 64)
            prefetch(unit + kPrefetchBytes + line);
        Format f;
        f.begin(unit, tail);
        Dots dots;
        dots.beginUnit(f, x);
        groupStep<0>(f, dots, x, columns, t);
        groupStep<1>(f, dots, x, columns, t);
        groupStep<2>(f, dots, x, columns, t);
        groupStep<3>(f, dots, x, columns, t);
        for (int c = 0; c < columns; ++c) {
            const F v = unitValue(f, x[c], t[c]);
            segment[c] = inSegment == 0 ? v : segment[c] + v;
        }
        if (++inSegment == perSegment || u + 1 == tile.units) {
            const bool firstSegment = u + 1 <= perSegment;
            for (int c = 0; c < columns; ++c)
                total[c] = firstSegment ? segment[c] : total[c] + segment[c];
            inSegment = 0;
        }
        unit += Format::mainBytes;
        tail += Format::tailBytes;
        x += columns;
    }
    for (int c = 0; c < columns; ++c) storeN(tile.out + c * tile.outStride, total[c], tile.rows);
}

#if defined(GLINT_MATRIX_TILES)
#    include "engine/backend/cpu/matrix_tiles.inl"
#endif

template<class Format> inline void int8Tile(const Int8Tile& tile) {
    if (tile.columns == 1) int8TileOf<Format, RegisterDots<Format>, 1>(tile);
#if defined(GLINT_MATRIX_TILES)
    else if (Format::subBlock == 32 && tile.columns >= kFewestTileColumns)
        int8TileInTiles<Format>(tile);
#endif
    else
        int8TileOf<Format, RegisterDots<Format>, 0>(tile);
}

inline Int8TileFn int8TileFor(QuantType type) {
    switch (type) {
    case QuantType::Q4_0: return int8Tile<Q40>;
    case QuantType::Q4_1: return int8Tile<Q41>;
    case QuantType::Q5_0: return int8Tile<Q50>;
    case QuantType::Q5_1: return int8Tile<Q51>;
    case QuantType::Q8_0: return int8Tile<Q80>;
    case QuantType::Q2_K: return int8Tile<Q2K>;
    case QuantType::Q3_K: return int8Tile<Q3K>;
    case QuantType::Q4_K: return int8Tile<Q4K>;
    case QuantType::Q5_K: return int8Tile<Q5K>;
    case QuantType::Q6_K: return int8Tile<Q6K>;
    case QuantType::IQ4_NL: return int8Tile<Iq4Nl>;
    case QuantType::IQ4_XS: return int8Tile<Iq4Xs>;
    case QuantType::F32:
    case QuantType::F16:
    case QuantType::BF16: break;
    }
    return nullptr;
}

inline const KernelTable& tableOf(const char* name) {
    static const KernelTable table = {name,
                                      int8TileFor,
                                      quantizeRow,
                                      floatBlock,
                                      halfToFloatRow,
                                      bfloatToFloatRow,
                                      floatToHalfRow,
                                      floatToQ8Row,
                                      q8ToFloatRow,
                                      rmsNormRow,
                                      layerNormRow,
                                      rotateAdjacentHead,
                                      rotateHalvesHead,
                                      scaleRow,
                                      addRow,
                                      sigmoidGateRow,
                                      swigluRow,
                                      geluRow,
                                      softcapRow,
                                      argmaxRow,
                                      attentionTile,
                                      mergeSplit,
                                      expRow,
                                      erfRow,
                                      tanhRow,
                                      sigmoidRow};
    return table;
}

} // namespace
} // namespace engine
