#include "linac/control/sites/panda/words.h"

#include <gtest/gtest.h>

namespace linac::sites {
namespace {

using job::RunState;
using nlohmann::json;

TEST(PandaWords, StatesOfTasks) {
  const auto state = [](const char* status) { return panda_standing({{"status", status}}).state; };
  EXPECT_EQ(state("registered"), RunState::kPending);
  EXPECT_EQ(state("running"), RunState::kRunning);
  EXPECT_EQ(state("toretry"), RunState::kRecovering);
  EXPECT_EQ(state("done"), RunState::kSucceeded);
  EXPECT_EQ(state("finished"), RunState::kFailed);  // a part of the jobs only
  EXPECT_EQ(state("aborted"), RunState::kCancelled);
  EXPECT_EQ(state("never heard of"), RunState::kPending);
}

// What a server says goes to a terminal.
TEST(PandaWords, NoTagsAndNoEscapes) {
  const Standing standing = panda_standing({{"status", "pending\x1b[2J"}, {"errorDialog", "<b>no</b> site\n\x07"}});
  EXPECT_EQ(standing.reason, "pending?[2J: no site??");
  EXPECT_EQ(panda_job_lines(json::array({{{"PandaID", 7}, {"jobstatus", "failed\r"}, {"exeErrorDiag", "<a>x</a>"}}})),
            "job 7  failed?    exeErrorDiag: x\n");
}

TEST(PandaWords, AnswersThatLackThings) {
  for (const json& task : {json(), json::array(), json::object(), json{{"status", 7}}, json{{"status", nullptr}}})
    EXPECT_EQ(panda_standing(task).state, RunState::kPending);
  EXPECT_EQ(panda_job_lines({{"no", "list"}}), "");
  EXPECT_EQ(panda_job_lines(json::array({nullptr, 3})), "job     \njob     \n");
}

TEST(PandaWords, NumberOfATask) {
  EXPECT_EQ(submitted_task(42, ""), 42);
  EXPECT_EQ(submitted_task(nullptr, "succeeded. new jediTaskID=43"), 43);
  EXPECT_EQ(submitted_task(-1, "jediTaskID=44, and more"), 44);
  for (const char* const none : {"", "jediTaskID=", "jediTaskID=x", "jediTaskID=-3", "jediTaskID=99999999999999999999"})
    EXPECT_EQ(submitted_task(nullptr, none), 0) << none;
}

}  // namespace
}  // namespace linac::sites
