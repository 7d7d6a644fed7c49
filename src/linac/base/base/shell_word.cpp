#include "linac/base/base/shell_word.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace linac {
namespace {

bool is_plain(char letter) {
  constexpr std::string_view kPlain = "/._-+:=,@%";
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || kPlain.find(letter) != std::string_view::npos;
}

}  // namespace

std::string shell_word(const std::string& text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return text;
  std::string word = "'";
  for (const char letter : text) {
    if (letter == '\'')
      word += "'\\''";  // end the quotes, one quote, begin them again
    else
      word += letter;
  }
  return word + "'";
}

}  // namespace linac
