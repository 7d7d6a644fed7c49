#pragma once
// For loops of element-wise float work: the compiler makes one for each instruction set, and the processor's best one
// is called. All give the same bits, since nothing is fused (-ffp-contract=off).

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define LINAC_FLOAT_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define LINAC_FLOAT_CLONES
#endif
