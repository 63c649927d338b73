// Float operations on lanes; included by each ops_*.cpp after its lanes_*.h. See kernel_table.h for
// what each function computes and int8_format.h for the order of sums.

#include <limits>

namespace engine {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// ---- elementary functions, from exact operations only

// e^x within 1 ulp (measured); 0 below -86.5, infinity above 88.73. x = n ln 2 + f, |f| <= ln 2
// / 2.
KERNEL_INLINE F expOf(F x) {
    const F magic =
        bcast(12582912.0f); // 1.5 * 2^23: adding and taking it away rounds to a whole number
    const F limited = minOf(bcast(89.0f), maxOf(bcast(-87.0f), x)); // keeps NaN: see maxOf's rule
    const F n = fma(limited, bcast(1.44269502f), magic) - magic;
    F f = fma(n, bcast(-6.93145752e-1f), limited);
    f = fma(n, bcast(-1.42860677e-6f), f);
    F r = bcast(1.37805939e-3f);
    r = fma(r, f, bcast(8.37312452e-3f));
    r = fma(r, f, bcast(4.16695364e-2f));
    r = fma(r, f, bcast(1.66664720e-1f));
    r = fma(r, f, bcast(4.99999851e-1f));
    r = fma(r, f, bcast(1.0f));
    r = fma(r, f, bcast(1.0f));
    // 2^n in two steps, since 2^128 is no float.
    r = r * powerOfTwo(n - bcast(1.0f)) * bcast(2.0f);
    return whereGreater(bcast(-86.5f), x, zeroF(), r);
}

KERNEL_INLINE F sigmoidOf(F x) {
    return bcast(1.0f) / (bcast(1.0f) + expOf(negate(x)));
}

// tanh within 2 ulp (measured): a polynomial near zero, 1 - 2 / (e^2x + 1) beyond.
KERNEL_INLINE F tanhOf(F x) {
    const F magnitude = absOf(x);
    const F z = x * x;
    F p = bcast(-5.70498872745e-3f);
    p = fma(p, z, bcast(2.06390887954e-2f));
    p = fma(p, z, bcast(-5.37397155531e-2f));
    p = fma(p, z, bcast(1.33314422036e-1f));
    p = fma(p, z, bcast(-3.33332819422e-1f));
    const F near = fma(p * z, x, x);
    const F far = bcast(1.0f) - bcast(2.0f) / (expOf(magnitude + magnitude) + bcast(1.0f));
    return whereGreater(bcast(0.625f), magnitude, near, withSignOf(far, x));
}

// erf within 1.1 ulp (measured): odd polynomial near zero, 1 - e^(polynomial) beyond.
KERNEL_INLINE F erfOf(F x) {
    const F t = absOf(x), s = x * x;
    F r = fma(bcast(-1.72853470e-5f), t, bcast(3.83197126e-4f));
    const F u = fma(bcast(-3.88396438e-3f), t, bcast(2.42546219e-2f));
    r = fma(r, s, u);
    r = fma(r, t, bcast(-1.06777877e-1f));
    r = fma(r, t, bcast(-6.34846687e-1f));
    r = fma(r, t, bcast(-1.28717512e-1f));
    r = fma(r, t, negate(t));
    // Beyond 4 the polynomial may turn; there erf is 1 in float.
    const F far = whereGreater(t, bcast(4.0f), bcast(1.0f), bcast(1.0f) - expOf(r));
    F near = bcast(-5.96761703e-4f);
    near = fma(near, s, bcast(4.99119423e-3f));
    near = fma(near, s, bcast(-2.67681349e-2f));
    near = fma(near, s, bcast(1.12819925e-1f));
    near = fma(near, s, bcast(-3.76125336e-1f));
    near = fma(near, s, bcast(1.28379166e-1f));
    near = fma(near, x, x);
    return whereGreater(t, bcast(0.927734375f), withSignOf(far, x), near);
}

// ---- element by element

template<class Fn> inline void forEach16(const float* x, std::int64_t n, float* out, Fn fn) {
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16) store(out + i, fn(load(x + i)));
    if (i < n) storeN(out + i, fn(loadN(x + i, n - i)), n - i);
}
template<class Fn>
inline void forEach16(const float* x, const float* y, std::int64_t n, float* out, Fn fn) {
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16) store(out + i, fn(load(x + i), load(y + i)));
    if (i < n) storeN(out + i, fn(loadN(x + i, n - i), loadN(y + i, n - i)), n - i);
}

