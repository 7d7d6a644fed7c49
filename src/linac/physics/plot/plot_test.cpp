#include <cairo.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/physics/plot/categories.h"
#include "linac/physics/plot/colour_scale.h"
#include "linac/physics/plot/line_chart.h"
#include "linac/physics/plot/losses.h"
#include "linac/physics/plot/number_matrix.h"
#include "linac/physics/plot/projections.h"
#include "linac/physics/plot/ratio_chart.h"

namespace linac::plot {
namespace {

// The pixels of an encoded picture.
class Pixels {
 public:
  explicit Pixels(const Picture& picture) : left_(picture.png) {
    surface_ = cairo_image_surface_create_from_png_stream(
        [](void* self, unsigned char* bytes, unsigned int size) {
          std::string& left = static_cast<Pixels*>(self)->left_;
          if (left.size() < size) return CAIRO_STATUS_READ_ERROR;
          left.copy(reinterpret_cast<char*>(bytes), size);
          left.erase(0, size);
          return CAIRO_STATUS_SUCCESS;
        },
        this);
    EXPECT_EQ(cairo_surface_status(surface_), CAIRO_STATUS_SUCCESS);
    EXPECT_EQ(width(), picture.width);
    EXPECT_EQ(height(), picture.height);
  }
  ~Pixels() { cairo_surface_destroy(surface_); }
  Pixels(const Pixels&) = delete;
  Pixels& operator=(const Pixels&) = delete;

  int width() const { return cairo_image_surface_get_width(surface_); }
  int height() const { return cairo_image_surface_get_height(surface_); }
  uint32_t at(int x, int y) const {
    const unsigned char* row = cairo_image_surface_get_data(surface_) + y * cairo_image_surface_get_stride(surface_);
    return reinterpret_cast<const uint32_t*>(row)[x] & 0xFFFFFF;
  }
  // Whether it has this colour, but for rounding.
  bool is(int x, int y, uint32_t rgb) const {
    const auto close = [&, pixel = at(x, y)](int shift) {
      return std::abs(static_cast<int>(pixel >> shift & 0xFF) - static_cast<int>(rgb >> shift & 0xFF)) <= 1;
    };
    return close(16) && close(8) && close(0);
  }
  int64_t count(uint32_t rgb) const {
    int64_t found = 0;
    for (int y = 0; y < height(); ++y)
      for (int x = 0; x < width(); ++x) found += is(x, y, rgb) ? 1 : 0;
    return found;
  }

 private:
  std::string left_;
  cairo_surface_t* surface_;
};

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> result;
  for (const Tick& tick : ticks) result.push_back(tick.label);
  return result;
}

using Labels = std::vector<std::string>;

TEST(Axis, TicksAreRound) {
  EXPECT_EQ(labels(ticks({.low = 0, .high = 51}, 6)), (Labels{"0", "10", "20", "30", "40", "50"}));
  EXPECT_EQ(labels(ticks({.low = 0, .high = 0.103}, 5)), (Labels{"0", "0.05", "0.1"}));
  EXPECT_EQ(labels(ticks({.low = -1, .high = 1}, 4)), (Labels{"-1", "-0.5", "0", "0.5", "1"}));
  EXPECT_EQ(labels(ticks({.low = 0.5, .high = 1.5, .tick_values = TickValues::kWhole}, 10)), (Labels{"1"}));
}

TEST(Axis, LogarithmicTicksArePowersOfTen) {
  EXPECT_EQ(labels(ticks({.low = 1e-3, .high = 1, .scale = Scale::kLog}, 6)), (Labels{"10⁻³", "10⁻²", "10⁻¹", "10⁰"}));
  EXPECT_EQ(labels(ticks({.low = 1e-5, .high = 1, .scale = Scale::kLog}, 3)), (Labels{"10⁻⁴", "10⁻²", "10⁰"}));
  EXPECT_EQ(labels(ticks({.low = 2, .high = 20, .scale = Scale::kLog}, 6)), (Labels{"2", "5", "10", "20"}));
  const auto plain = [](double high) {
    return labels(ticks({.low = 1, .high = high, .scale = Scale::kLog, .tick_values = TickValues::kPlain}, 6));
  };
  EXPECT_EQ(plain(100), (Labels{"1", "2", "5", "10", "20", "50", "100"}));
  EXPECT_EQ(plain(1e4), (Labels{"10⁰", "10¹", "10²", "10³", "10⁴"}));
  EXPECT_EQ(power_of_ten(12), "10¹²");
}

TEST(Axis, GoesAroundWhatIsFinite) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  const Axis linear = axis_around({3, nan, 10, infinity}, Scale::kLinear, "loss");
  EXPECT_EQ(linear.low, 0);
  EXPECT_GT(linear.high, 10);
  EXPECT_LT(linear.high, 11);
  const Axis log = axis_around({0, 3e-3, 40, -1}, Scale::kLog, "loss");
  EXPECT_NEAR(log.low, 2e-3, 1e-12);
  EXPECT_NEAR(log.high, 50, 1e-9);
  for (const Scale scale : {Scale::kLinear, Scale::kLog}) {
    for (const auto& values : {std::vector<double>{}, {nan}, {5}, {-2, -2}, {0}}) {
      const Axis axis = axis_around(values, scale, "");
      EXPECT_LT(axis.low, axis.high);
      EXPECT_TRUE(scale == Scale::kLinear || axis.low > 0);
      EXPECT_FALSE(ticks(axis, 5).empty());
    }
  }
}

