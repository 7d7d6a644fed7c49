#include "linac/control/execution/attempt_verdict.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace linac::execution {
namespace {

using catalog::Outcome;
using launch::AttemptState;

launch::AttemptStatus ended(int status, int signal = 0) {
  launch::AttemptStatus ended;
  ended.state = AttemptState::kEnded;
  ended.exit.emplace();
  ended.exit->status = status;
  ended.exit->signal = signal;
  return ended;
}

TEST(AttemptVerdict, ReadsStatusesAndSignals) {
  EXPECT_EQ(judge(ended(0), StopCause::kCancelled, true, "").outcome, Outcome::kSucceeded);  // it was faster
  EXPECT_EQ(judge(ended(75), StopCause::kNone, true, "").outcome, Outcome::kPreempted);
  EXPECT_EQ(judge(ended(75), StopCause::kCancelled, true, "").outcome, Outcome::kCancelled);
  EXPECT_EQ(judge(ended(2), StopCause::kNone, false, "why").outcome, Outcome::kRefused);
  EXPECT_EQ(judge(ended(2), StopCause::kNone, true, "why").reason, "why");
  EXPECT_EQ(judge(ended(0, SIGKILL), StopCause::kNone, true, "").outcome, Outcome::kLost);
  EXPECT_EQ(judge(ended(128 + SIGSEGV), StopCause::kNone, true, "").outcome, Outcome::kFailed);
}

TEST(AttemptVerdict, SaysWhenItWasTheMemory) {
  launch::AttemptStatus killed = ended(0, SIGKILL);
  killed.exit->out_of_memory_mb = 300;
  const AttemptVerdict verdict = judge(killed, StopCause::kNone, true, "");
  EXPECT_EQ(verdict.outcome, Outcome::kLost);
  EXPECT_NE(verdict.reason.find("300 MB of memory (more of it: --memory)"), std::string::npos) << verdict.reason;
  EXPECT_EQ(verdict.reason.find("often"), std::string::npos) << verdict.reason;
}

TEST(AttemptVerdict, AUsedUpBudgetIsNoRefusalOfTheJob) {
  for (const bool began : {false, true}) {
    const AttemptVerdict verdict = judge(ended(12), StopCause::kNone, began, "budget.steps = 5 is used up");
    EXPECT_EQ(verdict.outcome, Outcome::kFailed) << "and is not begun again";
    EXPECT_EQ(verdict.reason,
              "stopped by its budget, after a checkpoint (with more of it: linac resume RUN --set budget.KEY=N): "
              "budget.steps = 5 is used up");
  }
  EXPECT_EQ(judge(ended(12), StopCause::kCancelled, true, "").outcome, Outcome::kCancelled);
}

TEST(AttemptVerdict, BelievesTheLauncherAboutWhatItCannotSee) {
  launch::AttemptStatus status;
  status.state = AttemptState::kLost;
  status.reason = "node07 does not answer";
  EXPECT_EQ(judge(status, StopCause::kNone, true, "").outcome, Outcome::kLost);
  EXPECT_EQ(judge(status, StopCause::kNone, true, "").reason, "node07 does not answer");
  status.state = AttemptState::kEnded;  // it never ran
  status.reason = "no such partition";
  EXPECT_EQ(judge(status, StopCause::kNone, false, "").outcome, Outcome::kFailed);
  EXPECT_EQ(judge(status, StopCause::kNone, false, "").reason, "no such partition");
  EXPECT_EQ(judge(status, StopCause::kCancelled, false, "").outcome, Outcome::kCancelled);
}

}  // namespace
}  // namespace linac::execution
