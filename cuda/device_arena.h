#pragma once
// DeviceArena: memory of the card for weights. The driver gives memory out in steps of 2 MiB, which
// would cost some hundred MiB over a whole model. So weights lie one behind the other in a range of
// addresses, and memory is put behind the range as it fills: a matrix begins in what the one before
// it left. A part of memory goes back when all that lie in it have gone.
//
// Where the driver cannot do that, every piece is an allocation of its own.
//
// Engine thread.

#include "cuda/handles.h"

#include <cstdint>
#include <memory>
#include <string_view>

namespace cuda {

class DeviceArena {
public:
    class Part; // of memory, behind a part of a range

    // Keeps its memory alive: it lies in one part, or begins in one and ends in the next.
    struct Piece {
        std::shared_ptr<const Part> first, second;
        CUdeviceptr address = 0; // 256-byte aligned
        std::byte* data() const { return reinterpret_cast<std::byte*>(address); }
    };

    // OutOfMemory with `what`, the size and what is free.
    engine::Result<Piece> take(Context& context, std::int64_t bytes, std::string_view what);

private:
    class Range;
    engine::Result<Piece> takeAlone(Context& context, std::int64_t bytes, std::string_view what);
    engine::Result<void> makeRange(Context& context, std::int64_t bytes);

    std::shared_ptr<Range> m_range;
    std::weak_ptr<const Part> m_last; // expired: its room has gone with it
    // Of m_range: where the next piece begins, and where memory ends.
    std::int64_t m_next = 0, m_end = 0;
};

} // namespace cuda
