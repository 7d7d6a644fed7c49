#pragma once
// The end of a kernel that did what it may not.

namespace linac::cuda_emulation {

/// Ends the launch that runs; the words, as printf takes them, follow "block ..., thread ...: ". Outside of kernels it
/// ends the process. A fibre's stack is left as it is: no destructors. No std::string in a caller either: the linker
/// may have chosen the functions of one whose accesses are watched.
[[noreturn]] void fault(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace linac::cuda_emulation
