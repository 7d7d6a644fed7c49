#include "linac/chain/elementary.h"

#include <algorithm>

#include "linac/base/float_clones.h"

namespace linac::chain {

LINAC_FLOAT_CLONES float exponentials(float* values, size_t count) {
  if (count == 0) return 0;
  const float largest = *std::max_element(values, values + count);
  for (size_t i = 0; i < count; ++i) values[i] = fast_exp(values[i] - largest);
  float sum = 0;
  for (size_t i = 0; i < count; ++i) sum += values[i];
  return sum;
}

}  // namespace linac::chain
