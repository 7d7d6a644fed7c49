#include "linac/base/base/python_json.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/base/base/json_depth.h"

namespace linac {

std::string plain_json(std::string_view text, int depth_max) {
  if (json_depth(text) > depth_max) throw data_error(fmt::format("it is deeper than {}", depth_max));
  std::string plain;
  plain.reserve(text.size());
  bool inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (inside && text[i] == '\\' && i + 1 < text.size()) {
      plain += text.substr(i++, 2);
      continue;
    }
    if (text[i] == '"') inside = !inside;
    bool found = false;
    for (const std::string_view word : {"NaN", "-Infinity", "Infinity"})
      if (!inside && !found && text.substr(i, word.size()) == word) {
        plain += '"' + std::string(word) + '"';
        i += word.size() - 1;
        found = true;
      }
    if (!found) plain += text[i];
  }
  return plain;
}

}  // namespace linac
