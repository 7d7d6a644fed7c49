#include "linac/train/record.h"

#include <limits>

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

DrawnPicture draw_measures(const std::vector<Column>& columns, const std::vector<EpochRecord>& history,
                           const std::string& title, const RunFolder& folder) {
  std::vector<plot::LossChart> charts;
  for (const Column& column : columns) {
    charts.push_back({.title = column.heading, .axis = "", .lines = {loss_line(history, "", column.measure)}});
  }
  const auto picture = plot::write_loss_png(folder.images() / "losses.png", title, charts);
  return {"measures", picture.png, picture.width, picture.height};
}

}  // namespace linac::train
