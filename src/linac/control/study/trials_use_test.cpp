#include "linac/control/study/trials_use.h"

#include <gtest/gtest.h>

#include "linac/base/base/temporary_folder.h"

namespace linac::study {
namespace {

job::ToldEnergy told(const std::string& machine, double from_s, double kwh) {
  job::ToldEnergy one;
  one.machine = machine;
  one.from = from_s;
  one.seconds = 100;
  one.joules = {{"processors", 3.6e6 * kwh}};
  return one;
}

Study study_with(const job::Budget& limits, const std::string& job = "") {
  Study study;
  study.settings.limits = limits;
  study.job = job;
  return study;
}

TEST(TrialsUse, StepsOfAllTrialsAndTimeOfTheirWorkers) {
  const TemporaryFolder folder;
  job::Budget limits;
  limits.steps = 10;
  limits.money = 3;
  limits.price = 1;
  const Study study = study_with(limits, "workers: 2\ndata: {train: [a.h5]}\n");
  TrialsUse use(study, folder / "spent.json");
  use.steps(1, 4);
  use.steps(2, 5);
  use.steps(1, 5);
  EXPECT_EQ(use.used_up(), "limits.steps = 10");
  use.steps(2, 4);
  use.count(3600, 0);
  use.count(1800, 2);
  EXPECT_EQ(use.used_up(), "") << "two hours of a worker";
  use.save();
  TrialsUse again(study, folder / "spent.json");
  again.count(1800, 1);
  EXPECT_EQ(again.used_up(), "limits.money = 3");
}

TEST(TrialsUse, AMachineCountsOnceForTrialsSideBySide) {
  const TemporaryFolder folder;
  job::Budget limits;
  limits.kwh = 2;
  limits.watts = 1000;
  TrialsUse use(study_with(limits), folder / "spent.json");
  use.count(3600 * 5, 1);
  EXPECT_EQ(use.used_up(), "limits.kwh = 2") << "a model, as nothing is measured";
  use.energy(1, {told("a", 0, 1)});
  use.energy(2, {told("a", 0, 1)});
  EXPECT_EQ(use.used_up(), "");
  use.energy(2, {told("a", 0, 1), told("a", 100, 1)});
  EXPECT_EQ(use.used_up(), "limits.kwh = 2");
}

}  // namespace
}  // namespace linac::study
