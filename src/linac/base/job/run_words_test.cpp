#include <gtest/gtest.h>

#include <csignal>

#include "linac/base/job/exit_codes.h"
#include "linac/base/job/metric_names.h"
#include "linac/base/job/run_states.h"

namespace linac::job {
namespace {

TEST(RunWords, States) {
  for (const RunStateEntry& entry : kRunStates) {
    EXPECT_EQ(run_state_named(entry.word), entry.state);
    EXPECT_EQ(to_string(entry.state), entry.word);
  }
  EXPECT_FALSE(run_state_named("ASLEEP"));
  EXPECT_TRUE(ended(RunState::kLost));
  EXPECT_FALSE(ended(RunState::kRecovering));
  EXPECT_EQ(exit_status(RunState::kCancelled), 75);
}

TEST(RunWords, MlflowKnowsFive) {
  EXPECT_STREQ(mlflow_status(RunState::kRecovering), "RUNNING");
  EXPECT_EQ(state_of_mlflow("RUNNING"), RunState::kRunning);
  EXPECT_EQ(state_of_mlflow("SCHEDULED"), RunState::kPending);
  EXPECT_EQ(state_of_mlflow("FINISHED"), RunState::kSucceeded);
  EXPECT_EQ(state_of_mlflow("FAILED"), RunState::kFailed);
  EXPECT_EQ(state_of_mlflow("KILLED"), RunState::kCancelled);
  EXPECT_FALSE(state_of_mlflow("LOST"));
  EXPECT_FALSE(state_of_mlflow("PENDING"));
}

TEST(RunWords, StatusOfARecord) {
  EXPECT_EQ(state_of("succeeded"), RunState::kSucceeded);
  EXPECT_EQ(state_of("interrupted"), RunState::kCancelled);
  EXPECT_EQ(state_of("failed"), RunState::kFailed);
  EXPECT_EQ(state_of("running"), RunState::kRunning);
  EXPECT_EQ(state_of(""), RunState::kRunning);
}

TEST(RunWords, ExitCodesHaveClasses) {
  EXPECT_EQ(class_of_status(0), ExitClass::kDone);
  EXPECT_EQ(class_of_status(2), ExitClass::kRefused);
  EXPECT_EQ(class_of_status(9), ExitClass::kLost);
  EXPECT_EQ(class_of_status(75), ExitClass::kInterrupted);
  EXPECT_EQ(class_of_status(77), ExitClass::kFailed);
  EXPECT_EQ(class_of_status(128 + SIGKILL), ExitClass::kLost);
  EXPECT_EQ(class_of_status(128 + SIGSEGV), ExitClass::kFailed);
  EXPECT_EQ(signal_in(128 + SIGSEGV), SIGSEGV);
  EXPECT_EQ(signal_in(128), 0);
  EXPECT_EQ(word_of_status(3), "data error");
  EXPECT_EQ(word_of_status(13), "computes wrongly");
  EXPECT_EQ(word_of_status(14), "");
  EXPECT_EQ(word_of_status(11), "not finite");
  for (const ExitEntry& entry : kExitCodes)
    if (entry.status != 0) {
      EXPECT_NE(word_of_status(entry.status), "unknown") << entry.status;
    }
}

TEST(RunWords, MetricsAreNamedAlikeEverywhere) {
  EXPECT_EQ(metric::of_step("d_real/total"), "loss/d_real");
  EXPECT_EQ(metric::of_step("d_real/angle"), "parts/d_real/angle");
  EXPECT_EQ(metric::of_step("accuracy"), "accuracy");
  EXPECT_EQ(metric::of_whole(metric::kTest, "d_real/total"), "test/d_real");
  EXPECT_EQ(metric::of_whole(metric::kTest, "auc"), "test/auc");
  EXPECT_FALSE(metric::of_whole(metric::kTest, "d_real/angle"));
  EXPECT_EQ(metric::of_phase(Phase::kCompute), "time/compute");
  EXPECT_EQ(metric::of_rate("showers"), "showers_per_s");
}

TEST(RunWords, PhasesAreFoundByTheirPlace) {
  for (size_t i = 0; i < kPhases.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(kPhases[i].phase), i);
    EXPECT_EQ(phase_named(kPhases[i].name), kPhases[i].phase);
  }
  EXPECT_FALSE(phase_named("sleep"));
}

}  // namespace
}  // namespace linac::job
