#include "linac/cli/compute/truth_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "linac/train/trained/labelled_data.h"
#include "linac/train/trained/stored_form.h"

namespace linac::cli {

int64_t places_of(const graph::Shape& output) {
  return output.size() < 2 ? 1 : graph::elements(output) / output.back();
}

int64_t width_of(const graph::Shape& output) {
  return output.empty() ? 1 : output.back();
}

size_t WantedTruth::count() const {
  return static_cast<size_t>(std::max<int64_t>(2, width_of(output)));
}

void rename(data::ColumnRequest& request, const std::string& text) {
  std::vector<std::string> names;
  std::istringstream words(text);
  for (std::string name; std::getline(words, name, ',');) names.push_back(name);
  data::ColumnRequest other = trained::request_of(names, request.shape);
  request.column = std::move(other.column);
  request.joined = std::move(other.joined);
}

data::ColumnRequest truth_column(const WantedTruth& wanted, const std::vector<std::string>& urls,
                                 const data::Transform& transform) {
  data::ColumnRequest truth{.column = "", .shape = wanted.output, .offset = {}, .factor = {}};
  rename(truth, wanted.column);
  const bool can_be_numbers = wanted.task == scores::Task::kClasses && width_of(wanted.output) > 1;
  if (can_be_numbers && truth.joined.empty() &&
      trained::has_fewer_axes(truth.column, static_cast<int>(wanted.output.size()), urls, transform)) {
    truth.shape.pop_back();
    if (truth.shape.size() == 1) truth.shape.push_back(1);  // a list that is padded like its sequence
  }
  truth.texts = texts_of(wanted, truth);
  return truth;
}

std::optional<data::TextClasses> texts_of(const WantedTruth& wanted, const data::ColumnRequest& truth) {
  const bool plain = truth.joined.empty() && truth.shape.size() <= 1 && truth.offset.empty() && truth.factor.empty();
  if (!plain || wanted.task != scores::Task::kClasses) return std::nullopt;
  return data::TextClasses{
      .count = static_cast<int64_t>(wanted.count()), .output = wanted.name, .names = wanted.classes};
}

void need_class_numbers(const data::EventTable& table, size_t i, const WantedTruth& wanted) {
  const data::ColumnRequest& truth = table.columns()[i];
  const bool numbers = wanted.task == scores::Task::kClasses && truth.offset.empty() && truth.factor.empty() &&
                       truth.event_values() == places_of(wanted.output);
  if (!numbers) return;
  table.need(i, {0, static_cast<double>(wanted.count() - 1), true},
             fmt::format("output '{}' of {} classes", wanted.name, wanted.count()));
}

}  // namespace linac::cli
