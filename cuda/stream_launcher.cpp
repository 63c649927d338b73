#include "cuda/stream_launcher.h"

#include "engine/base/check.h"

#include <algorithm>
#include <string>

namespace cuda {

using engine::Error;
using engine::ErrorCode;
using engine::Result;

StreamLauncher::StreamLauncher(Context& context, const CardLimits& limits)
    : m_context(context), m_capability(context.computeCapability()),
      m_sharedBytes(context.sharedBytesPerBlock()), m_overlap(context.computeCapability() >= 90) {
    if (limits.computeCapability > 0)
        m_capability = std::min(m_capability, limits.computeCapability);
    if (limits.sharedBytesPerBlock > 0)
        m_sharedBytes = std::min(m_sharedBytes, limits.sharedBytesPerBlock);
}

Result<std::unique_ptr<StreamLauncher>> StreamLauncher::make(Context& context,
                                                             std::span<const KernelImage> images,
                                                             const CardLimits& limits) {
    std::unique_ptr<StreamLauncher> launcher(new StreamLauncher(context, limits));
    auto stream = makeStream(context);
    if (!stream) return stream.error();
    launcher->m_stream = std::move(*stream);
    if (auto loaded = launcher->loadImages(images); !loaded) return loaded.error();
    if (auto found = launcher->findKernels(images); !found) return found.error();
    if (auto limited = launcher->limitStack(); !limited) return limited.error();
    return launcher;
}

Result<void> StreamLauncher::loadImages(std::span<const KernelImage> images) {
    const Driver& driver = m_context.driver();
    for (const KernelImage& image : images) {
        CUmodule module = nullptr;
        const CUresult loaded = driver.cuModuleLoadData(&module, image.bytes.data());
        if (loaded == CUDA_ERROR_NO_BINARY_FOR_GPU ||
            loaded == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
            const int capability = m_context.computeCapability();
            return Error{ErrorCode::Unsupported,
                         "this program has no code for the graphics card " + m_context.cardName() +
                             " (compute capability " + std::to_string(capability / 10) + "." +
                             std::to_string(capability % 10) + ")"};
        }
        if (loaded != CUDA_SUCCESS)
            return driver.error(loaded, "loading the kernels " + std::string(image.name));
        m_modules.push_back({m_context, module});
    }
    return {};
}

Result<void> StreamLauncher::findKernels(std::span<const KernelImage> images) {
    const Driver& driver = m_context.driver();
    for (std::size_t i = 0; i < m_functions.size(); ++i) {
        const KernelInfo& info = kernelInfo(KernelId(i));
        const auto image = std::find_if(images.begin(), images.end(), [&](const KernelImage& each) {
            return each.name == info.image;
        });
        if (image == images.end())
            return Error{ErrorCode::Internal, "the image of the kernel " + std::string(info.name) +
                                                  " is not in this program"};
        CUfunction function = nullptr;
        const CUmodule module = m_modules[std::size_t(image - images.begin())].get();
        const std::string name(info.name);
        if (driver.cuModuleGetFunction(&function, module, name.c_str()) != CUDA_SUCCESS)
            return Error{ErrorCode::Internal,
                         "the kernel " + name + " is not in this program's images"};
        int own = 0, bytes = info.sharedBytes;
        const CUresult asked =
            driver.cuFuncGetAttribute(&own, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
        if (asked != CUDA_SUCCESS) return driver.error(asked, "asking what kernels need");
        if (bytes == kAllShared) bytes = m_sharedBytes - own;
        if (bytes > m_sharedBytes) continue;
        if (bytes > 0) {
            const CUresult set = driver.cuFuncSetAttribute(
                function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
            if (set != CUDA_SUCCESS) return driver.error(set, "preparing the kernel " + name);
        }
        // The same division of a multiprocessor's memory for all: it cannot change while a kernel
        // is there, so kernels with different ones would not overlap.
        const CUresult divided = driver.cuFuncSetAttribute(
            function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100);
        if (divided != CUDA_SUCCESS) return driver.error(divided, "preparing the kernel " + name);
        // Drivers load code when it is first used; that must not happen while a graph is recorded.
        if (driver.cuFuncLoad) {
            const CUresult ready = driver.cuFuncLoad(function);
            if (ready != CUDA_SUCCESS) return driver.error(ready, "loading the kernel " + name);
        }
        m_functions[i] = function;
    }
    return {};
}

// The driver keeps a stack for every thread that the card can hold at once. Kernels that call
// nothing need only what the compiler spilled. Taken here and not by the first launch of such a
// kernel, which may come when the card is full.
Result<void> StreamLauncher::limitStack() {
    const Driver& driver = m_context.driver();
    int most = 0;
    for (const CUfunction function : m_functions) {
        int bytes = 0;
        if (!function) continue;
        const CUresult asked =
            driver.cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function);
        if (asked != CUDA_SUCCESS) return driver.error(asked, "asking what kernels need");
        most = std::max(most, bytes);
    }
    const CUresult set = driver.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, std::size_t(most));
    if (set != CUDA_SUCCESS) return driver.error(set, "preparing the kernels");
    return {};
}

void StreamLauncher::launch(KernelId kernel, const LaunchShape& shape, const void* args,
                            std::size_t) {
    if (m_context.failed()) return;
    const KernelInfo& info = kernelInfo(kernel);
    const CUfunction function = m_functions[std::size_t(kernel)];
    // The families ask for no more shared memory than the card has.
    CHECK(function && int(shape.sharedBytes) <= std::min(info.sharedBytes, m_sharedBytes));

    CUlaunchAttribute overlap = {};
    overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    overlap.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config = {};
    config.gridDimX = shape.gridX;
    config.gridDimY = shape.gridY;
    config.gridDimZ = shape.gridZ;
    config.blockDimX = shape.threads;
    config.blockDimY = 1;
    config.blockDimZ = 1;
    config.sharedMemBytes = shape.sharedBytes;
    config.hStream = m_stream.get();
    if (m_overlap && !m_finishFirst) {
        config.attrs = &overlap;
        config.numAttrs = 1;
    }
    m_finishFirst = false;
    void* parameters[] = {const_cast<void*>(args)};
    const CUresult started =
        m_context.faults().failLaunch()
            ? CUDA_ERROR_LAUNCH_FAILED
            : m_context.driver().cuLaunchKernelEx(&config, function, parameters, nullptr);
    if (started != CUDA_SUCCESS) m_context.check(started, "starting " + std::string(info.name));
}

} // namespace cuda
