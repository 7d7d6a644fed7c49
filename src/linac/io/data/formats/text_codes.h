#pragma once
// A column of texts as numbers: each different text of a file has its place in a list, in the order in which they come.
// What the texts mean is said later (text_classes.h), so jobs with other classes share what was packed. Not
// thread-safe.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace linac::data {

/// More different texts are no classes, but names or numbers of events.
inline constexpr size_t kDifferentTextsMax = 10'000;
inline constexpr size_t kTextBytesMax = 1024;

/// One of the texts of a column in a file.
struct StoredText {
  std::string text;
  int64_t events = 0;  // that have it
  int64_t first = 0;   // the first of them
};

class TextCodes {
 public:
  /// `file` and `column` are for messages.
  TextCodes(std::string file, std::string column) : file_(std::move(file)), column_(std::move(column)) {}

  /// The place of the text of `event`. Data error naming file, column and event for a text that is empty, not UTF-8 or
  /// longer than kTextBytesMax, and for one more than kDifferentTextsMax.
  float code(std::string_view text, int64_t event);
  [[noreturn]] void refuse(int64_t event, const std::string& what) const;

  const std::vector<StoredText>& texts() const { return texts_; }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::string file_, column_;
  std::vector<StoredText> texts_;
  std::unordered_map<std::string, size_t, Hash, std::equal_to<>> places_;
};

/// For messages: in quotes, without what is not printable, cut where it is long.
std::string shown_text(std::string_view text);

}  // namespace linac::data
