#pragma once
// Places the working tensors of a model one after the other in one buffer. The placing function
// runs twice: without memory, to learn the size, then with the buffer.

#include "engine/backend/backend.h"

#include <algorithm>
#include <utility>

namespace engine {

class BufferLayout {
public:
    explicit BufferLayout(const Buffer* memory = nullptr) : m_memory(memory) {}

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

} // namespace engine
