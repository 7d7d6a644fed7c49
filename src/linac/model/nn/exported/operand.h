#pragma once
// What an operator of the graph is given: a constant, a value of the graph, or a list of both, in the type that its
// schema wants. Immutable, thread-safe.

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "linac/model/pt2/program.h"

namespace linac::nn::exported {

/// Where each value of the graph lies while it is computed.
class Slots {
 public:
  /// A new name; user error if there is one of that name.
  int add(const std::string& name, const std::string& where);
  /// User error if nothing of that name came before.
  int find(const std::string& name, const std::string& where) const;
  size_t size() const { return slots_.size(); }

 private:
  std::map<std::string, int> slots_;
};

/// c10's number of a type of the file; nothing if it is not known.
std::optional<at::ScalarType> scalar_type(int64_t code);
/// And back.
std::optional<int64_t> code_of(at::ScalarType type);

using Values = std::vector<c10::IValue>;

class Operand {
 public:
  /// `type`: of the schema (FunctionSchema's type(), in which a symbolic integer is an integer); `width`: how often a
  /// lone number is repeated where a list is wanted. User error, beginning with `where`, if the argument is of another.
  Operand(const pt2::Argument& argument, const c10::TypePtr& type, int width, const Slots& slots,
          const std::string& where);
  /// A constant.
  explicit Operand(c10::IValue value) : constant_(std::move(value)) {}

  c10::IValue value(const Values& values) const;
  /// Null if it takes something from the graph.
  const c10::IValue* constant() const { return slots_.empty() ? &constant_ : nullptr; }
  /// Of the values that it takes.
  const std::vector<int>& slots() const { return slots_; }

 private:
  c10::IValue constant_;
  c10::TypePtr type_;  // without "optional"; of a list its elements'
  bool is_list_ = false;
  std::vector<Operand> elements_;  // of a list that takes something from the graph
  std::vector<int> slots_;
};

}  // namespace linac::nn::exported
