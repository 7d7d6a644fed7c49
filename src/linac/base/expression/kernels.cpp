#include "linac/base/expression/kernels.h"

#include <cmath>
#include <limits>

namespace linac::expression::kernels {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class F>
inline void each(const double* const* x, double* __restrict out, size_t n, F f) {
  const double* const a = x[0];
  for (size_t i = 0; i < n; ++i) out[i] = f(a[i]);
}

template <class F>
inline void each_two(const double* const* x, double* __restrict out, size_t n, F f) {
  const double *const a = x[0], *const b = x[1];
  for (size_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
}

// As numpy's minimum and maximum: NaN where one of them is.
inline double lesser(double a, double b) {
  return a != a ? a : b != b ? b : b < a ? b : a;
}

inline double greater_of(double a, double b) {
  return a != a ? a : b != b ? b : b > a ? b : a;
}

}  // namespace

void negate(const double* const* x, double* out, size_t n) {
  each(x, out, n, [](double a) { return -a; });
}
void add(const double* const* x, double* out, size_t n) {
  each_two(x, out, n, [](double a, double b) { return a + b; });
}
void subtract(const double* const* x, double* out, size_t n) {
  each_two(x, out, n, [](double a, double b) { return a - b; });
}
void multiply(const double* const* x, double* out, size_t n) {
  each_two(x, out, n, [](double a, double b) { return a * b; });
}
void divide(const double* const* x, double* out, size_t n) {
  each_two(x, out, n, [](double a, double b) { return a / b; });
}
void less(const double* const* x, double* out, size_t n) {
  each_two(x, out, n, [](double a, double b) { return a < b ? 1.0 : 0.0; });
}
void less_equal(const double* const* x, double* out, size_t n) {
  each_two(x, out, n, [](double a, double b) { return a <= b ? 1.0 : 0.0; });
}
void greater(const double* const* x, double* out, size_t n) {
  each_two(x, out, n, [](double a, double b) { return a > b ? 1.0 : 0.0; });
}
void greater_equal(const double* const* x, double* out, size_t n) {
  each_two(x, out, n, [](double a, double b) { return a >= b ? 1.0 : 0.0; });
}
void equal(const double* const* x, double* out, size_t n) {
  each_two(x, out, n, [](double a, double b) { return a == b ? 1.0 : 0.0; });
}
void not_equal(const double* const* x, double* out, size_t n) {
  each_two(x, out, n, [](double a, double b) { return a != b ? 1.0 : 0.0; });
}
void both(const double* const* x, double* out, size_t n) {
  each_two(x, out, n, [](double a, double b) { return a * b; });
}
void either(const double* const* x, double* out, size_t n) {
  each_two(x, out, n, [](double a, double b) { return a > b ? a : b; });
}
void invert(const double* const* x, double* out, size_t n) {
  each(x, out, n, [](double a) { return 1 - a; });
}
void choose(const double* const* x, double* __restrict out, size_t n) {
  const double *const condition = x[0], *const a = x[1], *const b = x[2];
  for (size_t i = 0; i < n; ++i) out[i] = condition[i] != 0 ? a[i] : b[i];
}
void least(const double* const* x, double* out, size_t n) {
  each_two(x, out, n, lesser);
}
void greatest(const double* const* x, double* out, size_t n) {
  each_two(x, out, n, greater_of);
}
void absolute(const double* const* x, double* out, size_t n) {
  each(x, out, n, [](double a) { return std::fabs(a); });
}
void square_root(const double* const* x, double* out, size_t n) {
  each(x, out, n, [](double a) { return std::sqrt(a); });
}
void is_finite(const double* const* x, double* out, size_t n) {
  each(x, out, n, [](double a) { return std::fabs(a) <= std::numeric_limits<double>::max() ? 1.0 : 0.0; });
}
void is_nan(const double* const* x, double* out, size_t n) {
  each(x, out, n, [](double a) { return a != a ? 1.0 : 0.0; });
}

double sum(const double* values, size_t n) {
  double total = 0;
  for (size_t i = 0; i < n; ++i) total += values[i];
  return total;
}
double mean(const double* values, size_t n) {
  return n == 0 ? kNan : sum(values, n) / static_cast<double>(n);
}
double least_of(const double* values, size_t n) {
  double found = n == 0 ? kNan : values[0];
  for (size_t i = 1; i < n; ++i) found = lesser(found, values[i]);
  return found;
}
double greatest_of(const double* values, size_t n) {
  double found = n == 0 ? kNan : values[0];
  for (size_t i = 1; i < n; ++i) found = greater_of(found, values[i]);
  return found;
}
double length(const double*, size_t n) {
  return static_cast<double>(n);
}
double any(const double* values, size_t n) {
  double found = 0;
  for (size_t i = 0; i < n; ++i) found = values[i] != 0 ? 1.0 : found;
  return found;
}
double all(const double* values, size_t n) {
  double found = 1;
  for (size_t i = 0; i < n; ++i) found = values[i] == 0 ? 0.0 : found;
  return found;
}

}  // namespace linac::expression::kernels
