#pragma once
// Whether bytes are UTF-8, and how wide it is. Pure, thread-safe.

#include <cstddef>
#include <string>
#include <string_view>

namespace linac {

/// Length of the UTF-8 sequence at the start of `text`, which is not empty, by RFC 3629; 0 if there is none.
size_t utf8_length(std::string_view text);
/// Where the first byte is that is NUL or not UTF-8; npos if there is none.
size_t find_no_text(std::string_view text);
/// Whether `text` is UTF-8 without NUL.
bool valid_text(std::string_view text);
/// `text` with what is not printable ASCII replaced by '?', cut at 200 bytes: strangers' words in messages.
std::string printable(std::string_view text);
/// Letters, not bytes: what UTF-8 text takes on a terminal.
size_t utf8_width(std::string_view text);

}  // namespace linac
