#pragma once
// KERNEL_INLINE: for the small functions of kernels. Left to itself a compiler makes calls of some,
// with registers passed through memory, which costs up to a factor of five. Under the sanitizers
// speed is not the point, and inlining everything takes minutes to compile.

#if defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define GLINT_SANITIZED 1
#    endif
#elif defined(__SANITIZE_ADDRESS__)
#    define GLINT_SANITIZED 1
#endif

#if defined(_MSC_VER)
#    define KERNEL_INLINE __forceinline
#elif defined(GLINT_SANITIZED)
#    define KERNEL_INLINE inline
#else
#    define KERNEL_INLINE inline __attribute__((always_inline))
#endif
