#pragma once
// The machine that this process runs on. Thread-safe.

#include <string>

namespace linac {

/// As people know it; "unknown" if it has no name.
std::string host_name();
/// GiB of its memory.
double host_memory_gib();

}  // namespace linac
