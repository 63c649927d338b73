#pragma once
// DeviceArena: memory of the card for weights. The driver gives it out in steps of 2 MiB; what a
// large matrix leaves of its last step serves small ones, which saves some hundred MiB over a whole
// model. Memory goes back when all pieces of a block have gone.
//
// Engine thread.

#include "cuda/handles.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace cuda {

class DeviceArena {
public:
    // Keeps its block alive.
    struct Piece {
        std::shared_ptr<const DeviceBuffer> block;
        CUdeviceptr address = 0; // 256-byte aligned
        std::byte* data() const { return reinterpret_cast<std::byte*>(address); }
    };

    engine::Result<Piece> take(Context& context, std::int64_t bytes, std::string_view what) {
        const std::int64_t needed = roundUp(bytes, kAlignment);
        std::erase_if(m_rooms, [](const Room& room) { return room.block.expired(); });
        for (Room& room : m_rooms) {
            auto block = room.block.lock();
            if (block->bytes() - room.used < needed) continue;
            const CUdeviceptr address = block->address() + CUdeviceptr(room.used);
            room.used += needed;
            return Piece{std::move(block), address};
        }
        auto made = DeviceBuffer::make(context, roundUp(needed, kStep), what);
        if (!made) return made.error();
        auto block = std::make_shared<const DeviceBuffer>(std::move(*made));
        m_rooms.push_back({block, needed});
        return Piece{block, block->address()};
    }

private:
    static constexpr std::int64_t kAlignment = 256;
    static constexpr std::int64_t kStep = std::int64_t(2) << 20;
    static constexpr std::int64_t roundUp(std::int64_t value, std::int64_t step) {
        return (value + step - 1) / step * step;
    }
    struct Room {
        std::weak_ptr<const DeviceBuffer> block;
        std::int64_t used = 0;
    };
    std::vector<Room> m_rooms;
};

} // namespace cuda
