#include "engine/runtime/picture_rows.h"

#include "engine/model/image_patches.h"
#include "engine/model/vision_model.h"

#include <algorithm>

namespace engine {

bool PictureRows::has(const ImageSlot& slot) const {
    return std::any_of(m_entries.begin(), m_entries.end(), [&](const Entry& entry) {
        return entry.key == slot.key && entry.tokens == slot.tokens;
    });
}

Result<Tensor> PictureRows::rows(const ImageSlot& slot, std::stop_token stop) {
    for (auto it = m_entries.begin(); it != m_entries.end(); ++it) {
        if (it->key != slot.key || it->tokens != slot.tokens) continue;
        m_entries.splice(m_entries.begin(), m_entries, it);
        return m_entries.front().rows;
    }
    if (!m_vision) {
        return Error{ErrorCode::Unsupported,
                     "the conversation has a picture, and the vision part is not loaded"};
    }
    if (!slot.image)
        return Error{ErrorCode::Internal, "a picture of the conversation has no pixels"};

    const VisionSpec& spec = m_vision->spec();
    const PixelSize size =
        gridSize({slot.image->width, slot.image->height}, spec.cellPixels(), spec.maxCells);
    if (imageTokens({slot.image->width, slot.image->height}, spec) != slot.tokens) {
        return Error{ErrorCode::Internal,
                     "the place of a picture in the conversation has another size"};
    }
    auto encoded = m_vision->encode(cutPatches(resampleLanczos(*slot.image, size), spec), stop);
    if (!encoded) return encoded.error();
    if (encoded->rows != slot.tokens) {
        return Error{ErrorCode::Internal, "a picture became another number of rows than expected"};
    }

    Entry entry;
    entry.key = slot.key;
    entry.tokens = slot.tokens;
    const std::int64_t bytes = encoded->rows * encoded->rowBytes();
    while (!m_entries.empty() && m_bytes + bytes > m_most) {
        m_bytes -= m_entries.back().memory.bytes();
        m_entries.pop_back();
    }
    auto memory = m_backend.allocate(bytes, "rows of a picture");
    if (!memory) return memory.error();
    entry.memory = std::move(*memory);
    entry.rows = entry.memory.tensor(ElementType::F32, encoded->rows, encoded->columns);
    m_backend.copy(*encoded, entry.rows);
    m_bytes += entry.memory.bytes();
    m_entries.push_front(std::move(entry));
    return m_entries.front().rows;
}

} // namespace engine
