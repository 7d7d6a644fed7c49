#include "linac/model/chain/elementary.h"

#include <algorithm>
#include <array>

#include "linac/base/base/float_clones.h"

namespace linac::chain {

LINAC_FLOAT_CLONES float exponentials(float* values, size_t count) {
  if (count == 0) return 0;
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> lanes;
  lanes.fill(values[0]);
  const size_t whole = count / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = lanes[lane] > values[i + lane] ? lanes[lane] : values[i + lane];
  float largest = *std::max_element(lanes.begin(), lanes.end());
  for (size_t i = whole; i < count; ++i) largest = std::max(largest, values[i]);
  for (size_t i = 0; i < count; ++i) values[i] = fast_exp(values[i] - largest);
  lanes.fill(0);
  for (size_t i = 0; i < whole; i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += values[i + lane];
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  for (size_t i = whole; i < count; ++i) sum += values[i];
  return sum;
}

}  // namespace linac::chain
