#pragma once
// Tables on a terminal. Pure, thread-safe.

#include <cstddef>
#include <string>
#include <vector>

namespace linac {

using TextRows = std::vector<std::vector<std::string>>;

/// Columns lined up, two spaces apart; UTF-8.
std::string lined_up(const TextRows& rows, size_t indent = 0);

}  // namespace linac
