#pragma once
// The functions and operators of expressions: one table. All numbers are float64; booleans are 0 and 1. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace linac::expression {

enum class Form {
  kMap,     // value by value: of numbers a number, of lists a list
  kReduce,  // of one list a number
  kEither,  // min, max: of one list its least value, of several operands value by value
};
// kChoice: where(boolean, a, b); kRows: also lists of rows.
enum class Operands { kNumbers, kBooleans, kChoice, kRows };
enum class Gives { kNumber, kBoolean, kSame };  // kSame: what the choices are

/// out[i] of as many operands as the function takes, n values each. `out` is none of the operands.
using MapKernel = void (*)(const double* const* operands, double* out, size_t n);
/// `n`: values, or rows of a list of rows, whose values are not looked at.
using ReduceKernel = double (*)(const double* values, size_t n);

struct Function {
  const char* name;
  int operands_min, operands_max;
  Form form;
  Operands takes;
  Gives gives;
  MapKernel map;        // kEither: of two operands
  ReduceKernel reduce;  // kReduce, kEither
  bool is_operator;
};

/// Null if there is none; unary minus is "neg". Operators are found with is_operator only.
const Function* find_function(std::string_view name, int operands, bool is_operator);
/// Of the functions, not the operators.
std::vector<std::string> function_names();

}  // namespace linac::expression
