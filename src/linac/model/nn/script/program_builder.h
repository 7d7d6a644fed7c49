#pragma once
// Writes the program that script_program.h makes, operator by operator. Used by one thread.

#include <torch/csrc/jit/api/module.h>

#include <map>
#include <string>
#include <vector>

#include "linac/model/nn/foreign_module.h"
#include "linac/model/nn/script/script_value.h"
#include "linac/model/pt2/program.h"

namespace linac::nn::script {

/// The operator, and the line of Python that asks for it as far as the file knows it: `aten::gru (model.py, line 12:
/// y = self.gru(x))`.
std::string described(const torch::jit::Node& node);

class ProgramBuilder {
 public:
  /// The module whose parameters and buffers have names in the program.
  explicit ProgramBuilder(const torch::jit::Module& module);

  /// An argument of forward(), of zeros.
  ScriptValue input(const ForeignInput& input);
  /// Adds a call of `target` ("torch.ops.aten.relu.default") with named arguments, which gives `result`: gets names.
  void call(const std::string& target, const std::vector<std::pair<std::string, ScriptValue>>& arguments,
            const torch::jit::Node& node, std::vector<ScriptValue*> results);
  /// Adds an output. User error if it is not one of the events.
  void output(const ScriptValue& value);

  pt2::WeightedProgram finish() { return std::move(made_); }

 private:
  pt2::Argument argument(const ScriptValue& value);
  pt2::Element element(const ScriptValue& value);
  pt2::Name weight(const at::Tensor& tensor);
  pt2::Argument result(ScriptValue& value, const std::string& base);
  pt2::Name named(ScriptValue& value, const std::string& base);

  std::map<const void*, std::string> names_;  // of the module's tensors
  std::map<const void*, std::string> taken_;  // weights that are inputs of the program already
  std::vector<at::Tensor> kept_;              // so that no other gets their place
  pt2::WeightedProgram made_;
  size_t count_ = 0;
};

}  // namespace linac::nn::script
