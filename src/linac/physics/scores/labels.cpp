#include "linac/physics/scores/labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/error.h"

namespace linac::scores {
namespace {

constexpr double kSumTolerance = 1e-3;  // of a row's probabilities, also after half precision

bool is_one_hot(std::span<const float> row) {
  const auto ones = std::count(row.begin(), row.end(), 1.0F), zeros = std::count(row.begin(), row.end(), 0.0F);
  return ones == 1 && zeros + 1 == static_cast<std::ptrdiff_t>(row.size());
}

std::vector<uint32_t> from_one_hot(const Table& targets) {
  std::vector<uint32_t> truth;
  for (size_t event = 0; event < targets.events(); ++event) {
    const auto row = targets.values.subspan(event * targets.width, targets.width);
    if (!is_one_hot(row)) {
      throw data_error(
          fmt::format("[scores] {}: event {} is ({:g}), not one-hot; wanted are a single 1 among zeros, or class "
                      "numbers 0, 1, ...; --task labels judges several labels at once, --task regression numbers",
                      targets.name, targets.event(event), fmt::join(row, ", ")));
    }
    truth.push_back(static_cast<uint32_t>(std::find(row.begin(), row.end(), 1.0F) - row.begin()));
  }
  return truth;
}

std::vector<uint32_t> from_numbers(const Table& targets, size_t classes) {
  std::vector<uint32_t> truth;
  for (size_t event = 0; event < targets.events(); ++event) {
    const float value = targets.values[event];
    if (!(value >= 0 && value < static_cast<float>(classes) && value == std::floor(value))) {
      throw data_error(
          fmt::format("[scores] {}: event {} is {:g}, not one of the class numbers 0 to {} that the predictions know; "
                      "of an output that is no class: --task regression",
                      targets.name, targets.event(event), value, classes - 1));
    }
    truth.push_back(static_cast<uint32_t>(value));
  }
  return truth;
}

}  // namespace

Labels::Labels(const Table& targets, size_t columns, std::vector<std::string> classes) : names_(std::move(classes)) {
  const size_t count = std::max<size_t>(2, columns);
  if (targets.width != 1 && targets.width != count) {
    throw data_error(fmt::format("[scores] {} has {} columns, but the predictions know {} classes", targets.name,
                                 targets.width, count));
  }
  if (!names_.empty() && names_.size() != count) {
    throw user_error(fmt::format("[scores] {} classes are named ({}), but the predictions know {}", names_.size(),
                                 fmt::join(names_, ", "), count));
  }
  for (size_t i = names_.size(); i < count; ++i) names_.push_back(fmt::format("class {}", i));
  truth_ = targets.width == 1 ? from_numbers(targets, count) : from_one_hot(targets);
  support_.resize(count);
  for (const uint32_t label : truth_) ++support_[label];
  const auto present = std::count_if(support_.begin(), support_.end(), [](int64_t events) { return events > 0; });
  if (present < 2) {
    throw user_error(
        fmt::format("[scores] {}: {}; separation needs events of two classes", targets.name,
                    truth_.empty() ? "no events"
                                   : fmt::format("all {} events are of '{}'", truth_.size(), names_[truth_.front()])));
  }
}

Labels Labels::of_label(const Table& targets, size_t label) {
  Labels labels;
  labels.names_ = {"without", "with"};
  labels.support_.resize(2);
  for (size_t event = 0; event < targets.events(); ++event) {
    const float value = targets.values[event * targets.width + label];
    if (value != 0 && value != 1) {
      throw data_error(
          fmt::format("[scores] {}: event {} has {:g} for label {}; wanted is 1 or 0, whether it has the label; --task "
                      "classes judges classes of which it has one, --task regression numbers",
                      targets.name, targets.event(event), value, label));
    }
    labels.truth_.push_back(static_cast<uint32_t>(value));
    ++labels.support_[labels.truth_.back()];
  }
  return labels;
}

std::vector<uint8_t> Labels::is(size_t label) const {
  std::vector<uint8_t> result(events());
  for (size_t event = 0; event < events(); ++event) result[event] = truth_[event] == label ? 1 : 0;
  return result;
}

Predictions::Predictions(const Table& values, const Labels& labels) : table_(values) {
  if (values.events() != labels.events()) {
    throw data_error(fmt::format("[scores] {} has {} events, but the targets have {}", values.name, values.events(),
                                 labels.events()));
  }
  if (values.width != labels.classes() && (values.width != 1 || labels.classes() != 2)) {
    throw data_error(fmt::format("[scores] {} has {} columns, but there are {} classes", values.name, values.width,
                                 labels.classes()));
  }
  for (size_t event = 0; event < events(); ++event) {
    const auto row = values.values.subspan(event * values.width, values.width);
    double sum = 0;
    for (const float value : row) {
      if (!(value >= 0 && value <= 1)) {
        throw data_error(
            fmt::format("[scores] {}: event {} has {:g}, no probability; --logits applies a {}, --task regression "
                        "judges numbers",
                        values.name, values.event(event), value, values.width == 1 ? "sigmoid" : "softmax"));
      }
      sum += value;
    }
    if (values.width > 1 && std::abs(sum - 1) > kSumTolerance) {
      throw data_error(
          fmt::format("[scores] {}: event {} has probabilities that add up to {:.4g}; --logits applies a softmax, "
                      "--task labels judges several labels at once",
                      values.name, values.event(event), sum));
    }
  }
}

size_t Predictions::decision(size_t event) const {
  if (binary()) return table_.values[event] >= 0.5F ? 1 : 0;
  const auto row = table_.values.subspan(event * table_.width, table_.width);
  return static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

size_t Predictions::rank(size_t event, size_t label) const {
  if (binary()) return decision(event) == label ? 0 : 1;
  const auto row = table_.values.subspan(event * table_.width, table_.width);
  size_t ahead = 0;
  for (size_t other = 0; other < row.size(); ++other)
    ahead += row[other] > row[label] || (row[other] == row[label] && other < label) ? 1 : 0;
  return ahead;
}

std::vector<float> Predictions::scores(size_t label) const {
  std::vector<float> result(events());
  for (size_t event = 0; event < events(); ++event) {
    const float value = table_.values[event * table_.width + (binary() ? 0 : label)];
    result[event] = binary() && label == 0 ? -value : value;  // 1 - value would tie what is close to 0
  }
  return result;
}

}  // namespace linac::scores
