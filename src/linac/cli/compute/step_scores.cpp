#include "linac/cli/compute/step_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/event_arrays.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/storage/source.h"

namespace linac::cli {
namespace {

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw data_error(fmt::format("[evaluate] {}: {}", file, why));
}

/// Of equal lists: values (events, rows, row_size).
struct Lists {
  std::vector<float> values;
  int64_t events = 0, rows = 0, row_size = 1;
};

Lists read_lists(const std::string& file, const std::string& name) {
  const auto source = data::readable_source(storage::Source::open(file));
  const auto reader = data::open_table_reader(source, {{.name = name, .shape = {}, .as_stored = true}});
  Lists lists;
  std::vector<data::RaggedColumn> block;
  for (reader->next(block); !block.empty() && !block[0].rows.empty(); reader->next(block)) {
    const data::RaggedColumn& column = block[0];
    if (lists.events == 0) lists.rows = column.rows.front();
    for (const uint32_t rows : column.rows)
      if (rows != lists.rows) refuse(file, fmt::format("'{}' has lists of more than one length", name));
    if (column.row_size > 0) lists.row_size = column.row_size;
    lists.events += static_cast<int64_t>(column.rows.size());
    lists.values.insert(lists.values.end(), column.values.begin(), column.values.end());
  }
  return lists;
}

}  // namespace

std::optional<StepScores> read_step_scores(const std::string& file, const std::string& name) {
  const std::vector<std::string> noted = data::array_texts(file, name, data::kStepsAttribute);
  if (noted.size() != 1) return std::nullopt;
  Lists scores = read_lists(file, name);
  const Lists steps = read_lists(file, noted[0]);
  if (steps.row_size != 1 || steps.rows != scores.rows || steps.events != scores.events) {
    refuse(file, fmt::format("'{}' has {} events of {} x {} steps, but '{}' has {} of {}", noted[0], steps.events,
                             steps.rows, steps.row_size, name, scores.events, scores.rows));
  }
  if (scores.events == 0 || scores.rows == 0) refuse(file, fmt::format("'{}' has no step of any event", name));
  const auto odd = std::ranges::find_if(steps.values, [](float there) { return there != 0 && there != 1; });
  if (odd != steps.values.end()) {
    refuse(file, fmt::format("event {}: '{}' holds {}, wanted is 1 for a step that is there and 0 for one that is not",
                             (odd - steps.values.begin()) / steps.rows, noted[0], *odd));
  }
  return StepScores{.values = std::move(scores.values),
                    .events = scores.events,
                    .steps = scores.rows,
                    .width = scores.row_size,
                    .there = {steps.values.begin(), steps.values.end()}};
}

std::vector<std::string> without_steps(const std::string& file, std::vector<std::string> names) {
  std::set<std::string> of_steps;
  for (const std::string& name : names)
    for (const std::string& noted : data::array_texts(file, name, data::kStepsAttribute)) of_steps.insert(noted);
  std::erase_if(names, [&](const std::string& name) { return of_steps.contains(name); });
  return names;
}

}  // namespace linac::cli
