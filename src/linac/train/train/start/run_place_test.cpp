#include "linac/train/train/start/run_place.h"

#include <gtest/gtest.h>

#include "linac/base/base/error.h"
#include "linac/base/base/test_errors.h"

namespace linac::train {
namespace {

TEST(RunPlace, IsAPathOrAUrl) {
  const job::Job job;
  const RunPlace path = RunPlace::of("runs/a", job, Start::kFresh);
  EXPECT_EQ(path.folder(), "runs/a");
  EXPECT_EQ(path.url(), "");
  EXPECT_EQ(path.name(), "runs/a");
  const RunPlace url = RunPlace::of("s3://bucket/runs/a", job, Start::kFresh);
  EXPECT_EQ(url.folder(), mirrored_folder("s3://bucket/runs/a"));
  EXPECT_EQ(url.url(), "s3://bucket/runs/a");
  EXPECT_EQ(url.name(), "s3://bucket/runs/a") << "what people call it";
}

TEST(RunPlace, HasADefaultByNameAndTime) {
  job::Job job;
  job.name = "demo";
  const std::string folder = RunPlace::of("", job, Start::kFresh).folder().string();
  EXPECT_TRUE(folder.starts_with("runs/demo-20")) << folder;
}

TEST(RunPlace, APathKeepsTheStatusAndErrorsOfTheTraining) {
  RunPlace place("runs/a", "");
  place.claim(Start::kFresh, false);
  EXPECT_EQ(place.token(), "") << "a folder that is not there is claimed when it is made";
  EXPECT_EQ(place.keep([] { return 75; }), 75);
  message_of(ErrorCode::kData, [&] { place.keep([]() -> int { throw data_error("broken"); }); });
}

}  // namespace
}  // namespace linac::train
