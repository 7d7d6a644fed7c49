#pragma once
// Tables on a terminal. Pure, thread-safe.

#include <cstddef>
#include <string>
#include <vector>

namespace linac {

using TextRows = std::vector<std::vector<std::string>>;

/// Columns lined up, two spaces apart; UTF-8. A row is a line, whatever is in it (terminal_text.h).
std::string lined_up(TextRows rows, size_t indent = 0);

}  // namespace linac
