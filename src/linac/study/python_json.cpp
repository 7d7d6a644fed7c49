#include "linac/study/python_json.h"

#include <fmt/format.h>

#include "linac/base/error.h"

namespace linac::study {
namespace {

constexpr size_t kDepthMax = 64;

}  // namespace

std::string plain_json(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  bool inside = false;
  size_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (inside && text[i] == '\\' && i + 1 < text.size()) {
      plain += text.substr(i++, 2);
      continue;
    }
    if (text[i] == '"') inside = !inside;
    bool found = false;
    if (!inside) {
      if ((text[i] == '[' || text[i] == '{') && ++depth > kDepthMax)
        throw data_error(fmt::format("it is deeper than {}", kDepthMax));
      if ((text[i] == ']' || text[i] == '}') && depth > 0) --depth;
      for (const std::string_view word : {"NaN", "-Infinity", "Infinity"})
        if (!found && text.substr(i, word.size()) == word) {
          plain += '"' + std::string(word) + '"';
          i += word.size() - 1;
          found = true;
        }
    }
    if (!found) plain += text[i];
  }
  return plain;
}

}  // namespace linac::study
