#include "linac/train/trained/input_values.h"

#include <fmt/format.h>

#include "linac/model/graph/input_rules.h"

namespace linac::trained {
namespace {

constexpr double kFractionMax = 1023.0 / 1024;

}  // namespace

void need_input_values(const data::EventTable& table, const graph::Graph& model) {
  const std::vector<graph::InputRule> rules = graph::input_rules(model);
  for (size_t i = 0; i < rules.size(); ++i) {
    const data::ColumnRequest& request = table.columns()[i];
    if (!request.offset.empty() || !request.factor.empty()) continue;
    for (const graph::Indices& one : rules[i].indices) {
      // Without fractions, of what lies between 0 and the next number outside.
      const double more = one.cut ? kFractionMax : 0, least = static_cast<double>(one.least) - more,
                   largest = static_cast<double>(one.largest) + more;
      table.need(i, {least, largest, !one.cut},
                 fmt::format("layer '{}' ({}{})", one.layer, one.taker, one.cut ? ", fractions cut off" : ""));
    }
  }
}

}  // namespace linac::trained
