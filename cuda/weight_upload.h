#pragma once
// WeightUpload: the way of weights from a mapped file into the card. Several threads read the file
// into a ring of pinned memory, the copy stream takes it to a ring of the same size in the card,
// and a kernel on the compute stream brings it into its final layout from there, all at the same
// time.
//
// It exists while weights are loaded; its memory is given back with it. Engine thread; the readers
// work inside send and read only.

#include "cuda/handles.h"
#include "engine/base/thread_pool.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace cuda {

class WeightUpload {
public:
    static constexpr std::int64_t kPieceBytes = std::int64_t(8) << 20;

    static engine::Result<std::unique_ptr<WeightUpload>> make(Context& context, CUstream compute);
    ~WeightUpload();
    WeightUpload(const WeightUpload&) = delete;
    WeightUpload& operator=(const WeightUpload&) = delete;

    // A piece of the source that has arrived in the card: `first` and `bytes` within the source.
    struct Piece {
        CUdeviceptr data = 0; // 256-byte aligned; free again after what use() launches
        std::int64_t first = 0;
        std::int64_t bytes = 0;
    };
    // Sends the source in pieces of whole grains (the last may be shorter) and calls use(piece) for
    // each, which starts what reads it on the compute stream. When it returns the source has been
    // read; the rest happens in the order of the compute stream. A grain is at most kPieceBytes.
    // Failures are remembered by the context.
    void send(std::span<const std::byte> source, std::int64_t grainBytes,
              const std::function<void(const Piece&)>& use);

    // Reads into memory of the computer.
    void read(std::span<const std::byte> source, std::byte* to);

private:
    static constexpr int kSlots = 4;
    struct Slot {
        Event arrived; // the copy has left the pinned memory
        Event used;    // the kernel has read the card's memory
    };

    WeightUpload(Context& context, CUstream compute);
    engine::Result<void> makeParts();

    Context& m_context;
    CUstream m_compute;
    engine::ThreadPool m_readers;
    PinnedBuffer m_pinned; // kSlots pieces, as the next
    DeviceBuffer m_device;
    Stream m_copy;
    std::array<Slot, kSlots> m_slots;
    int m_next = 0;
};

} // namespace cuda
