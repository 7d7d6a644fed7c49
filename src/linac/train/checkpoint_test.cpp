#include "linac/train/checkpoint.h"

#include <gtest/gtest.h>

#include "linac/base/error.h"
#include "linac/base/temporary_folder.h"

namespace linac::train {
namespace {

TEST(CheckpointStore, KeepsTheNewestAndFallsBackToTheOneBefore) {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path(), 2);
  for (int step = 1; step <= 4; ++step) store.save(step, std::to_string(step));
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
  store.save(1, "1");
  store.save(2, "2");
  for (int again = 0; again < 2; ++again) EXPECT_THROW(store.newest_good(refuse), Error);
  EXPECT_EQ(store.list().size(), 2U);
}

}  // namespace
}  // namespace linac::train
