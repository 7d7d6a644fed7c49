#include "linac/base/base/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

namespace linac {
namespace {

// Levenshtein distance, one row at a time.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

// "BinaryCrossentropy" and "binary-crossentropy" as "binarycrossentropy".
std::string letters_of(std::string_view word) {
  std::string letters;
  for (const char c : word)
    if (c != '_' && c != '-' && c != ' ') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  const std::string wanted = letters_of(word);
  const size_t allowed = std::max<size_t>(2, wanted.size() / 3);
  std::optional<std::string> best, holds_it;
  size_t best_distance = allowed + 1;
  for (const std::string& candidate : candidates) {
    const std::string letters = letters_of(candidate);
    const size_t distance = edit_distance(wanted, letters);
    if (distance < best_distance && distance < letters.size()) {
      best_distance = distance;
      best = candidate;
    }
    if (wanted.size() >= 5 && letters.find(wanted) != std::string::npos &&
        (!holds_it || candidate.size() < holds_it->size()))
      holds_it = candidate;
  }
  return best ? best : holds_it;
}

}  // namespace linac