TEST(Axis, PlacesStayFinite) {
  const Axis x{.low = 0, .high = 10}, y{.low = 0.1, .high = 100, .scale = Scale::kLog};
  const Rect area{10, 20, 100, 200};
  EXPECT_EQ(place(area, x, y, {5, 0.1}).x, 60);
  EXPECT_EQ(place(area, x, y, {5, 0.1}).y, 220);
  EXPECT_NEAR(place(area, x, y, {5, 100}).y, 20, 1e-9);
  EXPECT_TRUE(std::isfinite(place(area, x, y, {5, 0}).y));
  EXPECT_GT(place(area, x, y, {5, 0}).y, area.bottom());
}

TEST(Viridis, GrowsEvenlyBrighter) {
  double before = -1;
  for (int i = 0; i <= 50; ++i) {
    const Colour colour = viridis(i / 50.0);
    const double luma = 0.2126 * colour.red + 0.7152 * colour.green + 0.0722 * colour.blue;
    EXPECT_GT(luma, before) << i;
    before = luma;
  }
  EXPECT_EQ(viridis(-3).red, viridis(0).red);
  EXPECT_EQ(viridis(7).green, viridis(1).green);
}

TEST(Diverging, IsPaleInTheMiddle) {
  EXPECT_GT(diverging(0).blue, diverging(0).red);
  EXPECT_GT(diverging(1).red, diverging(1).blue);
  EXPECT_GT(std::min({diverging(0.5).red, diverging(0.5).green, diverging(0.5).blue}), 0.95);
}

TEST(Text, IsElidedBetweenCharacters) {
  const Figure figure(100, 100);
  EXPECT_EQ(figure.elided("short", 90), "short");
  const std::string cut = figure.elided("λλλλλλλλλλλλλλλλλλλλλλλλ", 50);
  EXPECT_LE(figure.text_width(cut), 50);
  EXPECT_TRUE(cut.ends_with("λ…"));
  EXPECT_EQ((cut.size() - 3) % 2, 0U);
}

TEST(HeatMap, RowsGoUpwards) {
  Figure figure(100, 100);
  const std::vector<double> values{0, 0, 0, 1, 0, 0};  // 2 columns, 3 rows; the 1 is in row 1, column 1
  draw_heat_map(figure, {20, 10, 60, 60},
                {.columns = 2, .rows = 3, .values = values, .x = {}, .y = {}, .colour = {.low = 0, .high = 1}});
  const Pixels pixels(figure.picture());
  EXPECT_EQ(pixels.at(2 * 65, 2 * 40), 0xFDE725U);
  EXPECT_EQ(pixels.at(2 * 35, 2 * 40), 0x440154U);
  EXPECT_EQ(pixels.at(2 * 65, 2 * 60), 0x440154U);
  EXPECT_EQ(pixels.at(2 * 90, 2 * 40), 0xFFFFFFU);
}

