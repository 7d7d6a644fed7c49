#include "linac/io/data/column_facts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "linac/base/base/float_clones.h"

namespace linac::data {
namespace {

// So many values at a time, each in a lane of its own. As vectors: of loops over lanes the compiler makes none.
constexpr size_t kLanes = 8, kHalf = kLanes / 2;
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));
using Flags = int32_t __attribute__((vector_size(kLanes * sizeof(int32_t))));
using HalfFloats = float __attribute__((vector_size(kHalf * sizeof(float))));
using Doubles = double __attribute__((vector_size(kHalf * sizeof(double))));

/// Of a whole number of lanes, at least one.
LINAC_FLOAT_CLONES ColumnFacts facts_of_lanes(const float* values, size_t count) {
  constexpr float kAllWhole = 0x1p23F;  // from here on floats have no fraction
  Floats min, max;
  std::memcpy(&min, values, sizeof min);
  max = min;
  Doubles low_sum = {}, high_sum = {};
  Flags fraction = {};
  for (size_t first = 0; first < count; first += kLanes) {
    Floats value;
    HalfFloats low, high;
    std::memcpy(&value, values + first, sizeof value);
    std::memcpy(&low, values + first, sizeof low);
    std::memcpy(&high, values + first + kHalf, sizeof high);
    min = value < min ? value : min;
    max = value > max ? value : max;
    low_sum += __builtin_convertvector(low, Doubles);
    high_sum += __builtin_convertvector(high, Doubles);
    const Floats size = value < 0 ? -value : value;
    fraction |= (size < kAllWhole) & ((size + kAllWhole) - kAllWhole != size);  // the addition rounds to whole numbers
  }
  ColumnFacts facts{.values = static_cast<int64_t>(count), .min = min[0], .max = max[0]};
  for (size_t i = 0; i < kLanes; ++i) {
    facts.min = std::min(facts.min, min[i]);
    facts.max = std::max(facts.max, max[i]);
    facts.whole = facts.whole && fraction[i] == 0;
  }
  for (size_t i = 0; i < kHalf; ++i) facts.sum += low_sum[i] + high_sum[i];
  return facts;
}

}  // namespace

void ColumnFacts::add(std::span<const float> more) {
  const size_t lanes = more.size() / kLanes * kLanes;
  if (lanes > 0) add(facts_of_lanes(more.data(), lanes));
  for (const float value : more.subspan(lanes))
    add(ColumnFacts{.values = 1, .min = value, .max = value, .whole = std::floor(value) == value, .sum = value});
}

void ColumnFacts::add(const ColumnFacts& more) {
  if (more.values == 0) return;
  min = values == 0 ? more.min : std::min(min, more.min);
  max = values == 0 ? more.max : std::max(max, more.max);
  whole = whole && more.whole;
  sum += more.sum;
  values += more.values;
}

nlohmann::json to_json(const ColumnFacts& facts) {
  return {{"values", facts.values}, {"min", facts.min}, {"max", facts.max}, {"whole", facts.whole}, {"sum", facts.sum}};
}

ColumnFacts facts_from_json(const nlohmann::json& json) {
  return {.values = json.at("values"),
          .min = json.at("min"),
          .max = json.at("max"),
          .whole = json.at("whole"),
          .sum = json.at("sum")};
}

bool has_all(const ValueRange& range, const ColumnFacts& facts) {
  return facts.values == 0 || (range.has(facts.min) && range.has(facts.max) && (!range.whole || facts.whole));
}

}  // namespace linac::data
