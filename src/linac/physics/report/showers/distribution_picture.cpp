#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "linac/base/base/range.h"
#include "linac/physics/plot/ratio_chart.h"
#include "linac/physics/report/page/numbers.h"
#include "linac/physics/report/showers/histogram.h"
#include "linac/physics/report/showers/ledger.h"
#include "linac/physics/report/showers/measured.h"
#include "linac/physics/report/showers/pictures.h"

namespace linac::report {
namespace {

// Small multiples, four in a row, each over its ratio.
struct Panel {
  physics::Observable observable;
  const char* title;
  bool whole;  // its values are whole numbers
};
constexpr std::array<Panel, 16> kPanels{{
    {physics::kResponse, "response", false},
    {physics::kTotal, "energy in the image", false},
    {physics::kMaximumCell, "largest cell", false},
    {physics::kCells, "hits", true},
    {physics::kDepthMean, "mean depth", false},
    {physics::kDepthWidth, "longitudinal width", false},
    {physics::kDepthMaximum, "layer of the maximum", true},
    {physics::kAngle, "measured angle", false},
    {physics::kMeanX, "mean x", false},
    {physics::kMeanY, "mean y", false},
    {physics::kWidthX, "width in x", false},
    {physics::kWidthY, "width in y", false},
    {physics::kFirstThird, "energy in the first third", false},
    {physics::kLastThird, "energy in the last third", false},
    {physics::kRadius50, "R50", false},
    {physics::kRadius90, "R90", false},
}};
constexpr size_t kColumns = 4, kRows = kPanels.size() / kColumns;
constexpr double kTop = 44, kPanelHeight = 246, kBelow = 24, kMargin = 14, kGap = 10;
constexpr double kHead = 30, kAxis = 44, kXAxis = 42, kRatio = 48, kBetween = 9;  // of a panel
constexpr double kBins = 30, kTail = 0.005;
constexpr double kWorthSaying = 0.02;  // of the showers beyond the axis

// Where all but the outermost half per cent to either side lie.
Range central(std::span<const float> values) {
  std::vector<float> ascending;
  for (const float value : values)
    if (std::isfinite(value)) ascending.push_back(value);
  if (ascending.empty()) return {0, 1};
  std::sort(ascending.begin(), ascending.end());
  const auto last = static_cast<double>(ascending.size() - 1);
  return {ascending[static_cast<size_t>(kTail * last)], ascending[static_cast<size_t>(std::ceil((1 - kTail) * last))]};
}

// Both samples' ranges, but no more than the reference's own width beyond it.
std::vector<double> edges_for(const ShowerReport& report, const Panel& panel) {
  const Range reference = central(report.reference->values(panel.observable));
  const Range sample = central(report.sample->values(panel.observable));
  double width = reference.high - reference.low;
  if (!(width > 0)) width = std::max(1.0, std::abs(reference.high) / 10);
  double low = std::max(std::min(reference.low, sample.low), reference.low - width);
  double high = std::min(std::max(reference.high, sample.high), reference.high + width);
  low -= 0.03 * width;
  high += 0.03 * width;
  double step = (high - low) / kBins;
  if (panel.whole) {
    step = std::max(1.0, std::ceil(step));
    low = std::floor(low) - 0.5;
  }
  std::vector<double> edges{low};
  while (edges.back() < high - 1e-9 * width) edges.push_back(low + step * static_cast<double>(edges.size()));
  return edges;
}

void draw_outside(plot::Figure& figure, const plot::Rect& area, const Histogram& shares, plot::Colour colour,
                  double y) {
  const plot::TextStyle style{.size = 7.5, .colour = colour};
  if (shares.below > kWorthSaying) figure.text({area.x + 3, y}, fmt::format("‹ {:.0f} %", 100 * shares.below), style);
  plot::TextStyle right = style;
  right.align = plot::Align::kRight;
  if (shares.above > kWorthSaying)
    figure.text({area.right() - 2, y}, fmt::format("{:.0f} % ›", 100 * shares.above), right);
}

std::string ks_text(const Ledger& ledger, const Panel& panel) {
  const auto* figure = ledger.overall(std::string("ks.") + physics::observable_table()[panel.observable].name);
  if (figure == nullptr) return {};
  const std::string text = "KS " + short_number(figure->value);
  return figure->floor > 0 ? fmt::format("{} = {:.1f} × floor", text, figure->value / figure->floor) : text;
}

std::string x_label(const Panel& panel) {
  const std::string unit = physics::observable_table()[panel.observable].unit, title = panel.title;
  return title.find(unit) != std::string::npos ? title : title + ", " + unit;
}

plot::RatioChart chart_of(const ShowerReport& report, const Panel& panel, std::vector<double> edges,
                          const Histogram& reference, const Histogram& sample) {
  double highest = 0;
  for (const auto* histogram : {&reference, &sample})
    for (size_t bin = 0; bin + 1 < edges.size(); ++bin)
      highest = std::max(highest, histogram->bins.values[bin] + histogram->bins.up(bin));
  return {.title = panel.title,
          .note = {},
          .x = {.low = edges.front(),
                .high = edges.back(),
                .label = x_label(panel),
                .tick_values = panel.whole ? plot::TickValues::kWhole : plot::TickValues::kAny},
          .y = {.low = 0, .high = highest > 0 ? 1.05 * highest : 1, .label = "share of showers"},
          .edges = std::move(edges),
          .reference_name = report.reference_name,
          .sample_name = report.sample_name,
          .reference = reference.bins,
          .sample = sample.bins,
          .marks = {},
          .ratio_label = "ratio"};
}

void draw_panel(plot::Figure& figure, const plot::Rect& outer, const ShowerReport& report, const Ledger& ledger,
                const Panel& panel) {
  const plot::Rect ratio{outer.x + kAxis, outer.bottom() - kXAxis - kRatio, outer.width - kAxis, kRatio};
  const plot::Rect area{ratio.x, outer.y + kHead, ratio.width, ratio.y - kBetween - outer.y - kHead};
  std::vector<double> edges = edges_for(report, panel);
  const Histogram reference = histogram_of(report.reference->values(panel.observable), edges);
  const Histogram sample = histogram_of(report.sample->values(panel.observable), edges);
  figure.text({area.x, outer.y + 8}, panel.title, {.size = 9.5, .weight = plot::Weight::kBold});
  figure.text({area.x, outer.y + 21}, ks_text(ledger, panel), {.size = 8, .colour = plot::kSoftInk});
  plot::draw_ratio_panels(figure, {area, ratio}, chart_of(report, panel, std::move(edges), reference, sample));
  draw_outside(figure, area, reference, plot::kReferenceColour, area.y + 6);
  draw_outside(figure, area, sample, plot::kSampleColour, area.y + 17);
}

}  // namespace

NamedPicture distribution_picture(const ShowerReport& report) {
  const Ledger ledger(report);
  plot::Figure figure(kWide, kTop + kRows * kPanelHeight + kBelow);
  figure.text({kMargin, 20}, "distributions of the observables", {.size = 12, .weight = plot::Weight::kBold});
  plot::draw_pair_legend(figure, {kWide - kMargin, 20}, report.reference_name, report.sample_name,
                         plot::BinStyle::kSteps, kWide / 2);
  const double width = (kWide - 2 * kMargin - (kColumns - 1) * kGap) / kColumns;
  for (size_t i = 0; i < kPanels.size(); ++i) {
    const double left = kMargin + static_cast<double>(i % kColumns) * (width + kGap);
    const double top = kTop + static_cast<double>(i / kColumns) * kPanelHeight;
    draw_panel(figure, {left, top, width, kPanelHeight}, report, ledger, kPanels[i]);
  }
  figure.text({kMargin, kTop + kRows * kPanelHeight + kBelow / 2},
              fmt::format("{} · shares of all showers; ‹ ›: beyond the axis, from {:.0f} % on · bands: one standard "
                          "deviation · all cells; hits: cells above {:g} GeV",
                          counts(report), 100 * kWorthSaying, report.hit_threshold_gev),
              {.size = 8, .colour = plot::kSoftInk});
  return {
      "distributions", "distributions",
      "Histograms of the observables over all showers, below them their ratio, with the Kolmogorov-Smirnov distance "
      "of each.",
      figure.picture()};
}

}  // namespace linac::report
