#include "cuda/host_copies.h"

#include "engine/base/check.h"

#include <algorithm>
#include <cstring>

namespace cuda {

using engine::Result;
using engine::Tensor;

namespace {

// `rows` rows of `bytes`, `stride` apart in the card; without gaps on the host.
CUDA_MEMCPY2D rowsBetween(CUdeviceptr device, std::int64_t stride, std::byte* host,
                          std::int64_t rows, std::int64_t bytes, bool in) {
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = in ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = in ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    copy.srcHost = in ? host : nullptr;
    copy.dstHost = in ? nullptr : host;
    copy.srcDevice = in ? 0 : device;
    copy.dstDevice = in ? device : 0;
    copy.srcPitch = std::size_t(in ? bytes : stride);
    copy.dstPitch = std::size_t(in ? stride : bytes);
    copy.WidthInBytes = std::size_t(bytes);
    copy.Height = std::size_t(rows);
    return copy;
}

} // namespace

Result<HostCopies> HostCopies::make(Context& context, CUstream stream) {
    HostCopies copies;
    copies.m_context = &context;
    copies.m_stream = stream;
    auto in = PinnedBuffer::make(context, 2 * kHalfBytes, "memory for copies");
    if (!in) return in.error();
    copies.m_in = std::move(*in);
    auto out = PinnedBuffer::make(context, kHalfBytes, "memory for copies");
    if (!out) return out.error();
    copies.m_out = std::move(*out);
    for (Event& event : copies.m_halfRead) {
        auto made = makeEvent(context);
        if (!made) return made.error();
        event = std::move(*made);
    }
    return copies;
}

// Calls part(device address, stride, rows, bytes of a row) in the order of the host's bytes.
template<class Part> void HostCopies::eachPart(const Tensor& tensor, Part&& part) {
    const auto device = reinterpret_cast<CUdeviceptr>(tensor.data);
    std::int64_t rows = tensor.rows, bytes = tensor.rowBytes(), stride = tensor.strideBytes;
    if (stride == bytes) { // one long row
        bytes *= rows;
        stride = bytes;
        rows = 1;
    }
    if (bytes == 0 || rows == 0) return;
    if (bytes <= kHalfBytes) {
        const std::int64_t most = kHalfBytes / bytes;
        for (std::int64_t row = 0; row < rows; row += most)
            part(device + CUdeviceptr(row * stride), stride, std::min(most, rows - row), bytes);
        return;
    }
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t first = 0; first < bytes; first += kHalfBytes) {
            const std::int64_t count = std::min(kHalfBytes, bytes - first);
            part(device + CUdeviceptr(row * stride + first), count, 1, count);
        }
}

// Pinned memory that the card will read in the order of the stream.
std::byte* HostCopies::room(std::int64_t bytes) {
    if (m_used + bytes > kHalfBytes) {
        const Driver& driver = m_context->driver();
        const Event& full = m_halfRead[std::size_t(m_half)];
        if (!m_context->check(driver.cuEventRecord(full.get(), m_stream), "copying to the card"))
            return nullptr;
        m_half = 1 - m_half;
        m_used = 0;
        const Event& next = m_halfRead[std::size_t(m_half)];
        if (!m_context->check(driver.cuEventSynchronize(next.get()), "copying to the card"))
            return nullptr;
    }
    std::byte* at = m_in.data() + m_half * kHalfBytes + m_used;
    m_used += (bytes + 255) / 256 * 256;
    return at;
}

void HostCopies::copyIn(std::span<const std::byte> host, const Tensor& to) {
    CHECK(std::int64_t(host.size()) == to.rows * to.rowBytes());
    const std::byte* from = host.data();
    eachPart(to,
             [&](CUdeviceptr device, std::int64_t stride, std::int64_t rows, std::int64_t bytes) {
                 std::byte* pinned = m_context->failed() ? nullptr : room(rows * bytes);
                 if (!pinned) return;
                 std::memcpy(pinned, from, std::size_t(rows * bytes));
                 from += rows * bytes;
                 const CUDA_MEMCPY2D copy = rowsBetween(device, stride, pinned, rows, bytes, true);
                 const Driver& driver = m_context->driver();
                 m_context->check(rows == 1 ? driver.cuMemcpyHtoDAsync(device, pinned,
                                                                       std::size_t(bytes), m_stream)
                                            : driver.cuMemcpy2DAsync(&copy, m_stream),
                                  "copying to the card");
             });
}

void HostCopies::copyOut(const Tensor& from, std::span<std::byte> host) {
    CHECK(std::int64_t(host.size()) == from.rows * from.rowBytes());
    std::byte* to = host.data();
    eachPart(from, [&](CUdeviceptr device, std::int64_t stride, std::int64_t rows,
                       std::int64_t bytes) {
        if (m_context->failed()) return;
        const Driver& driver = m_context->driver();
        const CUDA_MEMCPY2D copy = rowsBetween(device, stride, m_out.data(), rows, bytes, false);
        const bool copied =
            m_context->check(rows == 1 ? driver.cuMemcpyDtoHAsync(m_out.data(), device,
                                                                  std::size_t(bytes), m_stream)
                                       : driver.cuMemcpy2DAsync(&copy, m_stream),
                             "copying from the card") &&
            m_context->check(driver.cuStreamSynchronize(m_stream), "computing");
        if (!copied) return;
        std::memcpy(to, m_out.data(), std::size_t(rows * bytes));
        to += rows * bytes;
    });
}

} // namespace cuda
