#pragma once
// Names in URLs, where other signs stand as %XX (RFC 3986). Pure, thread-safe.

#include <string>
#include <string_view>

namespace linac::storage {

/// Everything but letters, digits and "-._~" as %XX; a slash stays if it is to.
enum class Slash { kStays, kEscaped };
std::string percent_encoded(std::string_view text, Slash slash);
/// What is no %XX stays as it is.
std::string percent_decoded(std::string_view text);

}  // namespace linac::storage
