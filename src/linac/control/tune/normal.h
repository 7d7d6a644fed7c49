#pragma once
// The standard normal distribution in double precision. Pure, thread-safe.

namespace linac::tune {

double normal_density(double x);
double normal_distribution(double x);
/// The logarithm of the distribution; exact far below zero too, where the distribution itself is 0.
double log_normal_distribution(double x);
/// The inverse, for p in (0, 1).
double normal_quantile(double p);

}  // namespace linac::tune
