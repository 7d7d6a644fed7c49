#pragma once
// What the operators of TorchScript are to the walk of script_program.h, and what programs of torch.export call them.
// Pure functions.

#include <ATen/core/function_schema.h>

#include <string>
#include <string_view>

namespace linac::nn::script {

/// Says something of a tensor without a look at its numbers: its type, its number of axes.
bool is_fact(std::string_view name);
/// Gives back what it is given.
bool hands_on(std::string_view name);
/// Turns a number of shapes, which a trace has as a tensor, into the other.
bool changes_kind(std::string_view name);
/// "torch.ops.aten.add.Tensor" of aten::add.Scalar: programs have one name where TorchScript has several.
std::string target_of(const c10::FunctionSchema& schema);

}  // namespace linac::nn::script
