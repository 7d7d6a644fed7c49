#pragma once
// The machine that this process runs on. Thread-safe.

#include <string>

namespace linac {

/// As people know it; "unknown" if it has no name.
std::string host_name();
/// GiB of its memory.
double host_memory_gib();

/// "Intel(R) Xeon(R) ..."; "processor not known" where the kernel does not tell.
const std::string& processor_name();

}  // namespace linac
