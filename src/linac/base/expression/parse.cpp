// Recursive descent, loosest first: ||  &&  comparison  + -  * /  - !  **  [ ]

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numbers>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/base/base/utf8.h"
#include "linac/base/expression/expression.h"
#include "linac/base/expression/tokens.h"

namespace linac::expression {
namespace {

constexpr double kPositionMax = 1e6;

std::string of(const Token& token) {
  return token.kind == TokenKind::kEnd ? "the end" : fmt::format("'{}'", printable(token.text));
}

class Parser {
 public:
  explicit Parser(Expression& out) : out_(out), tokens_(tokens_of(out)) {}

  void run() {
    any();
    if (here().kind != TokenKind::kEnd) out_.fail(here().place, fmt::format("{} is one too many", of(here())), hint());
  }

 private:
  /// Counts how deep the descent is.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kDepthMax)
        parser_.out_.fail(parser_.here().place, "it is nested too deeply", "; define a column for a part of it");
    }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  const Token& here() const { return tokens_[at_]; }
  bool is(std::string_view symbol) const { return here().kind == TokenKind::kSymbol && here().text == symbol; }
  bool take(std::string_view symbol) {
    if (!is(symbol)) return false;
    ++at_;
    return true;
  }
  void need(std::string_view symbol) {
    if (!take(symbol)) out_.fail(here().place, fmt::format("{} stands where '{}' should", of(here()), symbol), hint());
  }
  std::string hint() const {
    if (here().kind != TokenKind::kName) return "";
    if (here().text == "and") return "; write &&";
    if (here().text == "or") return "; write ||";
    if (here().text == "not") return "; write !";
    return "";
  }

  size_t add(Node node) {
    if (out_.nodes.size() == kNodesMax)
      out_.fail(node.place, fmt::format("it has more than {} parts", kNodesMax), "; define columns for some of them");
    out_.nodes.push_back(std::move(node));
    return out_.nodes.size() - 1;
  }

  size_t call(const Token& token, std::string_view name, std::vector<size_t> operands) {
    const Function* const function = find_function(name, static_cast<int>(operands.size()), true);
    LINAC_CHECK(function != nullptr);
    return add({.kind = NodeKind::kCall, .place = token.place, .function = function, .operands = std::move(operands)});
  }

  /// A chain of operators of one level, from the left.
  template <class Next>
  size_t chain(std::initializer_list<std::string_view> symbols, const Next& next) {
    size_t left = next();
    while (true) {
      const auto found = std::find_if(symbols.begin(), symbols.end(), [&](auto symbol) { return is(symbol); });
      if (found == symbols.end()) return left;
      const Token token = tokens_[at_++];
      const size_t right = next();
      left = call(token, token.text, {left, right});
    }
  }

  size_t any() {
    const Level level(*this);
    return chain({"||"}, [&] { return all(); });
  }

  size_t all() {
    return chain({"&&"}, [&] { return compared(); });
  }

  size_t compared() {
    constexpr std::string_view kComparisons[] = {"<", "<=", ">", ">=", "==", "!="};
    const auto compares = [&] {
      return std::any_of(std::begin(kComparisons), std::end(kComparisons), [&](auto symbol) { return is(symbol); });
    };
    const size_t left = sum();
    if (!compares()) return left;
    const Token token = tokens_[at_++];
    const size_t right = sum();
    if (compares()) out_.fail(here().place, "a second comparison follows the first", "; write a < b && b < c");
    return call(token, token.text, {left, right});
  }

  size_t sum() {
    return chain({"+", "-"}, [&] { return product(); });
  }

  size_t product() {
    return chain({"*", "/"}, [&] { return signed_one(); });
  }

  size_t signed_one() {
    const Level level(*this);
    const Token token = here();
    if (take("+")) return signed_one();
    if (take("-")) return call(token, "neg", {signed_one()});
    if (take("!")) return call(token, "!", {signed_one()});
    return power();
  }

  // -x ** 2 is -(x ** 2), and 2 ** -x is allowed, as in Python.
  size_t power() {
    const size_t base = element();
    const Token token = here();
    if (!take("**")) return base;
    return call(token, "**", {base, signed_one()});
  }

  size_t element() {
    size_t value = primary();
    while (is("[")) {
      const size_t place = here().place;
      ++at_;
      Node node{.kind = NodeKind::kElement, .place = place, .operands = {value}};
      if (take(":")) {
        node.kind = NodeKind::kSlice;
        need(",");
      }
      node.positions.push_back(position());
      if (node.kind == NodeKind::kElement && take(",")) {
        node.positions.push_back(position());
      }
      need("]");
      Node& before = out_.nodes[value];
      const bool again =
          before.kind == NodeKind::kElement && before.positions.size() == 1 && value + 1 == out_.nodes.size();
      if (again && node.kind == NodeKind::kElement && node.positions.size() == 1) {  // x[2][3]
        before.positions.push_back(node.positions.front());
        continue;
      }
      value = add(std::move(node));
    }
    return value;
  }

