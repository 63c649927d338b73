#pragma once
// HostCopies: rows between the computer's memory and the card's, through pinned memory. Copies in
// return at once and happen in the order of the stream; copies out wait.
//
// Engine thread.

#include "cuda/handles.h"
#include "engine/backend/tensor.h"

#include <array>
#include <cstdint>
#include <span>

namespace cuda {

class HostCopies {
public:
    static engine::Result<HostCopies> make(Context& context, CUstream stream);

    // Rows without gaps on the host. Failures are remembered by the context.
    void copyIn(std::span<const std::byte> host, const engine::Tensor& to);
    void copyOut(const engine::Tensor& from, std::span<std::byte> host);

private:
    static constexpr std::int64_t kHalfBytes = std::int64_t(2) << 20;
    // A part of a copy that fits half a buffer: rows of rowBytes, or a piece of one row.
    template<class Part> static void eachPart(const engine::Tensor& tensor, Part&& part);
    std::byte* room(std::int64_t bytes);

    Context* m_context = nullptr;
    CUstream m_stream = nullptr;
    PinnedBuffer m_in; // two halves, filled in turns
    PinnedBuffer m_out;
    std::array<Event, 2> m_halfRead; // the card has read this half
    int m_half = 0;
    std::int64_t m_used = 0; // of the half in hand
};

} // namespace cuda
