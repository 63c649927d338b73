#pragma once
// The embedding rows of pictures that were looked at, kept by key so that a picture in the history
// is not encoded again. Engine thread; the backend and the vision part outlive it.

#include "engine/backend/backend.h"
#include "engine/chat/prompt.h"

#include <list>
#include <stop_token>
#include <string>

namespace engine {

class VisionModel;

class PictureRows {
public:
    // most: bytes kept; the picture asked for last always stays.
    PictureRows(Backend& backend, VisionModel* vision, std::int64_t most)
        : m_backend(backend), m_vision(vision), m_most(most) {}

    bool has(const ImageSlot& slot) const;
    // F32 [slot.tokens, width], valid until the next call. Encodes the picture if its rows are not
    // here.
    Result<Tensor> rows(const ImageSlot& slot, std::stop_token stop);
    std::int64_t bytes() const { return m_bytes; }

private:
    struct Entry {
        std::string key;
        std::int64_t tokens = 0;
        Buffer memory;
        Tensor rows;
    };
    Backend& m_backend;
    VisionModel* m_vision = nullptr;
    std::int64_t m_most = 0;
    std::int64_t m_bytes = 0;
    std::list<Entry> m_entries; // last used first
};

} // namespace engine
