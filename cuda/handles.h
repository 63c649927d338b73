#pragma once
// What the driver lends, each as a small move-only class that gives it back. All borrow the
// Context, which outlives them. Engine thread.

#include "cuda/context.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace cuda {

// A handle with the function of the driver that ends it.
template<class Handle, class Ends> class Owned {
public:
    Owned() = default;
    Owned(Context& context, Handle handle) : m_context(&context), m_handle(handle) {}
    Owned(Owned&& other) noexcept { swap(other); }
    Owned& operator=(Owned&& other) noexcept {
        Owned moved(std::move(other));
        swap(moved);
        return *this;
    }
    ~Owned() {
        if (m_handle) Ends::end(m_context->driver(), m_handle);
    }

    Handle get() const { return m_handle; }
    explicit operator bool() const { return bool(m_handle); }

private:
    void swap(Owned& other) noexcept {
        std::swap(m_context, other.m_context);
        std::swap(m_handle, other.m_handle);
    }
    Context* m_context = nullptr;
    Handle m_handle = {};
};

struct EndStream {
    static void end(const Driver& driver, CUstream stream) { driver.cuStreamDestroy(stream); }
};
struct EndEvent {
    static void end(const Driver& driver, CUevent event) { driver.cuEventDestroy(event); }
};
struct EndModule {
    static void end(const Driver& driver, CUmodule module) { driver.cuModuleUnload(module); }
};
struct EndGraph {
    static void end(const Driver& driver, CUgraph graph) { driver.cuGraphDestroy(graph); }
};
struct EndGraphExec {
    static void end(const Driver& driver, CUgraphExec graph) { driver.cuGraphExecDestroy(graph); }
};
struct EndDeviceMemory {
    static void end(const Driver& driver, CUdeviceptr data) { driver.cuMemFree(data); }
};
struct EndPinnedMemory {
    static void end(const Driver& driver, std::byte* data) { driver.cuMemFreeHost(data); }
};

using Stream = Owned<CUstream, EndStream>;
using Event = Owned<CUevent, EndEvent>;
using Module = Owned<CUmodule, EndModule>;
using Graph = Owned<CUgraph, EndGraph>;
using GraphExec = Owned<CUgraphExec, EndGraphExec>;

// Memory of the card.
class DeviceBuffer {
public:
    DeviceBuffer() = default;
    // OutOfMemory with `what`, the size and what is free. What lies in it is not said.
    static engine::Result<DeviceBuffer> make(Context& context, std::int64_t bytes,
                                             std::string_view what) {
        CUdeviceptr data = 0;
        const CUresult taken = context.faults().failAllocation()
                                   ? CUDA_ERROR_OUT_OF_MEMORY
                                   : context.driver().cuMemAlloc(&data, std::size_t(bytes));
        if (taken == CUDA_ERROR_OUT_OF_MEMORY) return context.outOfMemory(what, bytes);
        if (taken != CUDA_SUCCESS) return context.driver().error(taken, what);
        DeviceBuffer buffer;
        buffer.m_memory = {context, data};
        buffer.m_bytes = bytes;
        return buffer;
    }
    CUdeviceptr address() const { return m_memory.get(); }
    std::byte* data() const { return reinterpret_cast<std::byte*>(m_memory.get()); }
    std::int64_t bytes() const { return m_bytes; }
    explicit operator bool() const { return bool(m_memory); }

private:
    Owned<CUdeviceptr, EndDeviceMemory> m_memory;
    std::int64_t m_bytes = 0;
};

// Memory of the computer that never moves, so that the card copies from and to it by itself, and
// that kernels can read.
class PinnedBuffer {
public:
    PinnedBuffer() = default;
    static engine::Result<PinnedBuffer> make(Context& context, std::int64_t bytes,
                                             std::string_view what) {
        void* data = nullptr;
        const CUresult taken = context.faults().failAllocation()
                                   ? CUDA_ERROR_OUT_OF_MEMORY
                                   : context.driver().cuMemHostAlloc(&data, std::size_t(bytes),
                                                                     CU_MEMHOSTALLOC_DEVICEMAP);
        if (taken == CUDA_ERROR_OUT_OF_MEMORY) {
            return engine::Error{engine::ErrorCode::OutOfMemory,
                                 std::string(what) + ": needs " +
                                     std::to_string((bytes + (1 << 20) - 1) >> 20) +
                                     " MiB of the computer's memory, which are not free"};
        }
        if (taken != CUDA_SUCCESS) return context.driver().error(taken, what);
        PinnedBuffer buffer;
        buffer.m_memory = {context, static_cast<std::byte*>(data)};
        buffer.m_bytes = bytes;
        CUdeviceptr device = 0;
        const CUresult mapped = context.driver().cuMemHostGetDevicePointer(&device, data, 0);
        if (mapped != CUDA_SUCCESS) return context.driver().error(mapped, what);
        buffer.m_device = device;
        return buffer;
    }
    std::byte* data() const { return m_memory.get(); }
    CUdeviceptr deviceAddress() const { return m_device; } // the same memory, as kernels see it
    std::int64_t bytes() const { return m_bytes; }
    explicit operator bool() const { return bool(m_memory); }

private:
    Owned<std::byte*, EndPinnedMemory> m_memory;
    CUdeviceptr m_device = 0;
    std::int64_t m_bytes = 0;
};

inline engine::Result<Stream> makeStream(Context& context) {
    CUstream stream = nullptr;
    const CUresult made = context.driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (made != CUDA_SUCCESS) return context.driver().error(made, "making a queue of the card");
    return Stream(context, stream);
}

inline engine::Result<Event> makeEvent(Context& context) {
    CUevent event = nullptr;
    const CUresult made = context.driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    if (made != CUDA_SUCCESS) return context.driver().error(made, "making an event of the card");
    return Event(context, event);
}

} // namespace cuda
