#pragma once
// Pieces of HTML. Pure, thread-safe.

#include <string>
#include <string_view>

namespace linac::report {

/// Text as the content of an element or of an attribute in double quotes.
std::string escape(std::string_view text);

/// <name attributes>content</name>; `attributes` as they stand in the tag, `content` as HTML.
std::string element(std::string_view name, std::string_view attributes, std::string_view content);

/// "data:image/png;base64,..."
std::string data_uri(std::string_view png);

}  // namespace linac::report
