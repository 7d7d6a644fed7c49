#include "linac/physics/report/showers/pictures.h"

#include <gtest/gtest.h>

#include <set>

#include "linac/physics/report/showers/measured.h"
#include "linac/physics/report/showers/test_report.h"

namespace linac::report {
namespace {

using testing::Case;

std::set<std::string> names(const std::vector<NamedPicture>& pictures) {
  std::set<std::string> result;
  for (const NamedPicture& one : pictures) result.insert(one.name);
  return result;
}

const std::set<std::string> kAlways{"average",  "longitudinal", "radial", "transverse-x", "transverse-y",
                                    "response", "resolution",   "depth",  "spectrum",     "distributions"};

// A PNG's size stands big-endian at byte 16.
int64_t number_at(const std::string& png, size_t at) {
  int64_t value = 0;
  for (size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(png[i]);
  return value;
}

TEST(Pictures, AreWholePngs) {
  const Case made({.lane = 0}, {.lane = 1});
  const auto pictures = draw(made.report);
  std::set<std::string> expected = kAlways;
  expected.insert({"correlations", "shower-1", "shower-2"});
  EXPECT_EQ(names(pictures), expected);
  EXPECT_EQ(pictures.size(), expected.size());
  for (const NamedPicture& one : pictures) {
    EXPECT_TRUE(one.picture.png.starts_with("\x89PNG")) << one.name;
    EXPECT_EQ(number_at(one.picture.png, 16), one.picture.width) << one.name;
    EXPECT_EQ(number_at(one.picture.png, 20), one.picture.height) << one.name;
    EXPECT_TRUE(one.picture.width == 2 * kNarrow || one.picture.width == 2 * kWide) << one.name;
    EXPECT_GT(one.picture.height, 600) << one.name;
    EXPECT_LT(one.picture.height, 2200) << one.name;
    EXPECT_GT(one.picture.png.size(), 5000U) << one.name;
    EXPECT_FALSE(one.title.empty() || one.caption.empty()) << one.name;
  }
}

TEST(Pictures, ShowTheSample) {
  const Case same({.lane = 0}, {.lane = 1}), other({.lane = 0}, {.lane = 1, .scale = 1.5});
  const auto a = draw(same.report), again = draw(same.report), b = draw(other.report);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].picture.png, again[i].picture.png) << a[i].name << ": the same input, the same bytes";
    const std::string& name = a[i].name;
    if (name == "depth" || name == "resolution" || name == "correlations") continue;  // there the scale cancels
    EXPECT_NE(a[i].picture.png, b[i].picture.png) << name;
  }
}

TEST(Pictures, NothingToShow) {
  const Case no_events({.lane = 0}, {.lane = 1, .events = 0}), one_event({.lane = 0}, {.lane = 1, .events = 1});
  EXPECT_TRUE(draw(no_events.report).empty());
  EXPECT_FALSE(names(draw(one_event.report)).contains("correlations"));
  const Case bare({.lane = 0, .examples = 0, .bootstraps = 0, .halves = 0},
                  {.lane = 1, .examples = 0, .bootstraps = 0, .halves = 0});
  std::set<std::string> expected = kAlways;
  expected.insert("correlations");
  EXPECT_EQ(names(draw(bare.report)), expected);
}

TEST(Pictures, EmptyShowersCanBeDrawn) {
  const Case sample({.lane = 0}, {.lane = 1, .scale = 0}), both({.lane = 0, .scale = 0}, {.lane = 1, .scale = 0});
  EXPECT_EQ(draw(sample.report).size(), kAlways.size() + 3);
  EXPECT_EQ(draw(both.report).size(), kAlways.size() + 3);
}

TEST(Pictures, BrokenShowersCanBeDrawn) {
  for (const double scale : {std::nan(""), 1e40}) {  // 1e40: infinite as a float
    Case made({.lane = 0}, {.lane = 1, .scale = scale});
    made.judge({.limits = {{.figure = "profile.z", .floor = 3}}});
    const auto pictures = draw(made.report);
    EXPECT_EQ(pictures.size(), kAlways.size() + 3);
    EXPECT_FALSE(made.report.passed());
    EXPECT_FALSE(to_html(made.report, pictures).empty());
    EXPECT_FALSE(to_json(made.report).empty());
  }
}

TEST(Measured, ProfilesCarryTheSpreadOfTheBootstraps) {
  const auto sample = testing::make_sample({.events = 100, .bootstraps = 50, .halves = 0});
  const plot::Binned profile = mean_profile(sample, physics::Profile::kDepth);
  ASSERT_EQ(profile.values.size(), static_cast<size_t>(testing::kShape.z));
  ASSERT_EQ(profile.errors.size(), profile.values.size());
  // The depth of the maximum moves a layer's share by some ten per cent from event to event, so by one between means
  // of a hundred.
  EXPECT_GT(profile.errors[20], 0.005 * profile.values[20]);
  EXPECT_LT(profile.errors[20], 0.03 * profile.values[20]);
  EXPECT_TRUE(mean_profile(testing::make_sample({.bootstraps = 0}), physics::Profile::kX).errors.empty());
}

TEST(Measured, SlicesHoldTheMean) {
  const auto sample = testing::make_sample({.events = 200});
  const plot::Binned one = mean_in_slices(sample, physics::kResponse, {10, 100});
  double mean = 0, square = 0;
  for (const float value : sample.values(physics::kResponse)) {
    mean += value / 200.0;
    square += static_cast<double>(value) * value / 200.0;
  }
  EXPECT_NEAR(one.values[0], mean, 1e-9);
  EXPECT_NEAR(one.errors[0], std::sqrt((square - mean * mean) / 199), 1e-7);
  const plot::Binned far = mean_in_slices(sample, physics::kResponse, {10, 100, 200});
  EXPECT_TRUE(std::isnan(far.values[1])) << "no event has so much energy";
}

TEST(Measured, TheResolutionIsThatOfTheCore) {
  const auto sample = testing::make_sample({.events = 400});
  const auto core = physics::gaussian_core(sample.values(physics::kResponse));
  const Resolution one = resolution_in_slices(sample, {10, 100});
  ASSERT_TRUE(core);
  EXPECT_EQ(one.slices.values[0], core->width / core->mean);
  EXPECT_EQ(one.slices.errors[0], core->width_error / core->mean);
  EXPECT_FALSE(one.fit) << "of one slice";
  EXPECT_TRUE(resolution_in_slices(sample, {10, 30, 50, 75, 100}).fit);
  EXPECT_TRUE(std::isnan(resolution_in_slices(sample, {10, 100, 200}).slices.values[1]));
}

}  // namespace
}  // namespace linac::report