inline void scaleRow(const float* x, float factor, std::int64_t n, float* out) {
    const F f = bcast(factor);
    forEach16(x, n, out, [f](F a) { return a * f; });
}
inline void addRow(float* x, const float* y, std::int64_t n) {
    forEach16(x, y, n, x, [](F a, F b) { return a + b; });
}
inline void sigmoidGateRow(float* x, const float* gate, std::int64_t n) {
    forEach16(x, gate, n, x, [](F a, F g) { return a * sigmoidOf(g); });
}
inline void swigluRow(const float* gate, const float* up, std::int64_t n, float* out) {
    forEach16(gate, up, n, out, [](F g, F u) { return g * sigmoidOf(g) * u; });
}
inline void geluRow(float* x, std::int64_t n) {
    forEach16(x, n, x, [](F a) {
        const F half = bcast(0.5f) * a;
        return fma(half, erfOf(a * bcast(0.707106781f)), half);
    });
}
inline void softcapRow(float* z, float scale, float cap, std::int64_t n) {
    const F s = bcast(scale);
    if (cap == 0) {
        forEach16(z, n, z, [s](F a) { return a * s; });
        return;
    }
    const F c = bcast(cap);
    forEach16(z, n, z, [=](F a) { return c * tanhOf(a * s / c); });
}
inline void expRow(const float* x, std::int64_t n, float* out) {
    forEach16(x, n, out, [](F a) { return expOf(a); });
}
inline void erfRow(const float* x, std::int64_t n, float* out) {
    forEach16(x, n, out, [](F a) { return erfOf(a); });
}
inline void tanhRow(const float* x, std::int64_t n, float* out) {
    forEach16(x, n, out, [](F a) { return tanhOf(a); });
}
inline void sigmoidRow(const float* x, std::int64_t n, float* out) {
    forEach16(x, n, out, [](F a) { return sigmoidOf(a); });
}

inline std::int64_t argmaxRow(const float* z, std::int64_t n) {
    // The largest value, then where it is first found. NaN is never the largest.
    F m = bcast(-kInfinity);
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16) m = maxOf(load(z + i), m);
    float largest = maxLane(m);
    for (; i < n; ++i) largest = z[i] > largest ? z[i] : largest;
    for (std::int64_t j = 0; j < n; ++j)
        if (z[j] == largest) return j;
    return 0;
}

// ---- 16-bit and 8-bit forms

inline void halfToFloatRow(const std::uint16_t* x, std::int64_t n, float* out) {
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16) store(out + i, loadHalf(x + i));
    for (; i < n; ++i) out[i] = halfToScalar(x[i]);
}
inline void bfloatToFloatRow(const std::uint16_t* x, std::int64_t n, float* out) {
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16) store(out + i, loadBfloat(x + i));
    for (; i < n; ++i) {
        const std::uint32_t bits = std::uint32_t(x[i]) << 16;
        std::memcpy(out + i, &bits, 4);
    }
}
inline void floatToHalfRow(const float* x, std::int64_t n, std::uint16_t* out) {
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16) storeHalf(out + i, load(x + i));
    for (; i < n; ++i) out[i] = scalarToHalf(x[i]);
}
// x / d as a whole number within [-limit, limit].
KERNEL_INLINE I quotient(F x, F d, float limit) {
    return toInt(minOf(maxOf(x / d, bcast(-limit)), bcast(limit)));
}
inline void floatToQ8Row(const float* x, std::int64_t n, std::uint8_t* out) {
    for (std::int64_t b = 0; b < n / 32; ++b, x += 32, out += 34) {
        const F low = load(x), high = load(x + 16);
        float m = maxLane(maxOf(absOf(high), maxOf(absOf(low), zeroF()))) / 127.0f;
        m = m < 65504.0f ? m : 65504.0f;
        const std::uint16_t half = scalarToHalf(m);
        const float d = halfToScalar(half);
        std::int8_t q[32] = {};
        if (d > 0) {
            storeI8(q, quotient(low, bcast(d), 127.0f));
            storeI8(q + 16, quotient(high, bcast(d), 127.0f));
        }
        std::memcpy(out, &half, 2);
        std::memcpy(out + 2, q, 32);
    }
}
inline void q8ToFloatRow(const std::uint8_t* x, std::int64_t n, float* out) {
    for (std::int64_t b = 0; b < n / 32; ++b, x += 34, out += 32) {
        std::uint16_t half;
        std::memcpy(&half, x, 2);
        const F d = bcast(halfToScalar(half));
        const auto* q = reinterpret_cast<const std::int8_t*>(x + 2);
        store(out, d * loadI8(q));
        store(out + 16, d * loadI8(q + 16));
    }
}

