#include "linac/io/data/transform/split.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "linac/io/storage/storage.h"

namespace linac::data {

static_assert(std::endian::native == std::endian::little);

double place_of_key(std::span<const double> values) {
  std::vector<double> plain(values.begin(), values.end());
  for (double& value : plain) value += 0.0;  // -0 becomes 0
  const uint64_t hash = storage::checksum(std::as_bytes(std::span(plain)));
  return static_cast<double>(hash >> 11) * 0x1p-53;
}

int fold_of(double place, const SplitRule& rule) {
  if (rule.test > 0 && place >= 1 - rule.test) return 0;
  return std::min(1 + static_cast<int>(rule.folds * (place / (1 - rule.test))), rule.folds);
}

Part part_of(double place, const SplitRule& rule) {
  if (rule.test > 0 && place >= 1 - rule.test) return Part::kTest;
  if (rule.folds > 0) return fold_of(place, rule) == rule.fold ? Part::kValidation : Part::kTrain;
  if (rule.validation > 0 && place >= 1 - rule.test - rule.validation) return Part::kValidation;
  return Part::kTrain;
}

}  // namespace linac::data
