#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "linac/physics/plot/number_matrix.h"
#include "linac/physics/report/scores/pictures.h"

namespace linac::report {
namespace {

plot::NumberMatrix matrix_of(const ScoreReport& report, const scores::Classification& model) {
  const size_t n = report.parts.size();
  plot::NumberMatrix matrix{.size = n,
                            .names = report.parts,
                            .row_label = "true class",
                            .column_label = "decided class",
                            .shares = {},
                            .notes = {}};
  for (auto row = model.confusion.begin(); row != model.confusion.end(); row += static_cast<std::ptrdiff_t>(n)) {
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

}  // namespace

std::vector<NamedPicture> confusion_pictures(const ScoreReport& report) {
  std::vector<NamedPicture> pictures;
  for (size_t model = 0; model < report.models.size(); ++model) {
    const std::string of = report.compares() ? ", " + report.models[model] : "";
    plot::Figure figure(kNarrow, kNarrowHeight);
    const plot::TextStyle style{.size = 9.5, .weight = plot::Weight::kBold};
    figure.text({16, 16}, figure.elided("confusion matrix" + of, kNarrow - 32, style), style);
    plot::draw_number_matrix(figure, {6, 30, kNarrow - 12, kNarrowHeight - 38},
                             matrix_of(report, classifier(report).models[model]));
    pictures.push_back({model == 0 ? "confusion" : "confusion-other", "confusion matrix" + of,
                        "What events of each true class are taken for: shares of the row, and events.",
                        figure.picture()});
  }
  return pictures;
}

}  // namespace linac::report
