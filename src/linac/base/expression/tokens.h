#pragma once
// The words of an expression's text. Pure, thread-safe.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace linac::expression {

enum class TokenKind { kNumber, kName, kQuotedName, kSymbol, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  size_t place = 0;  // in the text, bytes
  std::string text = {};
  double number = 0;
};

struct Expression;

/// The last one is kEnd. `whole` has the text, and fails.
std::vector<Token> tokens_of(const Expression& whole);

}  // namespace linac::expression
