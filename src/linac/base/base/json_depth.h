#pragma once
// How deep a JSON text is nested, before it is parsed: what walks over a document, or copies it, goes down the stack as
// deep. Pure, thread-safe.

#include <string_view>

namespace linac {

/// The most brackets open at a time, those within texts apart.
int json_depth(std::string_view text);

}  // namespace linac
