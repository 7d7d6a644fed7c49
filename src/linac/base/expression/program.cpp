// The types of an expression.

#include "linac/base/expression/program.h"

#include <fmt/format.h>

#include <algorithm>

namespace linac::expression {

std::string describe(const Type& type) {
  const char* const one = type.boolean ? "boolean" : "number";
  switch (type.axes) {
    case Axes::kNumber:
      return fmt::format("a {}", one);
    case Axes::kList:
      return fmt::format("a list of {}s", one);
    case Axes::kRows:
      break;
  }
  return "a list of rows";
}

Program::Program(Expression expression, const std::function<Type(const std::string&)>& column)
    : expression_(std::move(expression)), columns_(expression_.columns()) {
  for (size_t i = 0; i < expression_.nodes.size(); ++i) {
    const Node& node = expression_.nodes[i];
    places_.push_back(static_cast<size_t>(std::ranges::find(columns_, node.name) - columns_.begin()));
    types_.push_back(check(i, column));
  }
  registers_.resize(types_.size());
}

Type Program::check(size_t place, const std::function<Type(const std::string&)>& column) {
  const Node& node = expression_.nodes[place];
  switch (node.kind) {
    case NodeKind::kNumber:
      return {.boolean = node.boolean};
    case NodeKind::kColumn:
      return column(node.name);
    case NodeKind::kCall:
      return check_call(node);
    case NodeKind::kElement:
    case NodeKind::kSlice:
      break;
  }
  return check_positions(node);
}

// Booleans count as numbers 0 and 1, numbers never as booleans.
void Program::check_operand(const Node& node, size_t operand, bool boolean) const {
  const Node& of = expression_.nodes[node.operands[operand]];
  const Type& type = types_[node.operands[operand]];
  const std::string name = of.kind == NodeKind::kColumn ? quoted(of.name) : "x";
  if (type.axes == Axes::kRows && node.function->takes == Operands::kRows) return;
  if (type.axes == Axes::kRows) {
    expression_.fail(of.place,
                     fmt::format("{} takes numbers and lists, and this is {}", node.function->name, describe(type)),
                     fmt::format("; {0}[:, 3] is a list of the values number 3 of its rows", name));
  }
  if (!boolean || type.boolean) return;
  expression_.fail(of.place, fmt::format("{} takes booleans, and this is {}", node.function->name, describe(type)),
                   fmt::format("; compare it: {} != 0", name));
}

Type Program::check_call(const Node& node) const {
  const Function& function = *node.function;
  const size_t count = node.operands.size();
  for (size_t i = 0; i < count; ++i)
    check_operand(node, i, function.takes == Operands::kBooleans || (function.takes == Operands::kChoice && i == 0));
  bool list = false, same_boolean = true;
  for (size_t i = 0; i < count; ++i) {
    const Type& type = types_[node.operands[i]];
    list |= type.axes != Axes::kNumber;
    if (i > 0) same_boolean &= type.boolean;
  }
  const bool reduces = function.form == Form::kReduce || (function.form == Form::kEither && count == 1);
  if (reduces && !list) {
    expression_.fail(node.place, fmt::format("{}() of one value takes a list, and this is {}", function.name,
                                             describe(types_[node.operands[0]])));
  }
  const bool boolean = function.gives == Gives::kBoolean || (function.gives == Gives::kSame && same_boolean);
  return {.axes = list && !reduces ? Axes::kList : Axes::kNumber, .boolean = boolean};
}

Type Program::check_positions(const Node& node) const {
  const Type& type = types_[node.operands[0]];
  const bool slice = node.kind == NodeKind::kSlice;
  const size_t positions = node.positions.size() + (slice ? 1 : 0);
  const size_t wanted = type.axes == Axes::kNumber ? 0 : type.axes == Axes::kList ? 1 : 2;
  if (wanted == 0) expression_.fail(node.place, fmt::format("this is {}, which has no elements", describe(type)));
  if (positions != wanted) {
    expression_.fail(
        node.place,
        fmt::format("this is {}, which wants {}", describe(type), wanted == 1 ? "one position" : "two positions"),
        wanted == 1 ? "; x[2] is its third value" : "; x[:, 3] or x[0, 3]");
  }
  if (slice) return {.axes = Axes::kList};
  return {.boolean = false};
}

}  // namespace linac::expression
