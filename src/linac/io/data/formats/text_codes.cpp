#include "linac/io/data/formats/text_codes.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/base/base/utf8.h"

namespace linac::data {

void TextCodes::refuse(int64_t event, const std::string& what) const {
  throw data_error(fmt::format("[data] {}: event {}: column '{}' {}", file_, event, column_, what));
}

float TextCodes::code(std::string_view text, int64_t event) {
  const auto known = places_.find(text);
  if (known != places_.end()) {
    ++texts_[known->second].events;
    return static_cast<float>(known->second);
  }
  if (text.empty()) refuse(event, "holds an empty text; remove the event, or write the name of its class");
  if (text.size() > kTextBytesMax) {
    refuse(event, fmt::format("holds a text of {} bytes, and the name of a class has at most {}; name another column",
                              text.size(), kTextBytesMax));
  }
  if (!valid_text(text)) refuse(event, fmt::format("holds bytes that are not UTF-8: {}", shown_text(text)));
  if (texts_.size() == kDifferentTextsMax) {
    refuse(event, fmt::format("holds {}, after {} other texts: these are no classes; name another column",
                              shown_text(text), kDifferentTextsMax));
  }
  const size_t place = texts_.size();
  texts_.push_back({std::string(text), 1, event});
  places_.emplace(text, place);
  return static_cast<float>(place);
}

std::string shown_text(std::string_view text) {
  constexpr size_t kShownBytes = 60;
  if (text.size() > kShownBytes) return shown_text(text.substr(0, kShownBytes - 3)) + "...";
  if (!valid_text(text)) return fmt::format("'{}'", printable(text));
  std::string shown;
  for (const char letter : text) shown += static_cast<unsigned char>(letter) < ' ' ? '?' : letter;
  return fmt::format("'{}'", shown);
}

}  // namespace linac::data
