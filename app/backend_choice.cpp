#include "app/backend_choice.h"

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/base/memory_info.h"

#include <QCoreApplication>

namespace app {

using engine::Result;

Result<std::unique_ptr<engine::Backend>> makeBackend(const BackendWish& wish) {
    engine::CpuOptions options;
    options.threads = wish.threads;
    Result<std::unique_ptr<engine::CpuBackend>> backend = engine::CpuBackend::make(options);
    if (!backend.ok()) return backend.error();
    return std::unique_ptr<engine::Backend>(std::move(backend.value()));
}

engine::MemoryState memoryToUse() {
    const engine::MemoryInfo info = engine::memoryInfo();
    return {info.freeBytes, info.totalBytes};
}

QString placeSentence() {
    return QCoreApplication::translate("BackendChoice", "Everything runs on your processor.");
}

} // namespace app
