#include "linac/train/train/loops/class_balance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "linac/base/base/error.h"

namespace linac::train {
namespace {

constexpr int64_t kEventsAtATime = 4096;

size_t class_of(std::span<const float> target, bool sparse) {
  if (target.size() > 1) return static_cast<size_t>(std::ranges::max_element(target) - target.begin());
  if (!sparse) return target.front() > 0.5F ? 1 : 0;
  return target.front() < 0 ? std::string::npos : static_cast<size_t>(target.front());
}

}  // namespace

std::vector<double> totals_of_classes(const data::EventTable& table, size_t target, std::optional<size_t> weight,
                                      int64_t classes, bool sparse) {
  const data::ColumnRequest& request = table.columns().at(target);
  const auto places = static_cast<size_t>(request.event_values());
  if (places != 1 && (sparse || request.event_values() != classes)) {
    throw user_error(
        fmt::format("[fit] train.fit.class_balance wants one class an event, and column '{}' has {} values",
                    request.describe(), places));
  }
  std::vector<double> totals(static_cast<size_t>(classes), 0.0);
  std::vector<float> targets, weights;
  for (int64_t first = 0; first < table.size(); first += kEventsAtATime) {
    std::vector<int64_t> events(static_cast<size_t>(std::min(kEventsAtATime, table.size() - first)));
    std::iota(events.begin(), events.end(), first);
    table.read_column(target, events, targets);
    if (weight) table.read_column(*weight, events, weights);
    for (size_t i = 0; i < events.size(); ++i) {
      const size_t found = class_of(std::span(targets).subspan(i * places, places), sparse);
      if (found >= totals.size()) {
        throw data_error(fmt::format("[fit] {}: column '{}' holds {}, no class of 0 to {}", table.files().front().url,
                                     request.describe(), targets[i * places], classes - 1));
      }
      totals[found] += weight ? double{weights[i]} : 1.0;
    }
  }
  return totals;
}

std::vector<double> balanced_weights(const std::vector<double>& totals, const std::vector<std::string>& names,
                                     const std::string& column) {
  const double all = std::accumulate(totals.begin(), totals.end(), 0.0);
  std::vector<double> weights;
  for (size_t i = 0; i < totals.size(); ++i) {
    if (!(totals[i] > 0)) {
      throw user_error(
          fmt::format("[fit] train.fit.class_balance: the training events of class {}{} (column '{}') count {} in all, "
                      "so no weight "
                      "makes them equal; select other events, or give train.fit.class_weight",
                      i, i < names.size() ? fmt::format(" ({})", names[i]) : "", column, totals[i]));
    }
    weights.push_back(all / (static_cast<double>(totals.size()) * totals[i]));
  }
  return weights;
}

}  // namespace linac::train
