#pragma once
// StreamLauncher: the Launcher of a backend. It holds every kernel of the table and the compute
// stream on which they run.
//
// Engine thread.

#include "cuda/handles.h"
#include "cuda/kernel_images.h"
#include "cuda/launcher.h"

#include <array>
#include <memory>
#include <vector>

namespace cuda {

// What the card is taken for, for tests; 0: what it is.
struct CardLimits {
    int computeCapability = 0;
    int sharedBytesPerBlock = 0;
};

class StreamLauncher final : public Launcher {
public:
    // Loads the images and looks up every kernel. Unsupported, in words, when the images have no
    // code for this card; Internal when a kernel of the table is not in its image.
    static engine::Result<std::unique_ptr<StreamLauncher>>
    make(Context& context, std::span<const KernelImage> images, const CardLimits& limits);

    int multiprocessors() const override { return m_context.multiprocessors(); }
    int computeCapability() const override { return m_capability; }
    int sharedBytesPerBlock() const override { return m_sharedBytes; }

    CUstream stream() const { return m_stream.get(); }
    // The next kernel starts when everything before it has finished. For after copies, and after
    // weights have been written, which kernels fetch before they wait.
    void finishBeforeNext() { m_finishFirst = true; }

protected:
    void launch(KernelId kernel, const LaunchShape& shape, const void* args,
                std::size_t argBytes) override;

private:
    StreamLauncher(Context& context, const CardLimits& limits);
    engine::Result<void> loadImages(std::span<const KernelImage> images);
    engine::Result<void> findKernels(std::span<const KernelImage> images);
    engine::Result<void> limitStack();

    Context& m_context;
    int m_capability = 0;
    int m_sharedBytes = 0;
    bool m_overlap = false; // programmatic launches
    bool m_finishFirst = false;
    Stream m_stream;
    std::vector<Module> m_modules; // by image
    // By KernelId. Null: the kernel wants more shared memory than a block of this card has; its
    // family takes a smaller variant there.
    std::array<CUfunction, std::size_t(KernelId::kCount)> m_functions{};
};

} // namespace cuda
