#pragma once
// Patterns of a shell in a store that lists one level of its names at a time.

#include <functional>
#include <string>
#include <vector>

namespace linac::storage {

/// Names below a prefix up to the next slash, with the prefix.
struct Level {
  std::vector<std::string> files;
  std::vector<std::string> folders;  // with a slash at their end
};

bool is_pattern(const std::string& text);
/// The names that match, sorted: `*`, `?` and `[...]` stand for characters within one level, a leading dot for itself.
/// Only folders whose names fit are listed. `list` is asked for what begins with a folder and the start of a name.
std::vector<std::string> match_levels(const std::string& pattern,
                                      const std::function<Level(const std::string& prefix)>& list);

}  // namespace linac::storage