// ---- norms

template<class Fn> // fn(a): what is summed as fma(value, value, sum) or added
inline float sumOver(const float* x, std::int64_t n, Fn fn) {
    F low = zeroF(), high = zeroF();
    for (std::int64_t i = 0; i < n; i += 32) {
        low = fn(loadN(x + i, n - i), n - i, low);
        high = fn(loadN(x + i + 16 * (n - i > 16), n - i - 16), n - i - 16, high);
    }
    return treeSum(low, high);
}

inline void rmsNormRow(const float* x, const float* gamma, float eps, std::int64_t n, float* out) {
    const float squares = sumOver(x, n, [](F a, std::int64_t, F sum) { return fma(a, a, sum); });
    const float mean = squares / static_cast<float>(n);
    F root = squareRoot(bcast(mean + eps));
    const F factor = bcast(1.0f) / root;
    if (gamma)
        forEach16(x, gamma, n, out, [factor](F a, F g) { return a * factor * g; });
    else
        forEach16(x, n, out, [factor](F a) { return a * factor; });
}

inline void layerNormRow(const float* x, const float* gamma, const float* beta, float eps,
                         std::int64_t n, float* out) {
    const float sum = sumOver(x, n, [](F a, std::int64_t, F s) { return s + a; });
    const F mean = bcast(sum / static_cast<float>(n));
    // Lanes beyond the row must add nothing: their difference from the mean is put to zero.
    const float squares = sumOver(x, n, [mean](F a, std::int64_t left, F s) {
        F difference = a - mean;
        if (left < 16) {
            float t[16];
            store(t, difference);
            difference = loadN(t, left);
        }
        return fma(difference, difference, s);
    });
    const F factor = bcast(1.0f) / squareRoot(bcast(squares / static_cast<float>(n) + eps));
    std::int64_t i = 0;
    for (; i < n; i += 16) {
        const std::int64_t left = n - i;
        F y = (loadN(x + i, left) - mean) * factor;
        if (gamma && beta)
            y = fma(y, loadN(gamma + i, left), loadN(beta + i, left));
        else if (gamma)
            y = y * loadN(gamma + i, left);
        else if (beta)
            y = y + loadN(beta + i, left);
        storeN(out + i, y, left);
    }
}

// ---- rotary positions: tables hold, per element of a head, the cosine of its pair and the sine
// with the sign of its place in the pair, so that out = x * cosine + partner * sine.

inline void rotateAdjacentHead(float* x, const float* cosine, const float* sine, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += 16) {
        const std::int64_t left = n - i;
        const F a = loadN(x + i, left);
        storeN(x + i, fma(a, loadN(cosine + i, left), swapPairs(a) * loadN(sine + i, left)), left);
    }
}
inline void rotateHalvesHead(float* x, const float* cosine, const float* sine, std::int64_t n) {
    const std::int64_t half = n / 2;
    for (std::int64_t i = 0; i < half; i += 16) {
        const std::int64_t left = half - i;
        const F a = loadN(x + i, left), b = loadN(x + half + i, left);
        storeN(x + i, fma(a, loadN(cosine + i, left), b * loadN(sine + i, left)), left);
        storeN(x + half + i,
               fma(b, loadN(cosine + half + i, left), a * loadN(sine + half + i, left)), left);
    }
}

// ---- activations in 8 bits (int8_format.h)

// 0, 2, 1, 3 within each four.
constexpr int pairedOrder(int j) {
    return (j & ~3) | (j & 1) << 1 | (j & 2) >> 1;
}

