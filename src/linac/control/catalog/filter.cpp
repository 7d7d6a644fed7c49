#include "linac/control/catalog/filter.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "linac/base/base/refusal.h"
#include "linac/control/catalog/connection.h"

namespace linac::catalog {
namespace {

enum class TokenKind { kWord, kQuotedName, kText, kNumber, kSymbol, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  // quotes removed
  char quote = 0;
  size_t at = 0;
};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '/' ||
         c == '-' || c == ':' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool same_word(std::string_view a, std::string_view upper) {
  if (a.size() != upper.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if ((a[i] >= 'a' && a[i] <= 'z' ? a[i] - 'a' + 'A' : a[i]) != upper[i]) return false;
  return true;
}

[[noreturn]] void refuse(size_t at, const std::string& found, const std::string& wanted) {
  throw Refusal(RefusalKind::kInvalid,
                fmt::format("[filter] position {}: found {}; wanted is {}", at + 1, found, wanted));
}

std::string shown(const Token& token) {
  if (token.kind == TokenKind::kEnd) return "the end";
  std::string text = token.text.substr(0, 40);
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();  // a cut letter
  return fmt::format("'{}{}'", text, text.size() < token.text.size() ? "..." : "");
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    Token token;
    token.at = at_;
    if (at_ == text_.size()) return token;
    const char c = text_[at_];
    if (c == '\'' || c == '"' || c == '`') {
      quoted(token, c);
    } else if (is_digit(c) || ((c == '-' || c == '+' || c == '.') && at_ + 1 < text_.size() &&
                               (is_digit(text_[at_ + 1]) || text_[at_ + 1] == '.'))) {
      number_or_word(token);
    } else if (is_word(c)) {
      token.kind = TokenKind::kWord;
      while (at_ < text_.size() && is_word(text_[at_])) token.text += text_[at_++];
    } else {
      symbol(token);
    }
    return token;
  }

 private:
  void quoted(Token& token, char quote) {
    token.kind = quote == '`' ? TokenKind::kQuotedName : TokenKind::kText;
    token.quote = quote;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == quote) {
        if (at_ + 1 == text_.size() || text_[at_ + 1] != quote) {
          ++at_;
          return;
        }
        ++at_;  // twice: the quote itself
      }
      token.text += text_[at_];
    }
    refuse(token.at, "a quote that is not closed", fmt::format("{} at its end", quote));
  }

