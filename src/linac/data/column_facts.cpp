#include "linac/data/column_facts.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace linac::data {
void ColumnFacts::add(std::span<const float> more) {
  if (more.empty()) return;
  ColumnFacts facts{.values = static_cast<int64_t>(more.size()), .min = more[0], .max = more[0]};
  for (const float value : more) {
    facts.min = std::min(facts.min, value);
    facts.max = std::max(facts.max, value);
    facts.whole &= std::floor(value) == value;
    facts.sum += value;
  }
  add(facts);
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
