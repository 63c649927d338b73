#include "engine/backend/cpu/cpu_backend.h"

#include "engine/backend/cpu/cpu_attention.h"
#include "engine/backend/cpu/cpu_features.h"
#include "engine/backend/cpu/for_rows.h"
#include "engine/backend/cpu/tensor_rows.h"
#include "engine/base/memory_info.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace engine {

namespace {

Result<const KernelTable*> chooseKernels(CpuInstructions instructions) {
#if defined(GLINT_X86)
    const CpuFeatures& features = cpuFeatures();
    struct Choice {
        CpuInstructions instructions;
        bool present;
        const KernelTable& (*kernels)();
        const char* missing;
    };
    const Choice choices[] = {
        // best first
        {CpuInstructions::Amx, features.amx, amxKernels, "this processor has no AMX"},
        {CpuInstructions::Avx512, features.avx512, avx512Kernels,
         "this processor has no AVX-512 with VNNI"},
        {CpuInstructions::AvxVnni, features.avxVnni, avxVnniKernels,
         "this processor has no AVX-VNNI"},
        {CpuInstructions::Avx2, features.avx2, avx2Kernels, "this processor has no AVX2"},
    };
    for (const Choice& choice : choices) {
        if (instructions != choice.instructions && instructions != CpuInstructions::Automatic)
            continue;
        if (choice.present) return &choice.kernels();
        if (instructions == choice.instructions)
            return Error{ErrorCode::Unsupported, choice.missing};
    }
#endif
    if (instructions == CpuInstructions::Automatic || instructions == CpuInstructions::Reference)
        return &referenceKernels();
    return Error{ErrorCode::Unsupported, "these instructions are not in this program"};
}

bool isF32(const Tensor& t) {
    return t.type == ElementType::F32;
}
bool sameShape(const Tensor& a, const Tensor& b) {
    return a.rows == b.rows && a.columns == b.columns;
}

} // namespace

Result<std::unique_ptr<CpuBackend>> CpuBackend::make(const CpuOptions& options) {
    auto kernels = chooseKernels(options.instructions);
    if (!kernels.ok()) return kernels.error();
    CpuOptions chosen = options;
    if (chosen.threads <= 0) chosen.threads = cpuFeatures().physicalCores;
    return std::unique_ptr<CpuBackend>(new CpuBackend(chosen, **kernels));
}

CpuBackend::CpuBackend(const CpuOptions& options, const KernelTable& kernels)
    : m_options(options), m_kernels(kernels), m_pool(options.threads),
      m_attention(std::make_unique<AttentionScratch>()),
      m_decoded(static_cast<std::size_t>(options.threads)) {}

CpuBackend::~CpuBackend() = default;

std::string CpuBackend::name() const {
    const std::string threads =
        std::to_string(m_options.threads) + (m_options.threads == 1 ? " thread" : " threads");
    return std::string("Processor, ") + m_kernels.name + ", " + threads;
}

MemoryState CpuBackend::memory() const {
    const MemoryInfo info = memoryInfo();
    return {info.freeBytes, info.totalBytes};
}

Result<Buffer> CpuBackend::allocate(std::int64_t bytes, std::string_view what) {
    auto memory = CpuMemory::take(bytes, false, what);
    if (!memory.ok()) return memory.error();
    return Buffer(*this, memory->detach(), bytes);
}

void CpuBackend::release(std::byte* data, std::int64_t bytes) {
    CpuMemory::give(data, bytes);
}

void CpuBackend::copyIn(std::span<const std::byte> host, Tensor to) {
    const std::int64_t bytes = to.rowBytes();
    CHECK(static_cast<std::int64_t>(host.size()) == to.rows * bytes);
    for (std::int64_t r = 0; r < to.rows; ++r)
        std::memcpy(to.data + r * to.strideBytes, host.data() + r * bytes,
                    static_cast<std::size_t>(bytes));
}