inline void quantizeRow(const float* x, std::int64_t columns, ActivationUnit* first,
                        std::int64_t stride, std::int64_t units) {
    for (std::int64_t u = 0; u < units; ++u) {
        ActivationUnit& unit = first[u * stride];
        std::int32_t sum16[16];
        float dxOf16[16];
        for (int g = 0; g < 4; ++g) {
            const std::int64_t start = u * 256 + g * 64;
            F part[4];
            F m = zeroF();
            for (int i = 0; i < 4; ++i) {
                const std::int64_t at = start + 16 * i;
                part[i] = at < columns ? loadN(x + at, columns - at) : zeroF();
                m = maxOf(absOf(part[i]), m);
            }
            const float dx = maxLane(m) / 127.0f;
            unit.dx[g] = dx;
            for (int i = 0; i < 4; ++i) {
                const I q = dx > 0 ? quotient(part[i], bcast(dx), 127.0f) : zeroI();
                storeI8(unit.q + g * 64 + 16 * i, q);
                sum16[4 * g + i] = sumLanes(q);
                dxOf16[4 * g + i] = dx;
            }
        }
        std::int32_t sum32[16] = {};
        float dxOf32[16] = {};
        for (int j = 0; j < 8; ++j) {
            sum32[j] = sum16[2 * j] + sum16[2 * j + 1];
            dxOf32[j] = dxOf16[2 * j];
            unit.minus128Sum32[j] = -128 * sum32[j];
            unit.sum32[j] = static_cast<float>(sum32[j]);
        }
        for (int j = 0; j < 16; ++j) unit.minus32Sum16[j] = -32 * sum16[j];

        std::int32_t s[16];
        const F x16 = load(dxOf16) * toFloat(loadI(sum16));
        unit.ds16 = maxLane(maxOf(absOf(x16), zeroF())) / 16256.0f;
        storeI(s, unit.ds16 > 0 ? quotient(x16, bcast(unit.ds16), 16256.0f) : zeroI());
        for (int j = 0; j < 16; ++j) unit.s16[j] = static_cast<std::int16_t>(s[pairedOrder(j)]);
        const F x32 = load(dxOf32) * toFloat(loadI(sum32));
        unit.ds32 = maxLane(maxOf(absOf(x32), zeroF())) / 16256.0f;
        storeI(s, unit.ds32 > 0 ? quotient(x32, bcast(unit.ds32), 16256.0f) : zeroI());
        for (int j = 0; j < 8; ++j) unit.s32[j] = static_cast<std::int16_t>(s[pairedOrder(j)]);
    }
}

// ---- dot products in the 32-lane order: R rows times C columns in registers

template<int R, int C>
inline void dotTile(const float* w, std::int64_t wStride, const float* x, std::int64_t xStride,
                    std::int64_t k, float* out, std::int64_t outStride) {
    F low[R][C], high[R][C];
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) low[r][c] = high[r][c] = zeroF();
    std::int64_t i = 0;
    for (; i + 32 <= k; i += 32) {
        F a[C], b[C];
        for (int c = 0; c < C; ++c) {
            a[c] = load(x + c * xStride + i);
            b[c] = load(x + c * xStride + i + 16);
        }
        for (int r = 0; r < R; ++r) {
            const F wa = load(w + r * wStride + i), wb = load(w + r * wStride + i + 16);
            for (int c = 0; c < C; ++c) {
                low[r][c] = fma(wa, a[c], low[r][c]);
                high[r][c] = fma(wb, b[c], high[r][c]);
            }
        }
    }
    if (i < k) {
        const std::int64_t left = k - i, more = left > 16 ? left - 16 : 0,
                           at = left > 16 ? i + 16 : i;
        for (int c = 0; c < C; ++c) {
            const F a = loadN(x + c * xStride + i, left), b = loadN(x + c * xStride + at, more);
            for (int r = 0; r < R; ++r) {
                low[r][c] = fma(loadN(w + r * wStride + i, left), a, low[r][c]);
                high[r][c] = fma(loadN(w + r * wStride + at, more), b, high[r][c]);
            }
        }
    }
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) out[c * outStride + r] = treeSum(low[r][c], high[r][c]);
}

template<int C> inline void dotColumns(const FloatBlock& b, std::int64_t c) {
    int r = 0;
    const float* x = b.x + c * b.xStride;
    float* out = b.out + c * b.outStride;
    for (; r + kDotRows <= b.rows; r += kDotRows)
        dotTile<kDotRows, C>(b.weights + r * b.weightStride, b.weightStride, x, b.xStride, b.k,
                             out + r, b.outStride);
    for (; r < b.rows; ++r)
        dotTile<1, C>(b.weights + r * b.weightStride, b.weightStride, x, b.xStride, b.k, out + r,
                      b.outStride);
}

inline void floatBlock(const FloatBlock& b) {
    std::int64_t c = 0;
    for (; c + kDotColumns <= b.columns; c += kDotColumns) dotColumns<kDotColumns>(b, c);
    for (; c < b.columns; ++c) dotColumns<1>(b, c);
}

// ---- attention

