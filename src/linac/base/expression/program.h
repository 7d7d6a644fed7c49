#pragma once
// An expression with types, computed for blocks of events: a loop over all values of the block for each of its nodes,
// none over nodes for each event. Everything is float64; NaN and infinity follow IEEE 754. A program is used by one
// thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/base/expression/expression.h"

namespace linac::expression {

enum class Axes {
  kNumber,  // one value an event
  kList,    // any number of values, another one in each event
  kRows,    // a list of rows, which have one size
};

struct Type {
  Axes axes = Axes::kNumber;
  bool boolean = false;
  bool operator==(const Type&) const = default;
};

/// "a number", "a list of booleans", "a list of rows".
std::string describe(const Type& type);

/// A column, or a result, in a block of events: event i has rows[i] rows of row_size values each.
struct Block {
  std::span<const double> values;
  std::span<const uint32_t> rows;  // empty: a number, which has one value in every event
  uint32_t row_size = 1;
};

class Program {
 public:
  /// `column`: the type of a column; it throws for one that is not there. User error that names the place where types
  /// do not go together.
  Program(Expression expression, const std::function<Type(const std::string&)>& column);

  const Expression& expression() const { return expression_; }
  Type type() const { return types_.back(); }
  /// Names of the columns, in the order in which run() takes them.
  const std::vector<std::string>& columns() const { return columns_; }

  /// What went wrong in an event of the block: lists of several lengths, a row that is too short.
  struct Fault {
    size_t event;  // of the block
    std::string what;
  };
  /// Computes `events` events. The result lies in this program until the next call, or in a column's memory.
  /// Throws Fault.
  Block run(std::span<const Block> columns, size_t events);

 private:
  struct Register {
    std::vector<double> values;
    Block result;
  };

  Type check(size_t node, const std::function<Type(const std::string&)>& column);
  Type check_call(const Node& node) const;
  Type check_positions(const Node& node) const;
  void check_operand(const Node& node, size_t operand, bool boolean) const;

  void call(const Node& node, size_t events, Register& out);
  void map(const Node& node, size_t events, Register& out);
  void reduce(const Node& node, size_t events, Register& out) const;
  void take_element(const Node& node, size_t events, Register& out) const;
  void take_slice(const Node& node, Register& out) const;
  [[noreturn]] void refuse_lengths(const Node& node, std::span<const uint32_t> one,
                                   std::span<const uint32_t> other) const;

  Expression expression_;
  std::vector<std::string> columns_;
  std::vector<size_t> places_;  // of each column node, in columns_
  std::vector<Type> types_;     // of each node
  std::vector<Register> registers_;
  std::vector<std::vector<double>> spread_;  // numbers repeated for the values of lists
};

}  // namespace linac::expression
