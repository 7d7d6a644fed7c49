#pragma once
// The value in the middle. Pure, thread-safe.

#include <algorithm>
#include <cstddef>
#include <vector>

namespace linac {

/// The mean of the two in the middle for an even number; 0 of none.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

}  // namespace linac
