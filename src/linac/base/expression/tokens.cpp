#include "linac/base/expression/tokens.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "linac/base/base/utf8.h"
#include "linac/base/expression/expression.h"

namespace linac::expression {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Longer ones first.
constexpr std::array<std::string_view, 21> kSymbols = {"&&", "||", "==", "!=", "<=", ">=", "**", "<", ">", "+", "-",
                                                       "*",  "/",  "!",  "(",  ")",  "[",  "]",  ",", ":", "%"};

/// What others write for it.
std::string hint_for(std::string_view rest) {
  if (rest.starts_with("&") || rest.starts_with("|")) return fmt::format("; write {0}{0}", rest.front());
  if (rest.starts_with("=")) return "; compare with ==";
  if (rest.starts_with("^")) return "; a power is x ** y";
  if (rest.starts_with("~")) return "; not is !";
  if (rest.starts_with("?")) return "; choose by where(condition, a, b)";
  if (rest.starts_with("'") || rest.starts_with("\""))
    return "; texts are not compared, and a column's name that is no plain word stands in backticks";
  return "";
}

class Lexer {
 public:
  explicit Lexer(const Expression& whole) : whole_(whole), text_(whole.text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    while (true) {
      while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
      if (at_ == text_.size()) break;
      tokens.push_back(next());
    }
    tokens.push_back({.kind = TokenKind::kEnd, .place = text_.size()});
    return tokens;
  }

 private:
  Token next() {
    const char c = text_[at_];
    const bool number = is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]));
    if (number) return number_here();
    if (is_letter(c)) return name_here();
    if (c == '`') return quoted_here();
    const std::string_view rest = std::string_view(text_).substr(at_);
    for (const std::string_view symbol : kSymbols) {
      if (!rest.starts_with(symbol)) continue;
      if (symbol == "%") whole_.fail(at_, "'%' is no operator", "; fmod(x, y) has the sign of x");
      const Token token{.kind = TokenKind::kSymbol, .place = at_, .text = std::string(symbol)};
      at_ += symbol.size();
      return token;
    }
    whole_.fail(at_, fmt::format("'{}' means nothing here", printable(rest.substr(0, 1))), hint_for(rest));
  }

  Token number_here() {
    Token token{.kind = TokenKind::kNumber, .place = at_};
    const char* const begin = text_.data() + at_;
    const auto [end, failure] = std::from_chars(begin, text_.data() + text_.size(), token.number);
    at_ += static_cast<size_t>(end - begin);
    token.text.assign(begin, end);
    if (failure != std::errc() || !std::isfinite(token.number)) whole_.fail(token.place, "a number beyond float64");
    if (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_])))
      whole_.fail(at_, "a letter follows a number", "; a column that begins with a digit stands in backticks");
    return token;
  }

  // Branches of ROOT's trees have points in their names.
  Token name_here() {
    const size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]) ||
                                  (text_[at_] == '.' && at_ + 1 < text_.size() && is_letter(text_[at_ + 1]))))
      ++at_;
    return {.kind = TokenKind::kName, .place = begin, .text = text_.substr(begin, at_ - begin)};
  }

  Token quoted_here() {
    const size_t begin = at_, end = text_.find('`', begin + 1);
    if (end == std::string::npos) whole_.fail(begin, "a name in backticks does not end");
    if (end == begin + 1) whole_.fail(begin, "a name is empty");
    at_ = end + 1;
    return {.kind = TokenKind::kQuotedName, .place = begin, .text = text_.substr(begin + 1, end - begin - 1)};
  }

  const Expression& whole_;
  const std::string& text_;
  size_t at_ = 0;
};

}  // namespace

std::vector<Token> tokens_of(const Expression& whole) {
  return Lexer(whole).run();
}

}  // namespace linac::expression
