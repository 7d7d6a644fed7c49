#include "linac/base/base/json_depth.h"

#include <algorithm>

namespace linac {

int json_depth(std::string_view text) {
  int now = 0, deepest = 0;
  bool inside = false;  // a text
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inside && c == '\\')
      ++i;
    else if (c == '"')
      inside = !inside;
    else if (!inside && (c == '[' || c == '{'))
      deepest = std::max(deepest, ++now);
    else if (!inside && (c == ']' || c == '}') && now > 0)
      --now;
  }
  return deepest;
}

}  // namespace linac
