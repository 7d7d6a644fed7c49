#pragma once
// What the values of a column are like, and what they must be. Facts are gathered while a file is packed and kept with
// it, so looking at them costs no pass over the events. Values; not thread-safe while they are gathered.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

namespace linac::data {

struct ColumnFacts {
  int64_t values = 0;
  float min = 0, max = 0;  // 0 without values
  bool whole = true;       // none has a fraction
  double sum = 0;

  void add(std::span<const float> more);
  void add(const ColumnFacts& more);
};

nlohmann::json to_json(const ColumnFacts& facts);
ColumnFacts facts_from_json(const nlohmann::json& json);

/// The values that a column may have, give or take a rounding.
struct ValueRange {
  double min = 0, max = 0;  // both may be had; infinite where there is no limit
  bool whole = false;       // no fractions

  bool has(float value) const;
  bool has_all(const ColumnFacts& facts) const;
  std::string describe() const;  // "whole numbers from 0 to 2", "numbers from 0 to 1", "numbers from 0 on"
};

}  // namespace linac::data
