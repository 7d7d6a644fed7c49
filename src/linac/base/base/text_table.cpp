#include "linac/base/base/text_table.h"

#include <algorithm>

#include "linac/base/base/terminal_text.h"
#include "linac/base/base/utf8.h"

namespace linac {

std::string lined_up(TextRows rows, size_t indent) {
  std::vector<size_t> widths;
  for (auto& row : rows) {
    std::ranges::transform(row, row.begin(), one_line);
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], utf8_width(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < row.size(); ++i) line += row[i] + std::string(widths[i] - utf8_width(row[i]) + 2, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace linac
