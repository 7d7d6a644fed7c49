#pragma once
// Keys that an object of a JSON text has twice: of two values of a key, readers take one or the other. Pure,
// thread-safe.

#include <optional>
#include <string>
#include <string_view>

namespace linac {

struct DoubledKey {
  std::string key;
  int first = 1, second = 1;  // lines
  /// "the key 'a' is there twice, in line 1 and again in line 3".
  std::string words() const;
};

/// The first of them; nothing for a text without, and perhaps for one that is no JSON.
std::optional<DoubledKey> doubled_key(std::string_view json);

}  // namespace linac
