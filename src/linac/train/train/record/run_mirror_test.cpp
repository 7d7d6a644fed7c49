#include "linac/train/train/record/run_mirror.h"

#include <gtest/gtest.h>

#include "linac/base/base/test_errors.h"

namespace linac::train {
namespace {

TEST(RunMirror, KeysAndAddressesOfWorkersStayHere) {
  const storage::FolderRules rules = rules_of_run();
  for (const char* name :
       {"job.yaml", "run.json", "metrics.jsonl", "log.txt", "checkpoints/step-0000000010.safetensors",
        "checkpoints/best.safetensors", "tensorboard/events.1", "tensorboard/train/events.1", "images/losses.png",
        "models/model.keras"})
    EXPECT_TRUE(rules.wanted(name)) << name;
  for (const char* name :
       {"private", "private/key", "private/job.yaml", "views", "views/1.json", "report/report.html", ".linac-copy",
        ".record-incoming/metrics.jsonl", "job.yaml.tmp.12", "metrics.jsonl.tmp.12", "models", "modelsx/a",
        "checkpoints/step-0000000010.safetensors.tmp.12", "checkpoints/step-0000000010.safetensors.damaged",
        "models/model.keras.tmp.12", "models/.key", "images/.a/b", "somebody/key", "key"})
    EXPECT_FALSE(rules.wanted(name)) << name;
  EXPECT_TRUE(rules.is_snapshot("checkpoints/step-0000000010.safetensors"));
  EXPECT_FALSE(rules.is_snapshot("checkpoints/best.safetensors"));
}

TEST(RunMirror, OneAddressIsOneFolder) {
  EXPECT_EQ(mirrored_folder("s3://bucket/runs/a"), mirrored_folder("s3://bucket/runs/a/"));
  EXPECT_NE(mirrored_folder("s3://bucket/runs/a"), mirrored_folder("s3://bucket/runs-a"));
  EXPECT_EQ(mirrored_folder("s3://bucket/a/../..").parent_path(), mirrored_folder("s3://bucket/b").parent_path());
}

TEST(RunMirror, OtherPlacesAreRefused) {
  for (const char* url : {"http://host/a", "file:///tmp/a", "s3://bucket", "s3://bucket/", "s3://bucket/a*"})
    message_of(ErrorCode::kUser, [&] { RunMirror(url, Start::kFresh, storage::TakeOver::kIfLeft); });
}

}  // namespace
}  // namespace linac::train