  void number_or_word(Token& token) {
    const size_t begin = at_;
    ++at_;
    while (at_ < text_.size() &&
           (is_word(text_[at_]) || text_[at_] == '.' ||
            ((text_[at_] == '+' || text_[at_] == '-') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))))
      ++at_;
    token.text = text_.substr(begin, at_ - begin);
    token.kind = TokenKind::kNumber;
  }

  void symbol(Token& token) {
    token.kind = TokenKind::kSymbol;
    token.text = text_[at_++];
    const char c = token.text[0];
    const char second = at_ < text_.size() ? text_[at_] : '\0';
    if (((c == '!' || c == '<' || c == '>' || c == '=') && second == '=') || (c == '<' && second == '>')) {
      token.text += second;
      ++at_;
    }
    if (std::string_view("()=<>,.!").find(c) == std::string_view::npos || token.text == "!")
      refuse(token.at, fmt::format("'{}'", token.text), "a field, a value, a comparison or a parenthesis");
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::optional<Value> number_of(const std::string& text) {
  const char* begin = text.data() + (text[0] == '+' ? 1 : 0);
  const char* end = text.data() + text.size();
  int64_t integer = 0;
  if (const auto [at, error] = std::from_chars(begin, end, integer); error == std::errc() && at == end) return integer;
  double number = 0;
  if (const auto [at, error] = std::from_chars(begin, end, number);
      error == std::errc() && at == end && std::isfinite(number))
    return number;
  return std::nullopt;
}

struct Prefix {
  std::string_view word;
  FieldKind kind;
};
constexpr std::array kPrefixes{Prefix{"METRIC", FieldKind::kMetric},
                               Prefix{"METRICS", FieldKind::kMetric},
                               Prefix{"PARAM", FieldKind::kParameter},
                               Prefix{"PARAMS", FieldKind::kParameter},
                               Prefix{"PARAMETER", FieldKind::kParameter},
                               Prefix{"PARAMETERS", FieldKind::kParameter},
                               Prefix{"TAG", FieldKind::kTag},
                               Prefix{"TAGS", FieldKind::kTag},
                               Prefix{"ATTR", FieldKind::kAttribute},
                               Prefix{"ATTRIBUTE", FieldKind::kAttribute},
                               Prefix{"ATTRIBUTES", FieldKind::kAttribute},
                               Prefix{"RUN", FieldKind::kAttribute},
                               Prefix{"DATASET", FieldKind::kDataSet},
                               Prefix{"DATASETS", FieldKind::kDataSet}};

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) { advance(); }

  std::unique_ptr<Filter> whole() {
    if (token_.kind == TokenKind::kEnd) return nullptr;
    auto filter = alternatives(0);
    if (token_.kind != TokenKind::kEnd) refuse(token_.at, shown(token_), "AND, OR or the end");
    return filter;
  }

  Order order() {
    Order order{field()};
    if (word("DESC"))
      order.descending = true;
    else
      word("ASC");
    if (token_.kind != TokenKind::kEnd) refuse(token_.at, shown(token_), "ASC, DESC or the end");
    return order;
  }

 private:
  void advance() { token_ = lexer_.next(); }
  bool word(std::string_view upper) {
    if (token_.kind != TokenKind::kWord || !same_word(token_.text, upper)) return false;
    advance();
    return true;
  }
  bool symbol(std::string_view text) {
    if (token_.kind != TokenKind::kSymbol || token_.text != text) return false;
    advance();
    return true;
  }

  std::unique_ptr<Filter> alternatives(int depth) { return list(depth, "OR", Filter::Kind::kOr); }
  std::unique_ptr<Filter> list(int depth, std::string_view between, Filter::Kind kind) {
    const auto part = [&] { return kind == Filter::Kind::kOr ? list(depth, "AND", Filter::Kind::kAnd) : one(depth); };
    auto first = part();
    if (token_.kind != TokenKind::kWord || !same_word(token_.text, between)) return first;
    auto all = std::make_unique<Filter>();
    all->kind = kind;
    all->parts.push_back(std::move(first));
    while (word(between)) all->parts.push_back(part());
    return all;
  }

  std::unique_ptr<Filter> one(int depth) {
    if (depth > kFilterDepthMax)
      refuse(token_.at, "too many levels",
             fmt::format("{} parentheses and NOT in each other at most", kFilterDepthMax));
    if (word("NOT")) {
      auto filter = std::make_unique<Filter>();
      filter->kind = Filter::Kind::kNot;
      filter->parts.push_back(one(depth + 1));
      return filter;
    }
    if (symbol("(")) {
      auto filter = alternatives(depth + 1);
      if (!symbol(")")) refuse(token_.at, shown(token_), "')', AND or OR");
      return filter;
    }
    return comparison();
  }

  std::string name() {
    const bool quoted =
        token_.kind == TokenKind::kQuotedName || (token_.kind == TokenKind::kText && token_.quote == '"');
    if (!quoted && token_.kind != TokenKind::kWord && token_.kind != TokenKind::kNumber)
      refuse(token_.at, shown(token_), "the name of a field, e.g. metrics.auc, params.`learning rate`, status");
    std::string text = std::move(token_.text);
    advance();
    // metrics.val.loss is the metric 'val.loss', as MLflow has it.
    while (!quoted && token_.kind == TokenKind::kSymbol && token_.text == ".") {
      advance();
      if (token_.kind != TokenKind::kWord && token_.kind != TokenKind::kNumber)
        refuse(token_.at, shown(token_), "a name after the dot");
      text.append(".").append(token_.text);
      advance();
    }
    if (text.empty()) refuse(token_.at, "an empty name", "the name of a field");
    return text;
  }

  Field field() {
    if (token_.kind == TokenKind::kWord) {
      const Token first = token_;
      for (const Prefix& prefix : kPrefixes) {
        if (!same_word(first.text, prefix.word)) continue;
        advance();
        if (symbol(".")) return {prefix.kind, name()};
        return {FieldKind::kAttribute, first.text};
      }
    }
    const size_t at = token_.at;
    std::string text = name();
    if (text.find('.') != std::string::npos)
      refuse(at, fmt::format("'{}'", text.substr(0, text.find('.') + 1)),
             "metrics., params., tags., attributes. or datasets. before the dot");
    return {FieldKind::kAttribute, std::move(text)};
  }

  std::unique_ptr<Filter> comparison() {
    if (++conditions_ > kConditionsMax)
      refuse(token_.at, "one condition more", fmt::format("{} conditions at most", kConditionsMax));
    auto filter = std::make_unique<Filter>();
    filter->field = field();
    const size_t at = token_.at;
    if (word("IS")) {
      const bool negated = word("NOT");
      if (!word("NULL")) refuse(token_.at, shown(token_), "NULL or NOT NULL");
      filter->comparison = negated ? Comparison::kIsNotNull : Comparison::kIsNull;
      return filter;
    }
    const bool negated = word("NOT");
    if (word("IN")) {
      filter->comparison = negated ? Comparison::kNotIn : Comparison::kIn;
      values(*filter);
      return filter;
    }
    if (negated) refuse(token_.at, shown(token_), "IN after NOT");
    filter->comparison = comparator(at);
    filter->values.push_back(value());
    return filter;
  }

  Comparison comparator(size_t at) {
    struct Sign {
      std::string_view text;
      Comparison comparison;
    };
    static constexpr std::array kSigns{Sign{"=", Comparison::kEqual},     Sign{"==", Comparison::kEqual},
                                       Sign{"!=", Comparison::kNotEqual}, Sign{"<>", Comparison::kNotEqual},
                                       Sign{"<", Comparison::kLess},      Sign{"<=", Comparison::kLessEqual},
                                       Sign{">", Comparison::kGreater},   Sign{">=", Comparison::kGreaterEqual}};
    for (const Sign& sign : kSigns)
      if (symbol(sign.text)) return sign.comparison;
    if (word("LIKE")) return Comparison::kLike;
    if (word("ILIKE")) return Comparison::kILike;
    refuse(at, shown(token_), "=, !=, <, <=, >, >=, LIKE, ILIKE, IN, NOT IN, IS NULL or IS NOT NULL");
  }

  Value value() {
    std::optional<Value> found;
    if (token_.kind == TokenKind::kText) found = token_.text;
    if (token_.kind == TokenKind::kNumber) found = number_of(token_.text);
    if (!found) refuse(token_.at, shown(token_), "a number, or a text in quotes");
    if (++values_ > kValuesMax) refuse(token_.at, "one value more", fmt::format("{} values at most", kValuesMax));
    advance();
    return *found;
  }

  void values(Filter& filter) {
    if (!symbol("(")) refuse(token_.at, shown(token_), "'(' after IN");
    do filter.values.push_back(value());
    while (symbol(","));
    if (!symbol(")")) refuse(token_.at, shown(token_), "',' or ')'");
  }

  Lexer lexer_;
  Token token_;
  int conditions_ = 0, values_ = 0;
};

void check_whole(std::string_view text) {
  if (text.size() > kFilterBytesMax)
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[filter] has {} bytes; {} are the most", text.size(), kFilterBytesMax));
  check_text(text);
}

}  // namespace

std::unique_ptr<Filter> parse_filter(std::string_view text) {
  check_whole(text);
  return Parser(text).whole();
}

Order parse_order(std::string_view text) {
  check_whole(text);
  return Parser(text).order();
}

}  // namespace linac::catalog
