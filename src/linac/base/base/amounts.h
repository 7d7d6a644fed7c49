#pragma once
// Durations and sizes as people write them in options and settings. Pure, thread-safe.

#include <cstdint>
#include <string>

namespace linac {

/// "90", "90s", "30m", "12h", "2d" in seconds. User error that begins with `where` for anything else.
int64_t seconds_of(const std::string& where, const std::string& text);

/// "512", "512M", "16G" in MB. User error as above.
int64_t megabytes_of(const std::string& where, const std::string& text);

}  // namespace linac
