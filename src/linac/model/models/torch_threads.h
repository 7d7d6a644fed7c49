#pragma once
// The number of threads LibTorch uses for one operation, without its headers.

namespace linac::models {

/// For the calling thread, and as the default of threads that start later. The first call of a process also makes the
/// libraries underneath choose their kernels, before threads could do so at once.
void use_threads(int threads);

/// "2.11.0"
const char* torch_version();

}  // namespace linac::models
