#include "linac/train/workers/run_end.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace linac::launch {
namespace {

WorkerEnd exited(int rank, int code, std::string error = "") {
  return {.rank = rank, .exit_code = code, .error = std::move(error)};
}
WorkerEnd killed(int rank, int signal) {
  return {.rank = rank, .signal = signal};
}
WorkerEnd ended_by_us(int rank, int signal) {
  return {.rank = rank, .signal = signal, .ended_by_launcher = true};
}

void expect_first(const RunEnd& end, const std::string& start) {
  EXPECT_TRUE(end.message.starts_with(start)) << end.message;
}

TEST(RunEnd, AllWell) {
  const auto end = judge({exited(1, 0), exited(0, 0)}, 0);
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_TRUE(end.message.empty());
}

TEST(RunEnd, PreemptedWorkersArePreempted) {
  EXPECT_EQ(judge({exited(1, 75), exited(0, 75)}, SIGTERM).exit_code, 75);
  EXPECT_EQ(judge({exited(1, 75), exited(0, 75)}, 0).exit_code, 75);
  EXPECT_EQ(judge({exited(1, 0), exited(0, 75)}, 0).exit_code, 75);
}

TEST(RunEnd, TheRootCauseComesBeforeLostPeers) {
  const auto end = judge({exited(0, 6, "[comm] rank 0: lost"), exited(2, 3, "[hdf5] a.h5: damaged"), exited(3, 6),
                          ended_by_us(1, SIGTERM)},
                         0);
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(
      end.message,
      "linac: rank 2 ended with exit code 3 (data error)\n"
      "  [hdf5] a.h5: damaged\n"
      "  then rank 0 ended with exit code 6 (worker lost), rank 1 was ended by the launcher, rank 3 ended with exit "
      "code 6 (worker lost)");
}

TEST(RunEnd, TheFirstOfSeveralOwnFailuresCounts) {
  EXPECT_EQ(judge({exited(2, 4), exited(0, 2), exited(1, 6)}, 0).exit_code, 4);
  EXPECT_EQ(judge({ended_by_us(0, SIGTERM), exited(1, 2)}, 0).exit_code, 2);
}

TEST(RunEnd, DeathBySignal) {
  auto dead = killed(1, SIGSEGV);
  dead.tail = {"step 7", "about to read\nit"};
  const auto end = judge({dead, exited(0, 6)}, 0);
  EXPECT_EQ(end.exit_code, 128 + SIGSEGV);
  expect_first(end, "linac: rank 1 was killed by signal 11 (Segmentation fault), its last output:\n  step 7\n");
  expect_first(judge({killed(0, SIGKILL)}, 0), "linac: rank 0 was killed by signal 9 (Killed: often the kernel");
}

TEST(RunEnd, OnlyLostPeersBlameTheFirst) {
  const auto end = judge({exited(1, 6, "timed out"), exited(0, 6)}, 0);
  EXPECT_EQ(end.exit_code, 6);
  expect_first(end, "linac: rank 1 ended with exit code 6 (worker lost)\n  timed out");
}

TEST(RunEnd, OneWorkerPreemptedAloneIsTheCauseOfTheOthersLoss) {
  EXPECT_EQ(judge({exited(2, 75), exited(0, 6), exited(1, 6)}, 0).exit_code, 75);
}

TEST(RunEnd, StoppedWithAndWithoutCheckpoint) {
  EXPECT_EQ(judge({exited(1, 6), exited(0, 75)}, SIGTERM).exit_code, 75);
  EXPECT_EQ(judge({killed(1, SIGTERM), killed(0, SIGTERM)}, SIGTERM).exit_code, 128 + SIGTERM);
  EXPECT_EQ(judge({killed(1, SIGINT), exited(0, 130)}, SIGINT).exit_code, 128 + SIGINT);
  const auto slow = judge({exited(0, 6), ended_by_us(1, SIGKILL)}, SIGTERM);
  EXPECT_EQ(slow.exit_code, 137);
  expect_first(slow, "linac: rank 1 did not stop in time");
}

TEST(RunEnd, AFailureWhileStoppingIsStillAFailure) {
  const auto end = judge({exited(1, 6), exited(0, 4, "[checkpoint] no space")}, SIGTERM);
  EXPECT_EQ(end.exit_code, 4);
  expect_first(end, "linac: rank 0 ended with exit code 4 (environment error)\n  [checkpoint] no space");
}

}  // namespace
}  // namespace linac::launch
