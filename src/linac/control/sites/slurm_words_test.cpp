#include "linac/control/sites/slurm_words.h"

#include <gtest/gtest.h>

namespace linac::sites {
namespace {

using job::RunState;

TEST(SlurmWords, MembersOfAnArray) {
  const std::vector<std::string> lines{"5_1|a", "5_11|b", "7|c", "9_1|d", ""};
  EXPECT_EQ(member_lines(lines, 1), (std::vector<std::string>{"5_1|a", "9_1|d"}));
  EXPECT_EQ(member_lines(lines, 11), (std::vector<std::string>{"5_11|b"}));
  EXPECT_EQ(member_lines(lines, 0).size(), lines.size());
}

TEST(SlurmWords, MeansTheJobThatWasSubmittedThen) {
  const std::vector<std::string> lines{"7|2026-01-31T10:00:00|COMPLETED|None|n1|1:00",
                                       "9|2026-01-31T14:00:05|PENDING|BeginTime||0:00"};
  EXPECT_EQ(meant_job(lines, "9 2026-01-31T14:00:00").id, "9") << "put back into the queue, it has a later time";
  EXPECT_EQ(meant_job({lines[0]}, "7 2026-01-31T14:00:00").id, "") << "an earlier job with its number";
  EXPECT_EQ(meant_job(lines, "").id, "9");
  EXPECT_EQ(meant_job({"", "|||"}, "").id, "");
}

TEST(SlurmWords, AreStates) {
  const auto state = [](const std::string& word, int exit = -1, bool cancelled = false) {
    return standing_of({"9", "", word, "", "", ""}, exit, cancelled).state;
  };
  EXPECT_EQ(state("PENDING"), RunState::kPending);
  EXPECT_EQ(state("CONFIGURING"), RunState::kStarting);
  EXPECT_EQ(state("RUNNING"), RunState::kRunning);
  EXPECT_EQ(state("COMPLETING", 0), RunState::kRunning);
  EXPECT_EQ(state("COMPLETED"), RunState::kSucceeded);
  EXPECT_EQ(state("FAILED", 75, true), RunState::kCancelled);
  EXPECT_EQ(state("FAILED", 3), RunState::kFailed);
  EXPECT_EQ(state("FAILED", 9), RunState::kLost);
  EXPECT_EQ(state("CANCELLED by 0"), RunState::kCancelled);
  EXPECT_EQ(state("TIMEOUT"), RunState::kFailed);
  EXPECT_EQ(state("NODE_FAIL"), RunState::kLost);
  EXPECT_EQ(state("SPECIAL_EXIT"), RunState::kFailed);
}

TEST(SlurmWords, SayWhyAJobWaits) {
  EXPECT_NE(reason_words("PartitionTimeLimit").find("--time"), std::string::npos);
  EXPECT_NE(reason_words("QOSMaxCpuPerUserLimit").find("used up"), std::string::npos);
  EXPECT_EQ(reason_words("None"), "");
  EXPECT_EQ(reason_words("SomethingNew"), "SomethingNew");
}

}  // namespace
}  // namespace linac::sites
