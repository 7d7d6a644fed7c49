#pragma once
// A value of a TorchScript graph while script_program.h walks through it, computed for two numbers of events: what
// comes out alike, and of nothing that depends on the events, is a constant. Plain values, used by one thread.

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "linac/model/pt2/program.h"

namespace linac::nn::script {

/// The numbers of events; primes, so that few other extents look like them.
inline constexpr std::array<int64_t, 2> kEvents{3, 5};

struct ScriptValue {
  std::array<c10::IValue, 2> computed;  // empty where there are elements
  std::string name;   // in the program: of a tensor of the events, or a number that follows from theirs
  bool open = false;  // depends on the number of events and has no name
  std::shared_ptr<std::vector<ScriptValue>> elements;  // of a list or tuple; lists that are the same share them

  static ScriptValue constant(const c10::IValue& value) { return {{value, value}, "", false, nullptr}; }
  static ScriptValue of(std::vector<ScriptValue> elements) {
    return {{}, "", false, std::make_shared<std::vector<ScriptValue>>(std::move(elements))};
  }

  /// Whether it is the same for all events.
  bool is_constant() const;
  /// Whether it is, or holds, a tensor of the events.
  bool holds_tensor() const;
  /// As an operator takes it that wants `type`.
  c10::IValue value(size_t which, const c10::TypePtr& type) const;
};

/// What the two have in common: sizes that are alike, the symbol of the events, or neither. User error for a type of
/// numbers that programs do not have.
pt2::TensorInfo info_of(const at::Tensor& first, const at::Tensor& second);

/// The symbol in a program's shapes.
inline constexpr const char* kEventsSymbol = "events";

/// As they lie in memory. User error as info_of.
pt2::Numbers numbers_of(const at::Tensor& tensor);

}  // namespace linac::nn::script
