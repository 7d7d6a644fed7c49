#include "linac/train/train/state/checkpoint.h"

#include <gtest/gtest.h>

#include <fstream>

#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"

namespace linac::train {
namespace {

CheckpointStore::Tell bytes(const std::string& text) {
  return [text](const TakePiece& take) { take(std::as_bytes(std::span(text))); };
}

TEST(CheckpointStore, KeepsTheNewestAndFallsBackToTheOneBefore) {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path(), 2);
  for (int step = 1; step <= 4; ++step) store.save(step, bytes(std::to_string(step)));
  ASSERT_EQ(store.list().size(), 2U);
  const auto loaded = store.newest_good([](const CheckpointStore::Loaded& candidate) {
    if (candidate.bytes == "4") throw data_error("damaged");
  });
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->bytes, "3");
  EXPECT_EQ(store.list().size(), 1U);
}

// Hours of training must not turn into a start from zero, whether once or at the second try.
TEST(CheckpointStore, RefusesToStartAnewBesideCheckpointsThatCannotBeRead) {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path(), 2);
  const auto refuse = [](const CheckpointStore::Loaded&) { throw data_error("damaged"); };
  EXPECT_FALSE(store.newest_good(refuse).has_value());
  store.save(1, bytes("1"));
  store.save(2, bytes("2"));
  for (int again = 0; again < 2; ++again) EXPECT_THROW(store.newest_good(refuse), Error);
  EXPECT_EQ(store.list().size(), 2U);
}

TEST(CheckpointStore, SetsAsideWhatIsInDoubt) {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path(), 5);
  EXPECT_FALSE(store.has_until(10));
  for (const int step : {9, 10, 11, 100}) store.save(step, bytes(std::to_string(step)));
  EXPECT_FALSE(store.has_until(8));
  EXPECT_TRUE(store.has_until(9));
  store.set_aside_behind(10, "because");
  ASSERT_EQ(store.list().size(), 2U);
  EXPECT_EQ(store.list().back().filename(), "step-0000000010.safetensors");
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "step-0000000100.safetensors.doubtful"));
  store.set_aside_behind(10, "once more");
  EXPECT_EQ(store.list().size(), 2U);
}

TEST(CheckpointStore, RemovesWhatAKilledWriterLeft) {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path(), 2);
  store.save(1, bytes("1"));
  std::ofstream(folder.path() / "step-0000000002.safetensors.tmp.4711") << "half";
  store.remove_remains();
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "step-0000000002.safetensors.tmp.4711"));
  EXPECT_EQ(store.list().size(), 1U);
}

}  // namespace
}  // namespace linac::train
