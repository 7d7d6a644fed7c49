#pragma once
// The number of threads LibTorch uses for one operation, without its headers.

namespace linac::models {

/// For the calling thread, and as the default of threads that start later.
void use_threads(int threads);

/// "2.11.0"
const char* torch_version();

}  // namespace linac::models