// out[r] += sum over keys of p[r][key] * values[key], ascending by key, for R rows and V vectors of
// lanes.
template<int R, int V>
inline void mixTile(const float* p, const float* values, std::int64_t stride, int begin, int end,
                    float* out) {
    F sum[R][V];
    for (int r = 0; r < R; ++r)
        for (int i = 0; i < V; ++i) sum[r][i] = load(out + r * stride + 16 * i);
    for (int key = begin; key < end; ++key) {
        F value[V];
        for (int i = 0; i < V; ++i) value[i] = load(values + key * stride + 16 * i);
        for (int r = 0; r < R; ++r) {
            const F weight = bcast(p[r * kKeyTile + key]);
            for (int i = 0; i < V; ++i) sum[r][i] = fma(weight, value[i], sum[r][i]);
        }
    }
    for (int r = 0; r < R; ++r)
        for (int i = 0; i < V; ++i) store(out + r * stride + 16 * i, sum[r][i]);
}

template<int R>
inline void mixRows(const float* p, const float* values, std::int64_t stride, int begin, int end,
                    float* out) {
    std::int64_t d = 0;
    for (; d + 16 * kMixVectors <= stride; d += 16 * kMixVectors)
        mixTile<R, kMixVectors>(p, values + d, stride, begin, end, out + d);
    for (; d < stride; d += 16) mixTile<R, 1>(p, values + d, stride, begin, end, out + d);
}

// One row's softmax step: scores of keys begin .. end-1 become weights (zero elsewhere).
inline void softmaxStep(float* scores, int begin, int end, float& maximum, float& sum, float* out,
                        std::int64_t stride) {
    for (int i = 0; i < begin; ++i) scores[i] = -kInfinity;
    for (int i = end; i < kKeyTile; ++i) scores[i] = -kInfinity;
    F m = bcast(maximum);
    for (int i = 0; i < kKeyTile; i += 16) m = maxOf(load(scores + i), m);
    const float next = maxLane(m);
    const F shift = bcast(next);
    F low = zeroF(), high = zeroF();
    for (int i = 0; i < kKeyTile; i += 32) {
        const F a = expOf(load(scores + i) - shift), b = expOf(load(scores + i + 16) - shift);
        store(scores + i, a);
        store(scores + i + 16, b);
        low = low + a;
        high = high + b;
    }
    const F keep = expOf(bcast(maximum) - shift);
    float kept[16];
    store(kept, keep);
    sum = scalarFma(sum, kept[0], treeSum(low, high));
    if (next != maximum)
        for (std::int64_t d = 0; d < stride; d += 16) store(out + d, load(out + d) * keep);
    maximum = next;
}

inline void attentionTile(const AttentionTile& t) {
    constexpr int kRowBlock = 12; // rows whose scores are held at a time
    alignas(64) float scores[kRowBlock * kKeyTile];
    for (int range = 0; range < t.ranges; ++range) {
        const int begin = t.begin[range], end = t.end[range];
        if (begin >= end) continue;
        for (int first = 0; first < t.rowsPerRange; first += kRowBlock) {
            const std::int64_t row = std::int64_t(range) * t.rowsPerRange + first;
            const int rows =
                t.rowsPerRange - first < kRowBlock ? t.rowsPerRange - first : kRowBlock;
            FloatBlock block{};
            block.weights = t.keys + begin * t.headStride;
            block.weightStride = t.headStride;
            block.rows = end - begin;
            block.x = t.queries + row * t.headStride;
            block.xStride = t.headStride;
            block.columns = rows;
            block.k = t.headStride;
            block.out = scores + begin;
            block.outStride = kKeyTile;
            floatBlock(block);
            for (int r = 0; r < rows; ++r)
                softmaxStep(scores + r * kKeyTile, begin, end, t.maximum[row + r], t.sum[row + r],
                            t.out + (row + r) * t.headStride, t.headStride);
            int r = 0;
            for (; r + kMixRows <= rows; r += kMixRows)
                mixRows<kMixRows>(scores + r * kKeyTile, t.values, t.headStride, begin, end,
                                  t.out + (row + r) * t.headStride);
            for (; r < rows; ++r)
                mixRows<1>(scores + r * kKeyTile, t.values, t.headStride, begin, end,
                           t.out + (row + r) * t.headStride);
        }
    }
}

inline void mergeSplit(float* maximum, float* sum, float* out, float laterMaximum, float laterSum,
                       const float* laterOut, std::int64_t n) {
    const float next = laterMaximum > *maximum ? laterMaximum : *maximum;
    const F keep = expOf(bcast(*maximum) - bcast(next)),
            take = expOf(bcast(laterMaximum) - bcast(next));
    float k[16], t[16];
    store(k, keep);
    store(t, take);
    *sum = scalarFma(laterSum, t[0], *sum * k[0]);
    *maximum = next;
    for (std::int64_t d = 0; d < n; d += 16)
        store(out + d, fma(load(laterOut + d), take, load(out + d) * keep));
}

} // namespace
} // namespace engine