TEST(LineChart, DrawsItsCurveAndLeavesGaps) {
  Figure figure(300, 200);
  const Colour red{1, 0, 0};
  LineChart chart{.title = "t", .x = {.low = 0, .high = 10}, .y = {.low = 0, .high = 2}, .series = {}};
  chart.series.push_back({.label = "", .colour = red, .points = points_from(0, std::vector<double>(30, 1))});
  chart.series[0].points[4].y = std::nan("");
  draw_line_chart(figure, {0, 0, 300, 200}, chart, Legend::kNone);
  const Pixels pixels(figure.picture());
  // Half-way up the plot area; x from 46 to 292.
  const int y = static_cast<int>(2 * (22 + (200 - 22 - 32) / 2.0));
  const auto x = [](double value) { return static_cast<int>(2 * (46 + 246 * value / 10)); };
  EXPECT_EQ(pixels.at(x(2), y), 0xFF0000U);
  EXPECT_NE(pixels.at(x(4), y), 0xFF0000U) << "the gap";
  EXPECT_EQ(pixels.at(x(8), y), 0xFF0000U);
}

TEST(Ratio, FollowsFromBoth) {
  const Binned reference{.values = {2, 0, 4}, .errors = {1, 1, 1}}, sample{.values = {3, 1, 4}, .errors = {1, 1, 2}};
  const Binned ratio = ratio_of(sample, reference), itself = ratio_of(reference, reference);
  EXPECT_EQ(ratio.values[0], 1.5);
  EXPECT_TRUE(std::isnan(ratio.values[1]));
  EXPECT_EQ(ratio.errors[2], 0.5);
  EXPECT_EQ(itself.values[2], 1);
  EXPECT_EQ(itself.errors[2], 0.25);
}

TEST(Ratio, ItsAxisHoldsWhatIsKnown) {
  const Binned reference{.values = {1, 1, 1e-6}, .errors = {}};
  const auto axis = [&](std::vector<double> values) {
    return ratio_axis({.values = std::move(values), .errors = {}}, reference, "");
  };
  EXPECT_NEAR(axis({1.01, 0.98, 1}).high, 1.05, 1e-12);
  EXPECT_NEAR(axis({1.3, 0.98, 1}).low, 0.5, 1e-12);
  EXPECT_NEAR(axis({1.01, 0.98, 900}).high, 1.05, 1e-12) << "a trace does not decide";
  EXPECT_EQ(axis({2.5, 1, 1}).high, 3);
  EXPECT_EQ(axis({50, 60, 1}).scale, Scale::kLog);
  EXPECT_EQ(axis({50, 60, 1}).high, 100);
  for (const auto& values : {std::vector<double>{}, {std::nan(""), std::nan(""), std::nan("")}, {0, 0, 0}}) {
    const Axis odd = ratio_axis({.values = values, .errors = {}}, {.values = values, .errors = {}}, "");
    EXPECT_LT(odd.low, odd.high);
  }
}

TEST(RatioChart, DrawsBothCurvesAndTheRatio) {
  RatioChart chart{.title = "t",
                   .note = "n",
                   .x = {.low = 0, .high = 2},
                   .y = {.low = 0, .high = 4},
                   .edges = {0, 1, 2},
                   .reference_name = "a",
                   .sample_name = "b",
                   .reference = {.values = {2, 2}, .errors = {0.1, 0.1}},
                   .sample = {.values = {3, std::nan("")}, .errors = {0.1, 0.1}},
                   .marks = {}};
  for (const BinStyle style : {BinStyle::kSteps, BinStyle::kPoints}) {
    chart.style = style;
    Figure with(400, 300), without(400, 300);
    draw_ratio_chart(with, {0, 0, 400, 300}, chart);
    RatioChart bare = chart;
    bare.sample.values[0] = std::nan("");
    draw_ratio_chart(without, {0, 0, 400, 300}, bare);
    EXPECT_GT(Pixels(with.picture()).count(0xE35733), Pixels(without.picture()).count(0xE35733) + 40);
    EXPECT_GT(Pixels(without.picture()).count(0x545C6B), 40) << "the reference";
  }
}