Result<void> CpuBackend::copyOut(Tensor from, std::span<std::byte> host) {
    const std::int64_t bytes = from.rowBytes();
    CHECK(static_cast<std::int64_t>(host.size()) == from.rows * bytes);
    for (std::int64_t r = 0; r < from.rows; ++r)
        std::memcpy(host.data() + r * bytes, from.data + r * from.strideBytes,
                    static_cast<std::size_t>(bytes));
    return {};
}

void CpuBackend::copy(Tensor from, Tensor to) {
    CHECK(from.type == to.type && sameShape(from, to));
    const auto bytes = static_cast<std::size_t>(from.rowBytes());
    forRows(from.rows, static_cast<std::int64_t>(bytes) / 4, [&](std::int64_t r) {
        std::memmove(to.data + r * to.strideBytes, from.data + r * from.strideBytes, bytes);
    });
}

void CpuBackend::gatherRows(Tensor x, Tensor indices, Tensor out) {
    const std::int64_t n = indices.columns;
    CHECK(isF32(x) && isF32(out) && indices.type == ElementType::I32 && indices.rows == out.rows);
    CHECK(n > 0 && x.columns * n == out.columns);
    forRows(out.rows, out.columns, [&](std::int64_t r) {
        float* to = floatRow(out, r);
        for (std::int64_t j = 0; j < n; ++j) {
            const std::int64_t index = intRow(indices, r)[j];
            CHECK(index >= 0 && index < x.rows);
            const float* from = floatRow(x, index);
            for (std::int64_t c = 0; c < x.columns; ++c) to[c * n + j] = from[c];
        }
    });
}

void CpuBackend::rmsNorm(Tensor x, Tensor gamma, float eps, Tensor out) {
    CHECK(isF32(x) && isF32(out) && sameShape(x, out) &&
          (gamma.empty() || gamma.columns == x.columns));
    const float* g = gamma.empty() ? nullptr : floatRow(gamma, 0);
    forRows(x.rows, x.columns, [&](std::int64_t r) {
        m_kernels.rmsNorm(floatRow(x, r), g, eps, x.columns, floatRow(out, r));
    });
}

void CpuBackend::layerNorm(Tensor x, Tensor gamma, Tensor beta, float eps, Tensor out) {
    CHECK(isF32(x) && isF32(out) && sameShape(x, out));
    CHECK((gamma.empty() || gamma.columns == x.columns) &&
          (beta.empty() || beta.columns == x.columns));
    const float* g = gamma.empty() ? nullptr : floatRow(gamma, 0);
    const float* b = beta.empty() ? nullptr : floatRow(beta, 0);
    forRows(x.rows, x.columns, [&](std::int64_t r) {
        m_kernels.layerNorm(floatRow(x, r), g, b, eps, x.columns, floatRow(out, r));
    });
}

void CpuBackend::rope(Tensor x, Tensor positions, const RopeSpec& spec) {
    CHECK(isF32(x) && positions.type == ElementType::I32 && positions.rows == x.rows &&
          positions.columns == spec.axes);
    CHECK(spec.headSize > 0 && spec.headSize % (2 * spec.axes) == 0 &&
          x.columns % spec.headSize == 0);
    std::vector<std::int32_t> gathered;
    std::span<const std::int32_t> flat(intRow(positions, 0),
                                       static_cast<std::size_t>(x.rows * spec.axes));
    if (positions.strideBytes != positions.rowBytes()) {
        for (std::int64_t r = 0; r < x.rows; ++r)
            gathered.insert(gathered.end(), intRow(positions, r), intRow(positions, r) + spec.axes);
        flat = gathered;
    }
    const RopeTables::Table& table = m_rope.find(spec, flat, m_pool);
    const auto rotate =
        spec.pairing == RopePairing::Adjacent ? m_kernels.rotateAdjacent : m_kernels.rotateHalves;
    forRows(x.rows, x.columns, [&](std::int64_t r) {
        const float* cosine = table.cosine.data() + r * spec.headSize;
        const float* sine = table.sine.data() + r * spec.headSize;
        float* row = floatRow(x, r);
        for (std::int64_t head = 0; head < x.columns; head += spec.headSize)
            rotate(row + head, cosine, sine, spec.headSize);
    });
}

