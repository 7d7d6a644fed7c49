#include "linac/train/trained/target_units.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/train/trained/labelled_data.h"

namespace linac::trained {
namespace {

graph::OutputUnits units_of_one(const data::ColumnRequest& target) {
  graph::OutputUnits units;
  const size_t count = std::max(target.offset.size(), target.factor.size());
  for (size_t i = 0; i < count; ++i) {
    units.scale.push_back(target.factor.empty() ? 1 : 1 / target.factor[i]);
    units.offset.push_back(target.offset.empty() ? 0 : target.offset[i]);
  }
  const bool same = std::ranges::all_of(units.scale, [](float scale) { return scale == 1; }) &&
                    std::ranges::all_of(units.offset, [](float offset) { return offset == 0; });
  return same ? graph::OutputUnits{} : units;
}

}  // namespace

std::vector<graph::OutputUnits> units_of(const std::vector<data::ColumnRequest>& targets) {
  std::vector<graph::OutputUnits> units;
  for (const data::ColumnRequest& target : targets) units.push_back(units_of_one(target));
  return units;
}

std::vector<graph::OutputUnits> units_in(const nlohmann::json& notes, size_t outputs) {
  std::vector<graph::OutputUnits> units;
  if (notes.is_object() && notes.contains("targets")) units = units_of(columns_from_json(notes["targets"]));
  units.resize(outputs);
  return units;
}

void to_units_of_training(const job::Job& job, keras::KerasModel& model) {
  const std::vector<bool> scaled = scaled_targets(job, model.graph);
  if (std::ranges::find(scaled, true) == scaled.end()) return;
  model.graph = graph::in_units_of_training(std::move(model.graph), scaled, model.order);
}

void need_value_losses(const std::vector<data::ColumnRequest>& targets, const std::vector<std::string>& losses,
                       bool from_logits) {
  for (size_t i = 0; i < targets.size(); ++i) {
    const std::string& loss = losses[i];
    const bool other = loss.find("categorical") != std::string::npos || loss.ends_with("hinge") ||
                       loss == "kl_divergence" || loss == "cosine_similarity" ||
                       (loss.starts_with("binary_") && from_logits);
    if (!other || units_of_one(targets[i]).empty()) continue;
    throw user_error(
        fmt::format("[fit] the target '{}' is scaled, and {}{} trains an output that is no value of it, so nothing "
                    "brings it back to the target's units; leave its scaling out of data.targets",
                    targets[i].describe(), loss, from_logits ? " from logits" : ""));
  }
}

}  // namespace linac::trained