// A straight shower: one column of cells lit in each plane.
struct Shower {
  explicit Shower(double energy) : xy(20), xz(12), yz(15), longitudinal(3, energy), transverse_x(4), transverse_y(5) {
    xy[1 * 5 + 2] = 3 * energy;
    for (size_t k = 0; k < 3; ++k) xz[1 * 3 + k] = yz[2 * 3 + k] = energy;
    transverse_x[1] = transverse_y[2] = 3 * energy;
  }
  ShowerMaps maps() const { return {4, 5, 3, xy, xz, yz, longitudinal, transverse_x, transverse_y}; }
  std::vector<double> xy, xz, yz, longitudinal, transverse_x, transverse_y;
};

const ProjectionCaption kCaption{.run = "run",
                                 .epoch = 3,
                                 .showers = 8,
                                 .energy_gev_min = 10,
                                 .energy_gev_max = 100,
                                 .angle_rad_min = 1,
                                 .angle_rad_max = 2};

TEST(Projections, ShareOneColourScaleAColumn) {
  const Shower strong(0.1), weak(1e-3);
  const Pixels same(draw_projections(strong.maps(), strong.maps(), kCaption));
  const Pixels weaker(draw_projections(weak.maps(), strong.maps(), kCaption));
  // The brightest colour fills the lit cells of both rows, or of the reference alone.
  const int64_t both = same.count(0xFDE725), alone = weaker.count(0xFDE725);
  EXPECT_GT(alone, 1000);
  EXPECT_GT(both, alone * 19 / 10);
  EXPECT_LT(both, alone * 21 / 10);
}

TEST(MapSheet, SharesOneColourScale) {
  const Shower strong(0.1), weak(1e-3);
  const auto sheet = [](const Shower& first, const Shower& second) {
    return Pixels(
               draw_map_sheet({.title = "t",
                               .facts = "f",
                               .note = "n",
                               .colour_label = "GeV",
                               .rows = {{"a", kReferenceColour, first.maps()}, {"b", kSampleColour, second.maps()}}}))
        .count(0xFDE725);
  };
  // Of each row only the front view reaches the highest energy; of a weak row no map does.
  EXPECT_GT(sheet(strong, weak), 1000);
  EXPECT_GT(sheet(strong, strong), sheet(strong, weak) * 19 / 10);
}

TEST(AxisCloseTo, LeavesOutWhatNothingReaches) {
  const Axis flat = axis_close_to({100, 102, std::nan("")}, "loss");
  EXPECT_GT(flat.low, 99);
  EXPECT_LT(flat.low, 100);
  EXPECT_GT(flat.high, 102);
  EXPECT_LT(flat.high, 103);
  EXPECT_EQ(axis_close_to({0.01, 1}, "").low, 0) << "no room for a value below 0 where there is none";
  EXPECT_LT(axis_close_to({-1, 1}, "").low, -1);
  for (const std::vector<double>& values : {std::vector<double>{}, {7}, {0}}) {
    const Axis axis = axis_close_to(values, "");
    EXPECT_LT(axis.low, axis.high);
  }
}

TEST(Projections, SameInputSameBytes) {
  const Shower a(0.1), b(0.2);
  EXPECT_EQ(draw_projections(a.maps(), b.maps(), kCaption).png, draw_projections(a.maps(), b.maps(), kCaption).png);
}

TEST(Projections, CollapsedAndBrokenShowersCanBeDrawn) {
  const Shower good(0.1), empty(0), broken(std::nan(""));
  const Pixels first(draw_projections(empty.maps(), good.maps(), kCaption));
  EXPECT_GT(first.count(0xFDE725), 1000);
  const Pixels second(draw_projections(broken.maps(), empty.maps(), {}));
  EXPECT_GT(second.count(0x440154), 1000);
}

