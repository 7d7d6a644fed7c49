#include "linac/base/job/branch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "linac/base/base/config.h"
#include "linac/base/base/error.h"
#include "linac/base/job/model.h"
#include "linac/base/optimizer/table.h"

namespace linac::job {
namespace {

// A key, or with a dot at its end all below it.
constexpr std::string_view kMayChange[] = {
    "train.optimizer.", "train.fit.loss_weights", "train.fit.class_weight", "train.fit.label_smoothing",
    "train.flip",       "model.loss_weights.",    "model.dropout",          "train.sync."};
// It says what a checkpoint's values are, and the start of its sums.
constexpr std::string_view kOptimizerStays[] = {"train.optimizer.name", "train.optimizer.initial_accumulator_value"};

bool is_below(std::string_view key, std::string_view row) {
  return row.ends_with('.') ? key.starts_with(row) : key == row;
}

void flatten(const YAML::Node& node, const std::string& key, std::map<std::string, std::string>& values) {
  if (!node.IsMap()) {
    YAML::Emitter text;
    text << YAML::Flow << node;
    values[key] = text.c_str();
    return;
  }
  for (const auto& entry : node)
    flatten(entry.second, (key.empty() ? "" : key + ".") + entry.first.as<std::string>(""), values);
}

std::map<std::string, std::string> values_of(const Job& job) {
  std::map<std::string, std::string> values;
  flatten(YAML::Load(to_yaml(without_free_settings(job))), "", values);
  return values;
}

}  // namespace

Job without_free_settings(Job job) {
  job.name.clear();
  job.workers = 1;
  job.train.epochs = 1;
  job.train.max_steps = 0;
  job.train.audit = {};
  job.checkpoint = {};
  job.budget = {};
  job.plan = {};
  job.distribution = {};
  job.secrets.clear();
  forget_cached_file(job.model);
  return job;
}

bool may_change_in_branch(std::string_view key) {
  return std::any_of(std::begin(kMayChange), std::end(kMayChange), [&](auto row) { return is_below(key, row); }) &&
         std::find(std::begin(kOptimizerStays), std::end(kOptimizerStays), key) == std::end(kOptimizerStays);
}

void need_branch(const Job& then, const Job& now, const std::string& where, const std::string& hint) {
  const auto refuse = [&](const std::string& key, const std::string& old_value, const std::string& value,
                          const std::string& why) {
    throw user_error(fmt::format("{}: {} is {} there and {} here: {}; {}", where, key,
                                 old_value.empty() ? "not set" : old_value, value.empty() ? "not set" : value, why,
                                 hint));
  };
  const auto old_values = values_of(then), values = values_of(now);
  auto keys = old_values;
  keys.insert(values.begin(), values.end());
  for (const auto& [key, unused] : keys) {
    const auto text = [&key = key](const auto& all) { return all.contains(key) ? all.at(key) : std::string(); };
    if (text(old_values) == text(values) || may_change_in_branch(key)) continue;
    refuse(key, text(old_values), text(values),
           "a run that goes on from a checkpoint may change rates and other numbers of its optimizer, train.sync, "
           "weights of "
           "losses, label smoothing, flip and dropout alone");
  }
  const auto slots = [](const Job& job) {
    const auto* const kind = optimizer::find(job.train.optimizer.name);
    return kind == nullptr ? std::string() : fmt::format("{}", fmt::join(kind->slots(job.train.optimizer), ", "));
  };
  if (slots(then) != slots(now))
    refuse("what the optimizer keeps", slots(then), slots(now),
           "momentum, amsgrad and centered stay on or off while a run goes on");
}

}  // namespace linac::job
