#include "linac/data/windowed_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

#include "linac/base/temporary_folder.h"
#include "linac/base/test_errors.h"
#include "linac/data/batch_stream.h"
#include "linac/data/test_tables.h"

namespace linac::data::testing {
namespace {

using Stream = BatchStream<WindowedTable>;

std::vector<int64_t> all_of(const WindowedOrder& order) {
  return order.slice(0, order.events());
}

TEST(WindowedOrder, MixesTheEventsOfAFewFilesAtATime) {
  const std::vector<int64_t> sizes{5, 7, 3, 9, 4};
  const WindowedOrder order(3, 1, sizes, 2);
  ASSERT_EQ(order.files().size(), 3U);
  EXPECT_EQ(order.files().back().size(), 1U);
  const std::vector<int64_t> events = all_of(order);
  std::vector<int64_t> sorted = events;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> all(28);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(sorted, all) << "each event once";
  std::vector<int64_t> begins(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), begins.begin(), int64_t{0});
  int64_t place = 0;
  for (size_t window = 0; window < order.files().size(); ++window) {
    std::set<int64_t> expected, found;
    for (const uint32_t file : order.files()[window])
      for (int64_t event = 0; event < sizes[file]; ++event) expected.insert(begins[file] + event);
    for (; place < 28 && order.window_of(place) == window; ++place) found.insert(events[static_cast<size_t>(place)]);
    EXPECT_EQ(found, expected);
  }
  EXPECT_EQ(place, 28);
  EXPECT_EQ(all_of(WindowedOrder(3, 1, sizes, 2)), events);
  EXPECT_NE(all_of(WindowedOrder(3, 2, sizes, 2)), events);
  EXPECT_NE(all_of(WindowedOrder(4, 1, sizes, 2)), events);
  EXPECT_EQ(WindowedOrder(3, 1, sizes, 9).files().size(), 1U);
}

TEST(WindowedOrder, WhatIsAskedForPieceByPieceIsTheSame) {
  const std::vector<int64_t> sizes{5, 7, 3, 9, 4, 8, 6, 2, 9, 1};
  const WindowedOrder order(3, 1, sizes, 1);
  const std::vector<int64_t> events = all_of(order);
  for (const int64_t first : {50, 3, 20, 0, 41, 12}) {  // windows that have been forgotten, too
    for (int64_t count = 0; count <= order.events() - first; count += 4) {
      const auto begin = events.begin() + first;
      EXPECT_EQ(order.slice(first, count), std::vector(begin, begin + count)) << first << " " << count;
    }
  }
}

class WindowedTableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("LINAC_CACHE", (folder_.path() / "cache").c_str(), 1);
    for (size_t file = 0; file < 5; ++file) {
      urls_.push_back(path(fmt::format("{}.parquet", file)));
      write_parquet(urls_.back(), make_events(6 + file, 100 * file));
    }
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::shared_ptr<WindowedTable> open(int window = 2) const { return WindowedTable::open(urls_, requests(6), window); }

  const TemporaryFolder folder_;
  std::vector<std::string> urls_;
};

TEST_F(WindowedTableTest, BatchesAreThoseOfTheWholeTableInItsOrder) {
  const auto windowed = open();
  const auto whole = EventTable::open(urls_, requests(6));
  ASSERT_EQ(windowed->size(), whole->size());
  EXPECT_EQ(windowed->files().size(), 5U);
  Stream stream(windowed, {.seed = 5, .batch = 3, .replicas = 2, .owned = {0, 1}, .depth = 4, .threads = 3}, {});
  EXPECT_EQ(stream.steps_per_epoch(), 6);
  for (uint32_t epoch = 0; epoch < 3; ++epoch) {
    const std::vector<int64_t> events = all_of(*windowed->order(5, epoch));
    for (size_t step = 0; step < 6; ++step) {
      const Stream::Step got = stream.next();
      for (size_t replica = 0; replica < 2; ++replica) {
        TableBatch expected;
        whole->read(std::span(events).subspan((step * 2 + replica) * 3, 3), expected);
        EXPECT_EQ(got.replicas[replica].columns, expected.columns) << epoch << " " << step << " " << replica;
      }
    }
  }
}

TEST_F(WindowedTableTest, WorkersAndRestartsChangeNothing) {
  Stream whole(open(), {.seed = 3, .batch = 2, .replicas = 2, .owned = {0, 1}}, {});
  for (int step = 0; step < 7; ++step) whole.next();
  Stream later(open(), {.seed = 3, .batch = 2, .replicas = 2, .owned = {1}}, {0, 7});
  for (int step = 0; step < 20; ++step) {
    const Stream::Step all = whole.next(), one = later.next();
    EXPECT_EQ(all.position, one.position);
    EXPECT_EQ(all.replicas[1].columns, one.replicas[0].columns);
  }
}

TEST_F(WindowedTableTest, WhatIsWrongWithALaterFileIsSaidWhenItComes) {
  TestEvents bad = make_events(6, 400);
  bad.features[2][1] = std::numeric_limits<float>::quiet_NaN();
  write_parquet(urls_.back(), bad);
  Stream stream(open(), {.seed = 3, .batch = 2, .owned = {0}}, {});
  expect_in(message_of(ErrorCode::kData,
                       [&] {
                         for (int step = 0; step < 40; ++step) stream.next();
                       }),
            {urls_.back(), "features"});
}

TEST_F(WindowedTableTest, ChecksSeeEachFile) {
  std::mutex mutex;
  std::set<std::string> seen;
  const auto windowed = open();  // whose thread calls the check until it ends
  windowed->check_each([&](const EventTable& table) {
    const std::scoped_lock lock(mutex);
    seen.insert(table.files().front().url);
  });
  Stream stream(windowed, {.seed = 3, .batch = 2, .owned = {0}}, {});
  for (int64_t step = 0; step < stream.steps_per_epoch(); ++step) stream.next();
  const std::scoped_lock lock(mutex);
  EXPECT_EQ(seen, std::set<std::string>(urls_.begin(), urls_.end()));
}

TEST_F(WindowedTableTest, AFileThatChangesIsRefused) {
  const auto windowed = open(1);
  Stream stream(windowed, {.seed = 3, .batch = 2, .owned = {0}, .depth = 1}, {});
  const uint32_t last = windowed->order(3, 0)->files().back().front();
  write_parquet(urls_[last], make_events(6 + last, 1000));
  const std::string message = message_of(ErrorCode::kData, [&] {
    for (int step = 0; step < 40; ++step) stream.next();
  });
  expect_in(message, {urls_[last], "changed"});
}

TEST_F(WindowedTableTest, FilesMustSayTheirEvents) {
  urls_.push_back(path("a.tfrecord"));
  write_tfrecord(urls_.back(), make_events(4), 6);
  expect_in(message_of([&] { open(); }), {"a.tfrecord", "data.shuffle_window", "Parquet"});
}

}  // namespace
}  // namespace linac::data::testing
