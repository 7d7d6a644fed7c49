#pragma once
// The values that a quantity may have: what a loss wants of its targets, what a column of events must hold. Pure,
// thread-safe.

#include <string>

namespace linac {

struct ValueRange {
  double min = 0, max = 0;  // both included, give or take a rounding; infinite where there is no limit
  bool whole = false;       // no fractions

  bool has(float value) const;
  std::string describe() const;  // "whole numbers from 0 to 2", "numbers from 0 to 1", "numbers from 0 on"
};

}  // namespace linac
