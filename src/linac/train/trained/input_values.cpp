#include "linac/train/trained/input_values.h"

#include <fmt/format.h>

#include "linac/model/graph/input_rules.h"

namespace linac::trained {

void need_input_values(const data::EventTable& table, const graph::Graph& model) {
  const std::vector<graph::InputRule> rules = graph::input_rules(model);
  for (size_t i = 0; i < rules.size(); ++i) {
    const data::ColumnRequest& request = table.columns()[i];
    if (!request.offset.empty() || !request.factor.empty()) continue;
    for (const graph::Indices& one : rules[i].indices)
      table.need(i, {static_cast<double>(one.least), static_cast<double>(one.largest), true},
                 fmt::format("layer '{}' ({})", one.layer, one.taker));
  }
}

}  // namespace linac::trained
