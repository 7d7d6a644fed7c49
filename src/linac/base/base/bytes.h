#pragma once
// Sizes as people write and read them. Pure, thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace linac {

/// "512 B", "1.5 KiB", "12 GiB".
std::string format_bytes(int64_t bytes);

/// Of "1073741824", "1.5GiB", "10 TiB". Nothing for what is no number above 0 and for other units. What is larger than
/// any disk becomes 2^60.
std::optional<int64_t> parse_bytes(std::string_view text);

}  // namespace linac
