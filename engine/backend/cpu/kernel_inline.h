#pragma once
// KERNEL_INLINE: for the small functions of kernels. Left to itself a compiler makes calls of some, with
// registers passed through memory, which costs up to a factor of five.

#if defined(_MSC_VER)
#define KERNEL_INLINE __forceinline
#else
#define KERNEL_INLINE inline __attribute__((always_inline))
#endif
