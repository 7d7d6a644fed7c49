#pragma once
// Positive quantities that are not known for sure: the logarithm of each is normal around that of `middle`. Pure,
// thread-safe.

#include <span>

namespace linac::plan {

/// Of the standard normal distribution: four of five values are between this and its negative.
inline constexpr double kFourOfFive = 1.2815515655446004;

/// Four of five values should be between low and high.
struct Interval {
  double low = 0, middle = 0, high = 0;
};

struct Estimate {
  double middle = 0;
  double spread = 0;  // standard deviation of the logarithm

  Interval interval() const;
  /// The one whose interval this is; low > 0.
  static Estimate of(const Interval& interval);
  /// How likely it is that the value is no more than `limit`.
  double no_more_than(double limit) const;
  /// The value that is not exceeded with this likelihood, between 0 and 1.
  double quantile(double likelihood) const;
};

Estimate operator*(Estimate estimate, double factor);
/// Of quantities that err independently of each other.
Estimate product(Estimate a, Estimate b);
Estimate sum(std::span<const Estimate> parts);

/// What the larger of two errors of one quantity is, if they are independent: the root of their squares' sum.
double joined(double spread, double other);

/// The mean of the largest of so many independent standard normal numbers; 0 for one (H. Cramér, Mathematical Methods
/// of Statistics, 1946, section 28.6; it grows as sqrt(2 ln N)).
double expected_maximum(int count);

}  // namespace linac::plan
