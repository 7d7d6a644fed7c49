#pragma once
// Python's arithmetic on the numbers that follow from shapes, such as (number of events) * 7. Thread-safe.

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

namespace linac::nn::exported {

/// Of integers, floating-point numbers and truths. User error, without the file's name, if the result has none: a
/// division by zero, more than 64 bits.
using NumberFunction = c10::IValue (*)(const std::vector<c10::IValue>& numbers);

/// By the function's name in the file, "_operator.mul" or "torch.sym_max"; null if it is not known.
NumberFunction number_function(const std::string& target);
/// How many numbers it takes.
size_t number_of_operands(const std::string& target);

}  // namespace linac::nn::exported