TEST(Losses, DrawsCurvesAndAFileHoldsThem) {
  const TemporaryFolder folder;
  const auto path = folder / "losses.png";
  const std::vector<LossChart> charts{
      {.title = "discriminator", .lines = {{"real", {9, 8, 7}, {9.5, 9, 8}}, {"generated", {9, std::nan(""), 6}, {}}}},
      {.title = "generator", .lines = {{"", {900, 20, 11}, {}}}},
      {.title = "accuracy", .axis = "", .lines = {{"", {0.5, 0.7, 0.8}, {0.5, 0.6, 0.7}}}}};
  const Picture picture = draw_losses("run", charts);
  write_picture(path, picture);
  EXPECT_EQ(read_file(path), picture.png);
  EXPECT_TRUE(picture.png.starts_with("\x89PNG"));
  const Pixels pixels(picture);
  EXPECT_GT(pixels.count(0x2B63AD), 100) << "the discriminator's curve on real showers";
}

// The loss goes from 102 to 100: it takes most of the height, not a fiftieth of it.
TEST(Losses, AFlatCurveShowsItsChange) {
  const Pixels pixels(draw_losses("run", {{.title = "loss", .lines = {{"", {102, 101.6, 101, 100.3, 100}, {}}}}}));
  int top = pixels.height(), bottom = 0;
  for (int y = 100; y < pixels.height(); ++y) {  // below title and legend
    for (int x = 0; x < pixels.width(); ++x) {
      if (!pixels.is(x, y, 0x2B63AD)) continue;
      top = std::min(top, y);
      bottom = std::max(bottom, y);
    }
  }
  EXPECT_GT(bottom - top, pixels.height() / 2);
}

TEST(LineChart, ABandSurroundsItsCurve) {
  Figure figure(300, 200);
  Series curve{.label = "c", .colour = {1, 0, 0}, .points = {{0, 0.5}, {1, 0.5}}};
  curve.band = {{0, 0.2, 0.8}, {0.5, std::nan(""), std::nan("")}, {1, 0.2, std::numeric_limits<double>::infinity()}};
  draw_line_chart(figure, {0, 0, 300, 200}, {.title = "", .x = {}, .y = {}, .series = {curve}}, Legend::kNone);
  const Pixels pixels(figure.picture());
  EXPECT_GT(pixels.count(0xFFCCCC), 30'000) << "a fifth of red, above and below the curve";
}

TEST(Losses, NothingYet) {
  const Pixels pixels(draw_losses("run", {{.title = "loss", .lines = {}}}));
  EXPECT_GT(pixels.count(0xFFFFFF), pixels.width() * pixels.height() / 2);
}

TEST(Losses, AFolderThatIsNotThere) {
  EXPECT_THROW(write_picture("/proc/nowhere/losses.png", draw_losses("run", {})), Error);
}

TEST(ShareColour, GrowsDarker) {
  double before = 2;
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    const Colour colour = share_colour(share);
    EXPECT_LT(colour.green, before);
    before = colour.green;
  }
  EXPECT_EQ(share_colour(-1).red, share_colour(0).red);
}

TEST(NumberMatrix, ColoursItsCells) {
  Figure figure(400, 300);
  draw_number_matrix(figure, {0, 0, 400, 300},
                     {.size = 2,
                      .names = {"signal", "a name that is far too long for the room beside a cell"},
                      .row_label = "true",
                      .column_label = "decided",
                      .shares = {1, 0, std::nan(""), 0.5},
                      .notes = {"7", "0", "", "3"}});
  const Pixels pixels(figure.picture());
  EXPECT_GT(pixels.count(0x084073), 50'000) << "deep blue";
  EXPECT_GT(pixels.count(0x6BA8D1), 50'000);
}

TEST(Key, StaysInItsCornerAndCountsTheRest) {
  Figure figure(400, 300);
  std::vector<KeyEntry> entries;
  for (size_t i = 0; i < 30; ++i)
    entries.push_back({.text = "class", .stroke = {.colour = category_colour(i), .width = 4}});
  draw_key(figure, {200, 100, 180, 180}, Corner::kBottomRight, entries, 3);
  const Pixels pixels(figure.picture());
  EXPECT_GT(pixels.count(0x0073B3), 100) << "the first three";
  EXPECT_EQ(pixels.count(0xCC78A6), 0) << "not the fourth";
  for (int y = 0; y < 200; ++y) ASSERT_EQ(pixels.at(300, y), 0xFFFFFFU);
}

}  // namespace
}  // namespace linac::plot
