#include "linac/train/train/monitor.h"

#include <gtest/gtest.h>

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
