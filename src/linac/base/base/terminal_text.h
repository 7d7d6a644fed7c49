#pragma once
// Others' words on a terminal: characters that move its cursor, erase what stands there, turn the direction of writing
// or begin a line of their own would let a name or a reason show what is not so. Thread-safe.

#include <string>
#include <string_view>

namespace linac {

/// Where the first character is that steers what shows the text: of C0 and C1, DEL, separators of lines and paragraphs,
/// embeddings and overrides of direction (Unicode, Bidi_Control); npos if there is none, as in a good name.
size_t find_steering(std::string_view text);

/// `text` as a part of one line: what steers, and what is not UTF-8, replaced by '?'.
std::string one_line(std::string_view text);
/// `text` of lines: the same, but for line ends and tabs; a lone '\r' begins a new line, and colours (SGR) go.
std::string plain_lines(std::string_view text);

/// From now on standard output passes through plain_lines() if it is a terminal: whatever a verb prints. Call it once,
/// first of all.
void keep_terminal_plain();

}  // namespace linac
