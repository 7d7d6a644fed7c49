#pragma once
// One node of an exported graph, ready to be computed: an ATen operator by LibTorch's dispatcher, or Python's
// arithmetic on numbers of shapes. Immutable, thread-safe.

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/model/nn/exported/numbers.h"
#include "linac/model/nn/exported/operand.h"
#include "linac/model/pt2/program.h"

namespace linac::nn::exported {

/// What a layer that behaves otherwise in training was exported as.
enum class Exported { kAlike, kForTraining, kForEvaluation };

class Call {
 public:
  /// Its results get slots of their own. User error naming the node and the operator if it is not ATen's, if LibTorch
  /// has none of that name, or if it is given something else than its schema says.
  Call(const pt2::Node& node, Slots& slots);

  /// Computes it. Behind the program's own mode, training: outside of it nothing is dropped and no statistics are
  /// those of the batch. User error, without the file's name, if the operator fails.
  void run(Values& values, bool training) const;

  /// Whether it draws random numbers.
  bool random(bool training) const { return training ? random_ : random_always_; }
  Exported exported() const { return exported_; }
  /// Values that it changes where they are.
  const std::vector<int>& written() const { return written_; }
  /// All values that it takes.
  std::vector<int> taken() const;
  const std::string& name() const { return name_; }

  /// Nobody wants these values after it.
  void release(std::vector<int> slots) { released_ = std::move(slots); }

 private:
  struct Result {
    bool list = false;
    std::vector<int> slots;  // none: nobody wants it
  };

  void read_operator(const pt2::Node& node, const Slots& slots);
  void read_numbers(const pt2::Node& node, const Slots& slots);
  void read_mode();
  void read_results(const pt2::Node& node, Slots& slots);
  const Operand* operand(const std::string& argument) const;
  void store(std::vector<c10::IValue>& results, Values& values) const;

  std::string name_;  // "aten.linear.default"
  std::optional<c10::OperatorHandle> operator_;
  NumberFunction function_ = nullptr;  // one of the two
  std::vector<Operand> operands_;
  std::vector<Result> results_;
  std::vector<std::pair<size_t, c10::IValue>> in_evaluation_;  // what operands are there
  std::vector<int> written_, released_;
  bool random_ = false, random_always_ = false;
  Exported exported_ = Exported::kAlike;
};

}  // namespace linac::nn::exported
