#include "tests/engine/gguf/allocation_counter.h"

#include <cstdlib>
#include <new>

namespace test {

std::atomic<std::size_t> allocatedBytes{0};

} // namespace test

// In a file of its own, so that no compiler sees malloc and operator delete meet in one function.
void* operator new(std::size_t size) {
    test::allocatedBytes += size;
    if (void* const memory = std::malloc(size ? size : 1)) return memory;
    throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    test::allocatedBytes += size;
    return std::malloc(size ? size : 1);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
