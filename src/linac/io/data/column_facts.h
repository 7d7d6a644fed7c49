#pragma once
// What the values of a column are like. Facts are gathered while a file is packed and kept with it, so looking at them
// costs no pass over the events. Values; not thread-safe while they are gathered.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "linac/base/base/value_range.h"

namespace linac::data {

struct ColumnFacts {
  int64_t values = 0;
  float min = 0, max = 0;  // 0 without values
  bool whole = true;       // none has a fraction
  double sum = 0;

  /// One that is not finite leaves a sum that is not, and finite ones never do: float64 holds the sum of all the
  /// float32 that a memory has.
  void add(std::span<const float> more);
  void add(const ColumnFacts& more);
};

nlohmann::json to_json(const ColumnFacts& facts);
ColumnFacts facts_from_json(const nlohmann::json& json);

/// Whether none of the values lies outside.
bool has_all(const ValueRange& range, const ColumnFacts& facts);

}  // namespace linac::data