void CpuBackend::sigmoidGate(Tensor x, Tensor gate) {
    CHECK(isF32(x) && isF32(gate) && sameShape(x, gate));
    forPieces(x.rows, x.columns, [&](std::int64_t r, std::int64_t first, std::int64_t count) {
        m_kernels.sigmoidGate(floatRow(x, r) + first, floatRow(gate, r) + first, count);
    });
}

void CpuBackend::swiglu(Tensor gate, Tensor up, Tensor out) {
    CHECK(isF32(gate) && isF32(up) && isF32(out) && sameShape(gate, up) && sameShape(gate, out));
    forPieces(out.rows, out.columns, [&](std::int64_t r, std::int64_t first, std::int64_t count) {
        m_kernels.swiglu(floatRow(gate, r) + first, floatRow(up, r) + first, count,
                         floatRow(out, r) + first);
    });
}

void CpuBackend::gelu(Tensor x) {
    CHECK(isF32(x));
    forPieces(x.rows, x.columns, [&](std::int64_t r, std::int64_t first, std::int64_t count) {
        m_kernels.gelu(floatRow(x, r) + first, count);
    });
}

void CpuBackend::add(Tensor x, Tensor y) {
    CHECK(isF32(x) && isF32(y) && x.columns == y.columns && (y.rows == x.rows || y.rows == 1));
    forPieces(x.rows, x.columns, [&](std::int64_t r, std::int64_t first, std::int64_t count) {
        m_kernels.add(floatRow(x, r) + first, floatRow(y, y.rows == 1 ? 0 : r) + first, count);
    });
}

void CpuBackend::softcap(Tensor z, float scale, float cap) {
    CHECK(isF32(z));
    forPieces(z.rows, z.columns, [&](std::int64_t r, std::int64_t first, std::int64_t count) {
        m_kernels.softcap(floatRow(z, r) + first, scale, cap, count);
    });
}

void CpuBackend::argmax(Tensor z, Tensor ids) {
    CHECK(isF32(z) && ids.type == ElementType::I32 && ids.rows == z.rows);
    forRows(z.rows, z.columns, [&](std::int64_t r) {
        *intRow(ids, r) = static_cast<std::int32_t>(m_kernels.argmax(floatRow(z, r), z.columns));
    });
}

void CpuBackend::largest(Tensor z, Tensor values, Tensor ids) {
    CHECK(isF32(z) && isF32(values) && ids.type == ElementType::I32 && values.rows == z.rows &&
          ids.rows == z.rows && ids.columns == values.columns && values.columns > 0 &&
          values.columns <= std::min<std::int64_t>(kMaxTop, z.columns));
    const auto count = static_cast<std::size_t>(values.columns);
    forRows(z.rows, z.columns, [&](std::int64_t r) {
        struct Entry {
            float value;
            std::int32_t id;
        };
        const auto before = [](const Entry& a, const Entry& b) {
            return a.value != b.value ? a.value > b.value : a.id < b.id;
        };
        const float* row = floatRow(z, r);
        const auto entry = [row](std::int64_t i) {
            const float value =
                std::isnan(row[i]) ? -std::numeric_limits<float>::infinity() : row[i];
            return Entry{value, static_cast<std::int32_t>(i)};
        };
        // One pass with the best so far in a heap, the worst of them on top: almost every value is
        // dismissed by one comparison.
        std::array<Entry, kMaxTop> best;
        const auto end = best.begin() + std::ptrdiff_t(count);
        for (std::size_t i = 0; i < count; ++i) best[i] = entry(std::int64_t(i));
        std::make_heap(best.begin(), end, before);
        for (std::int64_t i = values.columns; i < z.columns; ++i) {
            const Entry next = entry(i);
            if (!before(next, best.front())) continue;
            std::pop_heap(best.begin(), end, before);
            *(end - 1) = next;
            std::push_heap(best.begin(), end, before);
        }
        std::sort_heap(best.begin(), end, before);
        for (std::size_t i = 0; i < count; ++i) {
            floatRow(values, r)[i] = best[i].value;
            intRow(ids, r)[i] = best[i].id;
        }
    });
}

} // namespace engine
