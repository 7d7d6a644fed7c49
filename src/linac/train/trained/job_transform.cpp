#include "linac/train/trained/job_transform.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "linac/base/base/error.h"
#include "linac/base/expression/expression.h"

namespace linac::trained {
namespace {

/// Nothing for what is no formula: then it is a name, however odd.
std::optional<expression::Expression> formula_in(const std::string& setting) {
  try {
    return expression::parse(setting, "data.event_weight");
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool is_name(const expression::Expression& formula) {
  return formula.nodes.size() == 1 && formula.nodes[0].kind == expression::NodeKind::kColumn;
}

}  // namespace

std::string weight_column(const std::string& setting) {
  const auto formula = formula_in(setting);
  return formula && is_name(*formula) ? formula->nodes[0].name : setting;
}

void define_weight(const std::string& setting, data::Transform& transform) {
  const auto formula = formula_in(setting);
  if (formula && !is_name(*formula)) transform.define[setting] = setting;
}

data::Transform transform_of(const job::Job& job, std::span<const data::ColumnRequest> columns) {
  const job::Data& data = job.data;
  data::Transform out{.lists = {}, .define = data.define, .filter = data.filter};
  for (const job::DataLists& rule : data.lists) out.lists.push_back({rule.columns, rule.filter, rule.sort, rule.first});
  if (!data.event_weight.empty()) define_weight(data.event_weight, out);
  if (!data.split.divides()) return out;
  const job::Fold fold = job::fold_in(data.split.fold).value_or(job::Fold{});
  out.split = data::SplitRule{.key = data.split.key,
                              .validation = data.split.validation,
                              .test = data.split.test,
                              .folds = fold.folds,
                              .fold = fold.fold};
  std::set<std::string> all;
  for (const data::ColumnRequest& column : columns) {
    if (column.texts) continue;
    if (!column.column.empty()) all.insert(column.column);
    for (const data::JoinedColumn& part : column.joined) all.insert(part.column);
  }
  if (out.split->key.empty()) out.split->key.assign(all.begin(), all.end());
  return out;
}

data::Transform of_training_alone(const job::Job& job, data::Transform transform) {
  const std::string& more = job.data.train_filter;
  if (!more.empty())
    transform.filter = transform.filter.empty() ? more : fmt::format("({}) && ({})", transform.filter, more);
  return transform;
}

data::Transform transform_in(const nlohmann::json& notes) {
  if (!notes.is_object() || !notes.contains("transform")) return {};
  return data::transform_from_json(notes["transform"]);
}

}  // namespace linac::trained
