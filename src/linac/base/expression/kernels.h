#pragma once
// The loops behind the table of functions.h: value by value without a branch, or from a list to its number, summed from
// the first value to the last. NaN goes through everything but isfinite, isnan, any, all, len and where, whose
// condition is never NaN. Pure, thread-safe.

#include <cstddef>

namespace linac::expression::kernels {

template <double (*f)(double)>
void map(const double* const* x, double* out, size_t n) {
  const double* const a = x[0];
  for (size_t i = 0; i < n; ++i) out[i] = f(a[i]);
}

template <double (*f)(double, double)>
void map(const double* const* x, double* out, size_t n) {
  const double *const a = x[0], *const b = x[1];
  for (size_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
}

void negate(const double* const* x, double* out, size_t n);
void add(const double* const* x, double* out, size_t n);
void subtract(const double* const* x, double* out, size_t n);
void multiply(const double* const* x, double* out, size_t n);
void divide(const double* const* x, double* out, size_t n);
void less(const double* const* x, double* out, size_t n);
void less_equal(const double* const* x, double* out, size_t n);
void greater(const double* const* x, double* out, size_t n);
void greater_equal(const double* const* x, double* out, size_t n);
void equal(const double* const* x, double* out, size_t n);
void not_equal(const double* const* x, double* out, size_t n);
void both(const double* const* x, double* out, size_t n);
void either(const double* const* x, double* out, size_t n);
void invert(const double* const* x, double* out, size_t n);
void choose(const double* const* x, double* out, size_t n);
void least(const double* const* x, double* out, size_t n);
void greatest(const double* const* x, double* out, size_t n);
void absolute(const double* const* x, double* out, size_t n);
void square_root(const double* const* x, double* out, size_t n);
void is_finite(const double* const* x, double* out, size_t n);
void is_nan(const double* const* x, double* out, size_t n);

double sum(const double* values, size_t n);
double mean(const double* values, size_t n);
double least_of(const double* values, size_t n);
double greatest_of(const double* values, size_t n);
double length(const double* values, size_t n);
double any(const double* values, size_t n);
double all(const double* values, size_t n);

}  // namespace linac::expression::kernels
