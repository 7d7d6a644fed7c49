#pragma once
// The instruction sets that the kernels are built for, and which of them this process uses. Immutable after the first
// call, thread-safe.
//
// kAvx2 and kAvx512 give the same bits, and kNeon is written to give them too: all use fused multiply-add in the same
// order per event. kGeneric rounds after each multiplication and so differs in the last bits.

namespace linac::kernels {

enum class Isa { kGeneric, kNeon, kAvx2, kAvx512 };

/// Of all processors, best first.
inline constexpr Isa kIsas[] = {Isa::kAvx512, Isa::kAvx2, Isa::kNeon, Isa::kGeneric};

const char* to_string(Isa isa);

/// Whether this processor has it.
bool has_isa(Isa isa);

/// The best one of this processor, or a lower one named by the environment variable LINAC_ISA (generic, neon, avx2,
/// avx512). User error for another name, environment error if the processor lacks the one asked for.
Isa best_isa();

}  // namespace linac::kernels
