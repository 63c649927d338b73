#include "cuda/driver.h"

#include <mutex>
#include <optional>

#if defined(_WIN32)
#    include <windows.h>
#else
#    include <dlfcn.h>
#endif

namespace cuda {

using engine::Error;
using engine::ErrorCode;
using engine::Result;

namespace {

// A driver runs programs built with any release of its own major version.
constexpr int kNeededVersion = CUDA_VERSION / 1000 * 1000;

std::string versionText(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Never closed: the driver keeps threads of its own.
#if defined(_WIN32)
HMODULE openLibrary() {
    return LoadLibraryExW(L"nvcuda.dll", nullptr, LOAD_LIBRARY_SEARCH_SYSTEM32);
}
void* findSymbol(HMODULE library, const char* name) {
    return reinterpret_cast<void*>(GetProcAddress(library, name));
}
#else
void* openLibrary() {
    return dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
}
void* findSymbol(void* library, const char* name) {
    return dlsym(library, name);
}
#endif

// Expands the macros of cuda.h before making a text: cuMemAlloc becomes "cuMemAlloc_v2".
#define GLINT_TEXT_OF(name) #name
#define GLINT_TEXT(name) GLINT_TEXT_OF(name)

} // namespace

Result<void> Driver::load() {
    const auto library = openLibrary();
    if (!library) {
        m_nothingThere = true;
        return Error{ErrorCode::Unsupported, "there is no NVIDIA driver on this computer"};
    }
    const auto take = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
            findSymbol(library, name));
        return function != nullptr;
    };
    // The version first: an old driver lacks functions because it is old.
    if (take(cuDriverGetVersion, "cuDriverGetVersion") &&
        cuDriverGetVersion(&m_version) == CUDA_SUCCESS && m_version < kNeededVersion) {
        return Error{ErrorCode::Unsupported,
                     "the NVIDIA driver is too old: it knows CUDA " + versionText(m_version) +
                         ", and this program needs " + versionText(kNeededVersion)};
    }
    const char* missing = nullptr;
#define GLINT_DRIVER(function)                                                                     \
    if (!take(function, GLINT_TEXT(function)) && !missing) missing = GLINT_TEXT(function);
#define GLINT_DRIVER_OPTIONAL(function) take(function, GLINT_TEXT(function));
#include "cuda/driver_functions.inc"
#undef GLINT_DRIVER
#undef GLINT_DRIVER_OPTIONAL
    if (missing) {
        return Error{ErrorCode::Unsupported,
                     std::string("the NVIDIA driver has no ") + missing + "; it may be too old"};
    }
    const CUresult started = cuInit(0);
    if (started == CUDA_ERROR_NO_DEVICE) {
        m_nothingThere = true;
        return Error{ErrorCode::Unsupported, "there is no NVIDIA graphics card in this computer"};
    }
    if (started != CUDA_SUCCESS) return error(started, "starting the NVIDIA driver");
    return {};
}

Result<const Driver*> Driver::open() {
    static std::mutex mutex;
    static std::optional<Result<void>> outcome;
    const std::lock_guard lock(mutex);
    if (!outcome) outcome = instance().load();
    if (!outcome->ok()) return outcome->error();
    return &instance();
}

Driver& Driver::instance() {
    static Driver driver;
    return driver;
}

bool Driver::nothingThere() {
    return instance().m_nothingThere;
}

Error Driver::error(CUresult result, std::string_view doing) const {
    const char* text = nullptr;
    std::string message(doing);
    message += ": ";
    if (cuGetErrorString(result, &text) == CUDA_SUCCESS && text) {
        message += text;
    } else {
        message += "error " + std::to_string(int(result)) + " of the NVIDIA driver";
    }
    const bool memory = result == CUDA_ERROR_OUT_OF_MEMORY;
    return {memory ? ErrorCode::OutOfMemory : ErrorCode::Device, std::move(message)};
}

} // namespace cuda
