#include "linac/train/train/monitor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "linac/base/base/error.h"
#include "linac/physics/physics/comparison.h"

namespace linac::train {
namespace {

std::vector<EpochRecord> history(const std::string& measure, const std::vector<double>& values) {
  std::vector<EpochRecord> records;
  for (const double value : values) records.push_back({.epoch = 0, .train = {}, .test = {{measure, value}}});
  return records;
}

TEST(Monitor, ARisingMeasureIsMaximised) {
  job::EarlyStopping stopping;
  stopping.patience = 2;
  stopping.monitor = "kind_accuracy";
  EXPECT_FALSE(stopped_early(stopping, history("kind_accuracy", {0.5, 0.6, 0.7, 0.8}), "loss"));
  EXPECT_TRUE(stopped_early(stopping, history("kind_accuracy", {0.8, 0.7, 0.6}), "loss"));
  stopping.mode = "min";
  EXPECT_TRUE(stopped_early(stopping, history("kind_accuracy", {0.5, 0.6, 0.7}), "loss"));
  job::Plateau plateau;
  plateau.patience = 1;
  EXPECT_DOUBLE_EQ(plateau_factor(plateau, history("purity", {3, 2, 1}), "purity"), 1) << "a loss falls";
  EXPECT_DOUBLE_EQ(plateau_factor(plateau, history("auc", {0.7, 0.8, 0.9}), "auc"), 1) << "but for a known one";
}

// What Keras 3's EarlyStopping(monitor="val_x", restore_best_weights=True) does with these values: after how many
// epochs it stops, and which epoch's weights it restores (from 0). No value: an epoch without the measure.
struct OfKeras {
  const char* mode;
  int patience;
  double min_delta;
  int start_from_epoch;
  std::vector<std::optional<double>> values;
  size_t epochs;
  int64_t restored;
  std::string baseline = "none";
};

TEST(Monitor, StopsAndRestoresAsKeras) {
  constexpr std::nullopt_t kNone = std::nullopt;
  const std::vector<OfKeras> cases{{"min", 0, 0, 0, {3, 2, 2.5, 1}, 3, 1},
                                   {"min", 0, 0, 0, {3, 3}, 2, 0},
                                   {"min", 1, 0, 0, {3, 2, 2.5, 1}, 3, 1},
                                   {"min", 2, 0, 0, {3, 2, 2.5, 1, 1.5, 1.2, .5}, 6, 3},
                                   {"max", 2, .1, 0, {.5, .55, .62, .65, .7, .9}, 5, 2},
                                   {"max", 2, 0, 2, {.9, .8, .5, .6, .55, .4, .7}, 6, 3},
                                   {"max", 0, 0, 2, {.9, .8, .5, .4}, 4, 2},
                                   {"min", 2, 0, 0, {3, kNone, kNone, kNone, 2, 2.1, 2.2}, 7, 4},
                                   {"max", 9, 0, 0, {.5, .9, .7}, 3, 1},
                                   {"max", 9, 0, 5, {.5, .9, .7}, 3, 2},
                                   {"min", 2, 0, 0, {3, 2.9, 2.8, 2.85, 1}, 4, 2, "2"},
                                   {"min", 3, 0, 0, {3, 2.5, 1.9, 2, 2.1, 2.2, 1}, 6, 2, "2"},
                                   {"max", 2, 0, 0, {.5, .6, .7, .8, .9}, 5, 4, "0.95"}};
  for (const OfKeras& one : cases) {
    job::EarlyStopping settings;
    settings.monitor = "x";
    settings.mode = one.mode;
    settings.patience = one.patience;
    settings.min_delta = one.min_delta;
    settings.start_from_epoch = one.start_from_epoch;
    settings.baseline = one.baseline;
    std::vector<EpochRecord> history;
    while (history.size() < one.values.size() && !stopped_early(settings, history, "loss")) {
      const auto& value = one.values[history.size()];
      history.push_back({.epoch = static_cast<int64_t>(history.size()), .train = {}, .test = {}});
      if (value) history.back().test["x"] = *value;
    }
    const std::string what = fmt::format("{} {} {} {}", one.mode, one.patience, one.min_delta, one.start_from_epoch);
    EXPECT_EQ(history.size(), one.epochs) << what;
    EXPECT_EQ(restored_epoch(settings, history, "loss").value_or(history.back().epoch), one.restored) << what;
  }
}

TEST(Monitor, WithoutAPatienceNothingStops) {
  EXPECT_FALSE(stopped_early({}, history("loss", {1, 2, 3}), "loss"));
  EXPECT_DOUBLE_EQ(plateau_factor({}, history("loss", {1, 2, 3}), "loss"), 1);
  job::Plateau plateau;
  plateau.patience = 0;  // as 1
  EXPECT_DOUBLE_EQ(plateau_factor(plateau, history("loss", {1, 2, 3}), "loss"), 0.1 * 0.1);
}

// As Keras 3's ReduceLROnPlateau(patience=2, cooldown=2, factor=0.5).
TEST(Monitor, APlateauCoolsDown) {
  job::Plateau plateau;
  plateau.patience = 2;
  plateau.factor = 0.5;
  plateau.cooldown = 2;
  const std::vector<double> values{1, 1, 1, 1, 1, 1, 1, 1, 1}, factors{1, 1, .5, .5, .5, .25, .25, .25, .125};
  for (size_t i = 0; i < values.size(); ++i) {
    const std::vector<double> first(values.begin(), values.begin() + static_cast<int64_t>(i) + 1);
    EXPECT_DOUBLE_EQ(plateau_factor(plateau, history("loss", first), "loss"), factors[i]) << i;
  }
}

TEST(Monitor, WhatIsRestoredIsTheBestByTheMonitor) {
  job::Job job;
  EXPECT_TRUE(restores_best(job, "loss"));
  job.train.early_stopping.monitor = "auc";
  EXPECT_FALSE(restores_best(job, "loss")) << "best_by is the loss";
  job.checkpoint.best_by = "auc";
  EXPECT_TRUE(restores_best(job, "loss"));
  job.train.early_stopping.min_delta = 0.1;
  EXPECT_FALSE(restores_best(job, "loss"));
}

TEST(Monitor, AnUnknownMeasureWantsAMode) {
  job::Job job;
  job.checkpoint.best_by = "purity";
  try {
    need_directions(job, "loss");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("set checkpoint.best_mode to min or max"), std::string::npos)
        << error.what();
  }
  job.checkpoint.best_mode = "max";
  need_directions(job, "loss");
  EXPECT_EQ(direction_of("purity", "max", "loss"), job::Better::kHigher);
}

TEST(Monitor, EveryFigureIsInTheTable) {
  for (const std::string& figure : physics::figure_names()) EXPECT_TRUE(job::better_of(figure)) << figure;
}

}  // namespace
}  // namespace linac::train
