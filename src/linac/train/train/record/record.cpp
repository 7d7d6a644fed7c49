#include "linac/train/train/record/record.h"

#include <limits>
#include <utility>

namespace linac::train {

plot::LossLine loss_line(const std::vector<EpochRecord>& history, const std::string& label,
                         const std::string& measure) {
  const auto value = [&](const Measures& measures) {
    const auto found = measures.find(measure);
    return found == measures.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
  };
  plot::LossLine line{.label = label, .train = {}, .test = {}};
  for (const EpochRecord& record : history) {
    line.train.push_back(value(record.train));
    line.test.push_back(value(record.test));
  }
  return line;
}

Drawing drawing_of_losses(const std::string& tag, const std::string& title, std::vector<plot::LossChart> charts) {
  return {"losses.png", tag, [title, charts = std::move(charts)] { return plot::draw_losses(title, charts); }, true};
}

Drawing drawing_of_measures(const std::vector<Column>& columns, const std::vector<EpochRecord>& history,
                            const std::string& title) {
  std::vector<plot::LossChart> charts;
  for (const Column& column : columns) {
    charts.push_back({.title = column.heading, .axis = "", .lines = {loss_line(history, "", column.measure)}});
  }
  return drawing_of_losses("measures", title, std::move(charts));
}

}  // namespace linac::train
