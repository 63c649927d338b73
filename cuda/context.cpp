#include "cuda/context.h"

#include "engine/base/log.h"

namespace cuda {

using engine::Error;
using engine::ErrorCode;
using engine::Result;

namespace {

std::string mebibytes(std::int64_t bytes) {
    return std::to_string((bytes + (std::int64_t(1) << 20) - 1) >> 20) + " MiB";
}

} // namespace

Context::Context(const Driver& driver, FaultPlan* faults)
    : m_driver(driver), m_faults(faults ? faults : &m_ownFaults) {}

Result<std::unique_ptr<Context>> Context::make(int device, FaultPlan* faults) {
    auto driver = Driver::open();
    if (!driver) return driver.error();
    std::unique_ptr<Context> context(new Context(**driver, faults));
    if (auto opened = context->open(device); !opened) return opened.error();
    return context;
}

Result<int> Context::attribute(CUdevice_attribute which) const {
    int value = 0;
    const CUresult asked = m_driver.cuDeviceGetAttribute(&value, which, m_device);
    if (asked != CUDA_SUCCESS) return m_driver.error(asked, "asking what the graphics card can do");
    return value;
}

Result<void> Context::open(int device) {
    int cards = 0;
    if (CUresult r = m_driver.cuDeviceGetCount(&cards); r != CUDA_SUCCESS)
        return m_driver.error(r, "counting the graphics cards");
    if (device >= cards)
        return Error{ErrorCode::Unsupported, "there is no NVIDIA graphics card in this computer"};
    if (CUresult r = m_driver.cuDeviceGet(&m_device, device); r != CUDA_SUCCESS)
        return m_driver.error(r, "opening the graphics card");
    char name[256] = {};
    if (m_driver.cuDeviceGetName(name, int(sizeof(name)) - 1, m_device) == CUDA_SUCCESS)
        m_cardName = name;

    auto major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    auto minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    auto processors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    auto shared = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    auto maps = attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
    for (const auto* asked : {&major, &minor, &processors, &shared, &maps})
        if (!*asked) return asked->error();
    m_capability = *major * 10 + *minor;
    m_multiprocessors = *processors;
    m_sharedBytes = *shared;
    m_mapsMemory = *maps != 0;
    if (m_capability < kOldestCapability) {
        return Error{ErrorCode::Unsupported,
                     "the graphics card " + m_cardName + " is too old: it has compute capability " +
                         std::to_string(*major) + "." + std::to_string(*minor) +
                         ", and this program needs " + std::to_string(kOldestCapability / 10) +
                         "." + std::to_string(kOldestCapability % 10)};
    }
    std::size_t total = 0;
    if (CUresult r = m_driver.cuDeviceTotalMem(&total, m_device); r != CUDA_SUCCESS)
        return m_driver.error(r, "asking for the graphics card's memory");
    m_totalBytes = std::int64_t(total);

    unsigned flags = 0;
    int inUse = 0; // by a backend or a probe that came before
    if (CUresult r = m_driver.cuDevicePrimaryCtxGetState(m_device, &flags, &inUse);
        r != CUDA_SUCCESS)
        return m_driver.error(r, "opening the graphics card " + m_cardName);
    if (CUresult r = m_driver.cuDevicePrimaryCtxRetain(&m_context, m_device); r != CUDA_SUCCESS) {
        m_context = nullptr;
        return m_driver.error(r, "opening the graphics card " + m_cardName);
    }
    // Pushed and popped, so that two backends on one thread leave each other's in place.
    if (CUresult r = m_driver.cuCtxPushCurrent(m_context); r != CUDA_SUCCESS)
        return m_driver.error(r, "opening the graphics card " + m_cardName);
    m_pushed = true;
    // 1 KiB for every thread that the card can hold at once, which is 264 MiB on 132
    // multiprocessors, until kernels say what they need.
    if (!inUse) m_driver.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 0);
    return {};
}

Context::~Context() {
    CUcontext popped = nullptr;
    if (m_pushed) m_driver.cuCtxPopCurrent(&popped);
    if (m_context) m_driver.cuDevicePrimaryCtxRelease(m_device);
}

std::int64_t Context::freeBytes() const {
    std::size_t free = 0, total = 0;
    if (m_driver.cuMemGetInfo(&free, &total) != CUDA_SUCCESS) return 0;
    return std::int64_t(free);
}

void Context::fail(Error error) {
    if (m_error) return;
    engine::log(engine::LogLevel::Error, error.message);
    m_error = std::move(error);
}

bool Context::check(CUresult result, std::string_view doing) {
    if (result == CUDA_SUCCESS) return true;
    Error error = m_driver.error(result, doing);
    error.code = ErrorCode::Device; // backend.h: what fails while working
    fail(std::move(error));
    return false;
}

Error Context::outOfMemory(std::string_view what, std::int64_t bytes) const {
    return {ErrorCode::OutOfMemory, std::string(what) + ": needs " + mebibytes(bytes) + ", and " +
                                        mebibytes(freeBytes()) + " of the graphics card are free"};
}

} // namespace cuda