  int64_t position() {
    const bool from_end = take("-");
    const Token token = here();
    const bool whole = token.kind == TokenKind::kNumber && token.number == std::floor(token.number);
    if (!whole || token.number > kPositionMax || (from_end && token.number == 0))
      out_.fail(token.place, fmt::format("{} is no position in a list", of(token)),
                "; they are whole numbers from 0 on, or from the end: -1 is the last");
    ++at_;
    return static_cast<int64_t>(from_end ? -token.number : token.number);
  }

  size_t primary() {
    const Token token = here();
    if (take("(")) {
      const size_t inner = any();
      need(")");
      return inner;
    }
    if (token.kind == TokenKind::kEnd || token.kind == TokenKind::kSymbol)
      out_.fail(token.place, fmt::format("{} stands where a value should", of(token)));
    if (const std::string word = hint(); !word.empty())
      out_.fail(token.place, fmt::format("{} stands where a value should", of(token)), word);
    ++at_;
    if (token.kind == TokenKind::kNumber) return add({.place = token.place, .number = token.number});
    if (token.kind == TokenKind::kName) {
      if (is("(")) return function(token);
      if (token.text == "pi") return add({.place = token.place, .number = std::numbers::pi});
      if (token.text == "true") return add({.place = token.place, .number = 1, .boolean = true});
      if (token.text == "false") return add({.place = token.place, .number = 0, .boolean = true});
    }
    return add({.kind = NodeKind::kColumn, .place = token.place, .name = token.text});
  }

  size_t function(const Token& name) {
    need("(");
    std::vector<size_t> operands;
    if (!is(")")) {
      operands.push_back(any());
      while (take(",")) operands.push_back(any());
    }
    need(")");
    const Function* const found = find_function(name.text, static_cast<int>(operands.size()), false);
    const std::vector<std::string> known = function_names();
    if (found == nullptr) {
      const auto near = nearest(name.text, known);
      out_.fail(name.place, fmt::format("there is no function '{}'", name.text),
                fmt::format("{} (there are {})", near ? fmt::format("; did you mean '{}'?", *near) : "",
                            fmt::join(known, ", ")));
    }
    const auto count = static_cast<int>(operands.size());
    if (count < found->operands_min || count > found->operands_max) {
      const std::string wanted = found->operands_min == found->operands_max
                                     ? std::to_string(found->operands_min)
                                     : fmt::format("{} to {}", found->operands_min, found->operands_max);
      out_.fail(name.place, fmt::format("{}() takes {}, not {}", name.text, wanted, count));
    }
    return add({.kind = NodeKind::kCall, .place = name.place, .function = found, .operands = std::move(operands)});
  }

  Expression& out_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

void Expression::fail(size_t place, const std::string& what, const std::string& way_out) const {
  constexpr size_t kShownBytes = 200;
  const std::string shown = printable(text.substr(0, kShownBytes)) + (text.size() > kShownBytes ? "..." : "");
  throw user_error(fmt::format("[job] {}: {}, at character {} of \"{}\"{}", where, what, place + 1, shown, way_out));
}

std::vector<std::string> Expression::columns() const {
  std::vector<std::pair<size_t, std::string>> found;
  for (const Node& node : nodes)
    if (node.kind == NodeKind::kColumn) found.emplace_back(node.place, node.name);
  std::ranges::sort(found);
  std::vector<std::string> names;
  for (const auto& [place, name] : found)
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

size_t Expression::place_of(const std::string& column) const {
  size_t place = text.size();
  for (const Node& node : nodes)
    if (node.kind == NodeKind::kColumn && node.name == column) place = std::min(place, node.place);
  return place;
}

Expression parse(std::string_view text, const std::string& where) {
  Expression out{.text = std::string(text), .where = where, .nodes = {}};
  if (text.size() > kTextBytesMax)
    out.fail(kTextBytesMax, fmt::format("it is longer than {} bytes", kTextBytesMax),
             "; define columns for parts of it");
  Parser(out).run();
  return out;
}

std::string quoted(const std::string& column) {
  try {
    const Expression name = parse(column, "");
    if (name.nodes.size() == 1 && name.nodes[0].kind == NodeKind::kColumn && name.nodes[0].name == column)
      return column;
  } catch (const Error&) {  // no plain word
  }
  return fmt::format("`{}`", column);
}

}  // namespace linac::expression
