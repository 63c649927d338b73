#pragma once
// Places the working tensors of a model one after the other in one buffer. The placing function
// runs twice: without memory, to learn the size, then with the buffer. Models that never work at
// the same time may use the same memory.

#include "engine/backend/backend.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

namespace engine {

class BufferLayout {
public:
    explicit BufferLayout(const Buffer* memory = nullptr, std::int64_t start = 0)
        : m_memory(memory), m_offset(start) {}

    // Without memory the result is empty.
    Tensor add(ElementType type, std::int64_t rows, std::int64_t columns) {
        const std::int64_t offset = m_offset;
        const std::int64_t bytes = elementBytes(type, columns) * rows;
        m_offset += (bytes + kAlignment - 1) / kAlignment * kAlignment;
        m_end = std::max(m_end, m_offset);
        return m_memory ? m_memory->tensor(type, rows, columns, offset) : Tensor{};
    }

    std::int64_t offset() const { return m_offset; }
    // Later tensors take the memory from `offset` on again.
    void goBackTo(std::int64_t offset) { m_offset = offset; }
    std::int64_t bytes() const { return m_end; }

private:
    static constexpr std::int64_t kAlignment = 256;
    const Buffer* m_memory;
    std::int64_t m_offset = 0;
    std::int64_t m_end = 0;
};

// Allocates what `place(layout)` asks for and lets it set its tensors.
template<class Place>
Result<Buffer> allocateLayout(Backend& backend, std::string_view what, Place&& place) {
    BufferLayout measure;
    place(measure);
    auto memory = backend.allocate(measure.bytes(), what);
    if (!memory) return memory.error();
    BufferLayout layout(&*memory);
    place(layout);
    return memory; // moving a Buffer keeps its address
}

// Working memory of several models, of which those of one phase work by turns with those of the
// other: what a phase left is gone when the next one comes. Models of the same phase lie one behind
// the other. It outlives the models that place their tensors in it.
class SharedMemory {
public:
    enum class Phase { Words, Pictures };
    using Place = std::function<void(BufferLayout&)>;

    // `place` is called now, to learn the size, and from allocate, with memory.
    void add(Phase phase, Place place) {
        BufferLayout measure;
        place(measure);
        std::int64_t& end = m_ends[std::size_t(phase)];
        m_parts.push_back({end, std::move(place)});
        end += measure.bytes();
    }
    Result<void> allocate(Backend& backend, std::string_view what) {
        auto memory = backend.allocate(std::max(m_ends[0], m_ends[1]), what);
        if (!memory) return memory.error();
        m_memory = std::move(*memory);
        for (const Part& part : m_parts) {
            BufferLayout layout(&m_memory, part.offset);
            part.place(layout);
        }
        m_parts.clear();
        return {};
    }
    std::int64_t bytes() const { return m_memory.bytes(); }

private:
    struct Part {
        std::int64_t offset = 0;
        Place place;
    };
    std::vector<Part> m_parts;
    std::array<std::int64_t, 2> m_ends{}; // by phase
    Buffer m_memory;
};

// Memory for what `place` asks for: its own, which is returned, or in `shared` when that is
// allocated.
inline Result<Buffer> allocateOrShare(Backend& backend, std::string_view what, SharedMemory* shared,
                                      SharedMemory::Phase phase, SharedMemory::Place place) {
    if (!shared) return allocateLayout(backend, what, place);
    shared->add(phase, std::move(place));
    return Buffer();
}

} // namespace engine
