#pragma once
// Bytes as base64 (RFC 4648). Thread-safe.

#include <optional>
#include <string>
#include <string_view>

namespace linac {

/// With padding.
std::string base64(std::string_view bytes);

/// With or without padding; nothing if it is no base64.
std::optional<std::string> base64_decoded(std::string_view text);

}  // namespace linac
