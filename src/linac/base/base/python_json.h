#pragma once
// JSON that a Python program of somebody else wrote. Pure, thread-safe.

#include <limits>
#include <string>
#include <string_view>

namespace linac {

inline constexpr int kAnyDepth = std::numeric_limits<int>::max();

/// `text` with Python's NaN, Infinity and -Infinity outside texts as texts, which JSON has. Data error where it is
/// deeper than `depth_max`: each copy of such a document goes down the stack as deep.
std::string plain_json(std::string_view text, int depth_max = 64);

}  // namespace linac
