#pragma once
// "Did you mean": the candidate closest to a mistyped word. Pure, thread-safe.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace linac {

/// The candidate with the smallest edit distance to `word`, if it is near enough to be a likely slip (at most a third
/// of the word's letters, at least 2 changes allowed); else the shortest that holds it, of five letters or more. Upper
/// case, `_`, `-` and blanks make no difference: MeanSquaredError is near to mean_squared_error.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace linac
