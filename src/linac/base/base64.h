#pragma once
// Bytes as base64 (RFC 4648), with padding. Thread-safe.

#include <string>
#include <string_view>

namespace linac {

std::string base64(std::string_view bytes);

}  // namespace linac
