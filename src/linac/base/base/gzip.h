#pragma once
// Bytes as gzip (RFC 1952), without a time: the same bytes give the same. Thread-safe.

#include <string>
#include <string_view>

namespace linac {

std::string gzip(std::string_view bytes);

}  // namespace linac
