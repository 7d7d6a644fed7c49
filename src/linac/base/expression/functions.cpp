#include "linac/base/expression/functions.h"

#include <cmath>

#include "linac/base/expression/kernels.h"

namespace linac::expression {
namespace {

namespace k = kernels;

constexpr int kMany = 16;  // operands of min(a, b, ...)

double sign(double x) {
  return x > 0 ? 1.0 : x < 0 ? -1.0 : x;
}

using One = double (*)(double);
using Two = double (*)(double, double);

template <One f>
constexpr Function one(const char* name) {
  return {name, 1, 1, Form::kMap, Operands::kNumbers, Gives::kNumber, k::map<f>, nullptr, false};
}
template <Two f>
constexpr Function two(const char* name) {
  return {name, 2, 2, Form::kMap, Operands::kNumbers, Gives::kNumber, k::map<f>, nullptr, false};
}
constexpr Function simple(const char* name, MapKernel map, Gives gives = Gives::kNumber) {
  return {name, 1, 1, Form::kMap, Operands::kNumbers, gives, map, nullptr, false};
}
constexpr Function arithmetic(const char* name, MapKernel map, int operands = 2) {
  return {name, operands, operands, Form::kMap, Operands::kNumbers, Gives::kNumber, map, nullptr, true};
}
constexpr Function comparison(const char* name, MapKernel map) {
  return {name, 2, 2, Form::kMap, Operands::kNumbers, Gives::kBoolean, map, nullptr, true};
}
constexpr Function logic(const char* name, MapKernel map, int operands = 2) {
  return {name, operands, operands, Form::kMap, Operands::kBooleans, Gives::kBoolean, map, nullptr, true};
}
constexpr Function reduction(const char* name, ReduceKernel reduce, Operands takes = Operands::kNumbers) {
  return {name, 1, 1, Form::kReduce, takes, Gives::kNumber, nullptr, reduce, false};
}

const Function kTable[] = {
    arithmetic("neg", k::negate, 1),
    arithmetic("+", k::add),
    arithmetic("-", k::subtract),
    arithmetic("*", k::multiply),
    arithmetic("/", k::divide),
    arithmetic("**", k::map<static_cast<Two>(std::pow)>),
    comparison("<", k::less),
    comparison("<=", k::less_equal),
    comparison(">", k::greater),
    comparison(">=", k::greater_equal),
    comparison("==", k::equal),
    comparison("!=", k::not_equal),
    logic("&&", k::both),
    logic("||", k::either),
    logic("!", k::invert, 1),
    simple("abs", k::absolute),
    simple("sqrt", k::square_root),
    simple("isfinite", k::is_finite, Gives::kBoolean),
    simple("isnan", k::is_nan, Gives::kBoolean),
    one<static_cast<One>(std::exp)>("exp"),
    one<static_cast<One>(std::expm1)>("expm1"),
    one<static_cast<One>(std::log)>("log"),
    one<static_cast<One>(std::log10)>("log10"),
    one<static_cast<One>(std::log1p)>("log1p"),
    one<static_cast<One>(std::sin)>("sin"),
    one<static_cast<One>(std::cos)>("cos"),
    one<static_cast<One>(std::tan)>("tan"),
    one<static_cast<One>(std::asin)>("asin"),
    one<static_cast<One>(std::acos)>("acos"),
    one<static_cast<One>(std::atan)>("atan"),
    one<static_cast<One>(std::sinh)>("sinh"),
    one<static_cast<One>(std::cosh)>("cosh"),
    one<static_cast<One>(std::tanh)>("tanh"),
    one<static_cast<One>(std::floor)>("floor"),
    one<static_cast<One>(std::ceil)>("ceil"),
    one<sign>("sign"),
    two<static_cast<Two>(std::pow)>("pow"),
    two<static_cast<Two>(std::atan2)>("atan2"),
    two<static_cast<Two>(std::hypot)>("hypot"),
    two<static_cast<Two>(std::fmod)>("fmod"),
    {"where", 3, 3, Form::kMap, Operands::kChoice, Gives::kSame, k::choose, nullptr, false},
    {"min", 1, kMany, Form::kEither, Operands::kNumbers, Gives::kNumber, k::least, k::least_of, false},
    {"max", 1, kMany, Form::kEither, Operands::kNumbers, Gives::kNumber, k::greatest, k::greatest_of, false},
    reduction("sum", k::sum),
    reduction("mean", k::mean),
    reduction("len", k::length, Operands::kRows),
    {"any", 1, 1, Form::kReduce, Operands::kBooleans, Gives::kBoolean, nullptr, k::any, false},
    {"all", 1, 1, Form::kReduce, Operands::kBooleans, Gives::kBoolean, nullptr, k::all, false},
};

}  // namespace

const Function* find_function(std::string_view name, int operands, bool is_operator) {
  const Function* found = nullptr;
  for (const Function& function : kTable) {
    if (function.name != name || function.is_operator != is_operator) continue;
    found = &function;
    if (operands >= function.operands_min && operands <= function.operands_max) return found;
  }
  return found;
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const Function& function : kTable)
    if (!function.is_operator) names.emplace_back(function.name);
  return names;
}

}  // namespace linac::expression
