#pragma once
// Names that the books make up. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <string>

namespace linac::catalog {

/// `digits` hexadecimal digits from the system's secure random numbers.
std::string random_hex(size_t digits);
/// Like "calm-shower-417".
std::string random_run_name();

}  // namespace linac::catalog
