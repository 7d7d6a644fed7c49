#include "linac/base/job/run_choice.h"

#include <gtest/gtest.h>

namespace linac::job {
namespace {

TEST(RunChoice, IsAWordBehindTheLastAt) {
  const auto parts = [](const std::string& name) {
    const RunChoice choice = split_choice(name);
    return choice.run + " " + choice.which;
  };
  EXPECT_EQ(parts("runs/a@best"), "runs/a best");
  EXPECT_EQ(parts("s3://bucket/me@cern.ch/a@epoch=12"), "s3://bucket/me@cern.ch/a epoch=12");
  EXPECT_EQ(parts("a@last"), "a last");
  for (const char* name : {"runs/a", "a@bset", "a@epoch=0", "a@epoch=", "a@epoch=1x", "@best", "me@cern.ch/a", ""})
    EXPECT_EQ(parts(name), std::string(name) + " ");
  EXPECT_EQ(epoch_in("epoch=12"), 12);
  EXPECT_EQ(epoch_in("last"), 0);
}

}  // namespace
}  // namespace linac::job
