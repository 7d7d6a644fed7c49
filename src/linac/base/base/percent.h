#pragma once
// Percent-encoding of URLs (RFC 3986). Thread-safe.

#include <optional>
#include <string>
#include <string_view>

namespace linac {

/// Decodes %XX, and '+' as space if `plus_is_space`. Nothing for a broken escape, or if the result is no valid text.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);
/// Everything but unreserved characters as %XX; slashes too, unless they are to part a path.
std::string percent_encoded(std::string_view text, bool keep_slashes = false);

/// A name as one part of a path, and back: other characters than letters, digits and -._~ as =XX. Nothing for a part
/// that is no such name.
std::string name_as_folder(std::string_view name);
std::optional<std::string> folder_as_name(std::string_view folder);

}  // namespace linac
