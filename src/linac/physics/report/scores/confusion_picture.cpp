#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "linac/physics/plot/number_matrix.h"
#include "linac/physics/report/scores/pictures.h"

namespace linac::report {
namespace {

plot::NumberMatrix matrix_of(const ScoreReport& report, const std::vector<double>& confusion) {
  const size_t n = report.parts.size();
  plot::NumberMatrix matrix{.size = n,
                            .names = report.parts,
                            .row_label = "true class",
                            .column_label = "decided class",
                            .shares = {},
                            .notes = {}};
  for (auto row = confusion.begin(); row != confusion.end(); row += static_cast<std::ptrdiff_t>(n)) {
    const auto end = row + static_cast<std::ptrdiff_t>(n);
    const double events = std::accumulate(row, end, 0.0);
    for (auto count = row; count != end; ++count) {
      const double share = *count / events;  // under weights below zero perhaps none
      matrix.shares.push_back(share >= 0 && share <= 1 ? share : std::numeric_limits<double>::quiet_NaN());
      matrix.notes.push_back(fmt::format("{:.7g}", *count));
    }
  }
  return matrix;
}

// Of each model; of folds all decisions added up.
std::vector<std::vector<double>> confusions_of(const ScoreReport& report) {
  std::vector<std::vector<double>> all;
  for (const scores::Classification& model : classifier(report).models) {
    if (report.folds && !all.empty())
      std::ranges::transform(all[0], model.confusion, all[0].begin(), std::plus());
    else
      all.push_back(model.confusion);
  }
  return all;
}

}  // namespace

std::vector<NamedPicture> confusion_pictures(const ScoreReport& report) {
  std::vector<NamedPicture> pictures;
  const auto confusions = confusions_of(report);
  for (size_t model = 0; model < confusions.size(); ++model) {
    const std::string of = report.compares() ? ", " + report.models[model]
                           : report.folds    ? fmt::format(", {} models together", report.models.size())
                                             : "";
    plot::Figure figure(kNarrow, kNarrowHeight);
    const plot::TextStyle style{.size = 9.5, .weight = plot::Weight::kBold};
    figure.text({16, 16}, figure.elided("confusion matrix" + of, kNarrow - 32, style), style);
    plot::draw_number_matrix(figure, {6, 30, kNarrow - 12, kNarrowHeight - 38}, matrix_of(report, confusions[model]));
    pictures.push_back({model == 0 ? "confusion" : "confusion-other", "confusion matrix" + of,
                        "What events of each true class are taken for: shares of the row, and events.",
                        figure.picture()});
  }
  return pictures;
}

}  // namespace linac::report
