#include "linac/data/column_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace linac::data {
namespace {

constexpr double kRounding = 1e-5;  // of probabilities that float32 normalised

}  // namespace

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

bool ValueRange::has(float value) const {
  return value >= min - kRounding && value <= max + kRounding && (!whole || std::floor(value) == value);
}

bool ValueRange::has_all(const ColumnFacts& facts) const {
  return facts.values == 0 || (has(facts.min) && has(facts.max) && (!whole || facts.whole));
}

std::string ValueRange::describe() const {
  const std::string_view numbers = whole ? "whole numbers" : "numbers";
  return std::isinf(max) ? fmt::format("{} from {} on", numbers, min)
                         : fmt::format("{} from {} to {}", numbers, min, max);
}

}  // namespace linac::data
