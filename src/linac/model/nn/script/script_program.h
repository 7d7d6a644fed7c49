#pragma once
// A TorchScript module as the list of operators that a program of torch.export is (model/pt2/program.h), for whoever
// writes it in another format: inlined, in evaluation, with its weights as inputs of the program and a free axis of
// events. Branches and loops are decided where nothing of the events enters them; what forward() computes of constants
// alone is a constant. Thread-safe function.

#include <torch/csrc/jit/api/module.h>

#include <vector>

#include "linac/model/nn/foreign_module.h"
#include "linac/model/pt2/program.h"

namespace linac::nn::script {

/// `inputs` in the order of forward()'s arguments; the module itself is left as it is. User error naming the operator
/// and its line of Python if what is computed depends on the values of the events (a branch, a loop, a number taken out
/// of a tensor), if forward() fails for one number of events (a trace keeps the sizes that it was made with), or if a
/// layer was traced for training.
pt2::WeightedProgram program_of(const torch::jit::Module& module, const std::vector<ForeignInput>& inputs);

}  // namespace linac::nn::script
