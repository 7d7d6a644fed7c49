#include "linac/model/nn/exported/numbers.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "linac/base/base/error.h"

namespace linac::nn::exported {
namespace {

using c10::IValue;
using Numbers = std::vector<IValue>;

[[noreturn]] void overflow() {
  throw user_error("[pt2] the arithmetic of shapes goes beyond 64 bits");
}

bool is_real(const IValue& value) {
  return value.isDouble();
}
int64_t integer(const IValue& value) {
  return value.isBool() ? static_cast<int64_t>(value.toBool()) : value.toInt();
}
double real(const IValue& value) {
  return is_real(value) ? value.toDouble() : static_cast<double>(integer(value));
}
bool truth(const IValue& value) {
  return is_real(value) ? value.toDouble() != 0 : integer(value) != 0;
}
bool any_real(const Numbers& numbers) {
  return std::any_of(numbers.begin(), numbers.end(), is_real);
}
int64_t to_integer(double value) {
  if (!(std::abs(value) < 9.2e18)) overflow();
  return static_cast<int64_t>(value);
}
void need_divisor(bool is_zero) {
  if (is_zero) throw user_error("[pt2] the arithmetic of shapes divides by zero");
}

IValue add(const Numbers& a) {
  if (any_real(a)) return real(a[0]) + real(a[1]);
  int64_t sum = 0;
  if (__builtin_add_overflow(integer(a[0]), integer(a[1]), &sum)) overflow();
  return sum;
}
IValue sub(const Numbers& a) {
  if (any_real(a)) return real(a[0]) - real(a[1]);
  int64_t difference = 0;
  if (__builtin_sub_overflow(integer(a[0]), integer(a[1]), &difference)) overflow();
  return difference;
}
IValue mul(const Numbers& a) {
  if (any_real(a)) return real(a[0]) * real(a[1]);
  int64_t product = 0;
  if (__builtin_mul_overflow(integer(a[0]), integer(a[1]), &product)) overflow();
  return product;
}
// Python rounds down, C++ towards zero.
IValue floordiv(const Numbers& a) {
  if (any_real(a)) {
    need_divisor(real(a[1]) == 0);
    return std::floor(real(a[0]) / real(a[1]));
  }
  const int64_t over = integer(a[0]), under = integer(a[1]);
  need_divisor(under == 0);
  if (under == -1) return sub({IValue(int64_t{0}), IValue(over)});
  const int64_t quotient = over / under;
  return quotient - static_cast<int64_t>(over % under != 0 && (over < 0) != (under < 0));
}
IValue truediv(const Numbers& a) {
  need_divisor(real(a[1]) == 0);
  return real(a[0]) / real(a[1]);
}
IValue mod(const Numbers& a) {
  return sub({a[0], mul({a[1], floordiv(a)})});
}
IValue power(const Numbers& a) {
  if (any_real(a) || integer(a[1]) < 0) return std::pow(real(a[0]), real(a[1]));
  return to_integer(std::pow(real(a[0]), real(a[1])));
}
IValue neg(const Numbers& a) {
  return sub({IValue(int64_t{0}), a[0]});
}
IValue pos(const Numbers& a) {
  return a[0];
}

template <class Compare>
IValue compare(const Numbers& a) {
  if (any_real(a)) return Compare()(real(a[0]), real(a[1]));
  return Compare()(integer(a[0]), integer(a[1]));
}
IValue both(const Numbers& a) {
  return truth(a[0]) && truth(a[1]);
}
IValue either(const Numbers& a) {
  return truth(a[0]) || truth(a[1]);
}
IValue negation(const Numbers& a) {
  return !truth(a[0]);
}
IValue larger(const Numbers& a) {
  return compare<std::greater<>>(a).toBool() ? a[0] : a[1];
}
IValue smaller(const Numbers& a) {
  return compare<std::less<>>(a).toBool() ? a[0] : a[1];
}
IValue truncated(const Numbers& a) {
  return is_real(a[0]) ? IValue(to_integer(a[0].toDouble())) : IValue(integer(a[0]));
}
IValue ceiling(const Numbers& a) {
  return is_real(a[0]) ? IValue(to_integer(std::ceil(a[0].toDouble()))) : IValue(integer(a[0]));
}
IValue floored(const Numbers& a) {
  return is_real(a[0]) ? IValue(to_integer(std::floor(a[0].toDouble()))) : IValue(integer(a[0]));
}
IValue to_real(const Numbers& a) {
  return real(a[0]);
}
IValue root(const Numbers& a) {
  return std::sqrt(real(a[0]));
}
IValue choose(const Numbers& a) {
  return truth(a[0]) ? a[1] : a[2];
}

struct Row {
  const char* name;  // behind the module's
  size_t operands;
  NumberFunction function;
};
constexpr Row kTable[] = {
    {"add", 2, add},
    {"sub", 2, sub},
    {"mul", 2, mul},
    {"floordiv", 2, floordiv},
    {"truediv", 2, truediv},
    {"mod", 2, mod},
    {"pow", 2, power},
    {"neg", 1, neg},
    {"pos", 1, pos},
    {"eq", 2, compare<std::equal_to<>>},
    {"ne", 2, compare<std::not_equal_to<>>},
    {"lt", 2, compare<std::less<>>},
    {"le", 2, compare<std::less_equal<>>},
    {"gt", 2, compare<std::greater<>>},
    {"ge", 2, compare<std::greater_equal<>>},
    {"and_", 2, both},
    {"or_", 2, either},
    {"sym_not", 1, negation},
    {"sym_max", 2, larger},
    {"sym_min", 2, smaller},
    {"sym_int", 1, truncated},
    {"trunc", 1, truncated},
    {"ceil", 1, ceiling},
    {"floor", 1, floored},
    {"sym_float", 1, to_real},
    {"sym_sqrt", 1, root},
    {"_sym_sqrt", 1, root},
    {"sym_ite", 3, choose},
};

const Row* row_of(const std::string& target) {
  const size_t dot = target.rfind('.');
  if (target.starts_with("torch.ops.") || dot == std::string::npos) return nullptr;
  for (const Row& row : kTable)
    if (target.substr(dot + 1) == row.name) return &row;
  return nullptr;
}

}  // namespace

NumberFunction number_function(const std::string& target) {
  const Row* const row = row_of(target);
  return row == nullptr ? nullptr : row->function;
}

size_t number_of_operands(const std::string& target) {
  const Row* const row = row_of(target);
  return row == nullptr ? 0 : row->operands;
}

}  // namespace linac::nn::exported
