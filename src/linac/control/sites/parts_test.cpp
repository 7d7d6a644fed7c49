#include "linac/control/sites/parts.h"

#include <gtest/gtest.h>

#include "linac/base/base/test_errors.h"

namespace linac::sites {
namespace {

using job::RunState;

std::string refusal(const std::string& on) {
  return message_of([&] { part_wishes(on); });
}

TEST(Parts, OfOneOrOfSeveralSitesWithTheirWorkers) {
  ASSERT_EQ(part_wishes("farm").size(), 1);
  EXPECT_EQ(part_wishes("farm").front().workers, "");
  EXPECT_EQ(part_wishes("farm:2:8").front().workers, "2:8") << "as --workers has it";
  const auto several = part_wishes("farm:8,k8s:16");
  ASSERT_EQ(several.size(), 2);
  EXPECT_EQ(several[1].site, "k8s");
  EXPECT_EQ(several[1].workers, "16");
  for (const char* const text : {"", "farm:", ":2", "farm:2,k8s", "farm:2,", ","})
    expect_in(refusal(text), {"--on", "farm:8,k8s:16"});
  expect_in(refusal("farm:2,farm:1"), {"farm comes twice"});
  for (const char* const text :
       {"farm:2,k8s:0", "farm:2,k8s:-1", "farm:2,k8s:1:2", "farm:2,k8s:9999", "farm:2,k8s:two"})
    expect_in(refusal(text), {"k8s:", "from 1 to", "workers_min"});
}

TEST(Parts, AreKnownByTheNameOfAll) {
  const auto parts = parts_of({"farm+k8s", "a"});
  ASSERT_EQ(parts.size(), 2);
  EXPECT_EQ(parts[1].site, "k8s");
  EXPECT_EQ(parts[1].label, "a");
  KeptLaunch kept;
  kept.record.label = "a";
  EXPECT_FALSE(whole_of(kept));
  kept.launch.part = true;
  kept.record.changes = {{"environment.LINAC_GROUPS", "farm:8,k8s:16"}};
  EXPECT_EQ(whole_of(kept), "farm+k8s:a");
}

PartStanding part(const char* site, RunState state, const std::string& reason = "") {
  return {site, {state, reason, {}}};
}

TEST(Parts, StandTogether) {
  const PartStanding runs = part("a", RunState::kRunning), well = part("b", RunState::kSucceeded);
  const PartStanding lost = part("c", RunState::kLost, "exit status 6"), waits = part("d", RunState::kPending);
  PartStanding silent = part("e", RunState::kPending, "no route");
  silent.answers = false;

  EXPECT_EQ(standing_of_parts({waits, runs}).state, RunState::kRunning);
  EXPECT_EQ(standing_of_parts({waits, runs}).reason, "");
  EXPECT_EQ(standing_of_parts({lost, runs}).reason, "without c, which is LOST");
  EXPECT_EQ(standing_of_parts({silent, runs, lost}).reason,
            "without e, which does not answer; without c, which is LOST");
  EXPECT_EQ(standing_of_parts({lost, well}).state, RunState::kSucceeded) << "the others came to its end";
  EXPECT_EQ(standing_of_parts({lost, waits}).state, RunState::kPending);
  EXPECT_EQ(standing_of_parts({silent, lost}).state, RunState::kPending) << "nobody knows";
  EXPECT_EQ(standing_of_parts({silent, lost}).reason, "e: no route");
  EXPECT_EQ(standing_of_parts({lost, part("f", RunState::kCancelled)}).state, RunState::kCancelled);
  EXPECT_EQ(standing_of_parts({lost, part("f", RunState::kFailed, "exit status 3")}).reason, "f: exit status 3");
  EXPECT_EQ(standing_of_parts({lost, lost}).state, RunState::kLost);
}

}  // namespace
}  // namespace linac::sites
