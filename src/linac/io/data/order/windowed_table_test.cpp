#include "linac/io/data/order/windowed_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/io/data/order/batch_stream.h"
#include "linac/io/data/test_showers.h"
#include "linac/io/data/test_tables.h"

namespace linac::data::testing {
namespace {

using Stream = BatchStream<WindowedTable>;

WindowedOrder order_of(uint64_t seed, uint32_t epoch, const std::vector<int64_t>& sizes, int window,
                       WindowPlace known = {}) {
  return WindowedOrder(
      seed, epoch, sizes.size(), window, [sizes](uint32_t file) { return sizes[file]; }, known);
}

std::vector<EventOfFile> all_of(const std::vector<int64_t>& sizes) {
  std::vector<EventOfFile> all;
  for (uint32_t file = 0; file < sizes.size(); ++file)
    for (int64_t event = 0; event < sizes[file]; ++event) all.push_back({file, event});
  return all;
}

TEST(WindowedOrder, MixesTheEventsOfAFewFilesAtATime) {
  const std::vector<int64_t> sizes{5, 7, 3, 9, 4};
  const WindowedOrder order = order_of(3, 1, sizes, 2);
  EXPECT_EQ(order.files(2).size(), 1U);
  const std::vector<EventOfFile> events = order.slice(0, 28);
  EXPECT_EQ(std::set<EventOfFile>(events.begin(), events.end()).size(), 28U) << "each event once";
  int64_t place = 0;
  for (int64_t window = 0; window < 3; ++window) {
    EXPECT_EQ(order.window_of(place), (WindowPlace{window, place}));
    const std::vector<uint32_t> files = order.files(window);
    for (; place < order.end(window); ++place)
      EXPECT_TRUE(std::ranges::count(files, events[static_cast<size_t>(place)].file) == 1) << place;
  }
  EXPECT_EQ(place, 28);
  EXPECT_EQ(order_of(3, 1, sizes, 2).slice(0, 28), events);
  EXPECT_NE(order_of(3, 2, sizes, 2).slice(0, 28), events);
  EXPECT_NE(order_of(4, 1, sizes, 2).slice(0, 28), events);
  EXPECT_EQ(order_of(3, 1, sizes, 9).files(0).size(), 5U);
}

TEST(WindowedOrder, GoesOnInAnotherOrderWhereTheFilesEnd) {
  const std::vector<int64_t> sizes{5, 7, 0, 9, 4};
  const WindowedOrder order = order_of(3, 1, sizes, 2);
  const std::vector<EventOfFile> events = order.slice(0, 75);
  std::vector<std::vector<EventOfFile>> passes;
  for (int pass = 0; pass < 3; ++pass) {
    passes.emplace_back(events.begin() + pass * 25, events.begin() + (pass + 1) * 25);
    std::vector<EventOfFile> sorted = passes.back();
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, all_of(sizes)) << "each event once in a pass";
  }
  EXPECT_NE(passes[0], passes[1]);
  EXPECT_NE(passes[1], passes[2]);
  EXPECT_EQ(order.window_of(25).window, 3);
}

TEST(WindowedOrder, WhatIsAskedForPieceByPieceIsTheSame) {
  const std::vector<int64_t> sizes{5, 7, 3, 9, 4, 8, 6, 2, 9, 1};
  const WindowedOrder order = order_of(3, 1, sizes, 1);
  const std::vector<EventOfFile> events = order_of(3, 1, sizes, 1).slice(0, 150);
  for (const int64_t first : {50, 3, 120, 20, 0, 41, 12}) {  // windows that have been forgotten, too
    for (int64_t count = 0; count <= 150 - first; count += 4) {
      const auto begin = events.begin() + first;
      EXPECT_EQ(order.slice(first, count), std::vector(begin, begin + count)) << first << " " << count;
    }
  }
}

TEST(WindowedOrder, AsksForNoFileBeforeAKnownWindow) {
  const std::vector<int64_t> sizes{5, 7, 3, 9, 4};
  const WindowedOrder whole = order_of(3, 1, sizes, 2);
  const std::vector<EventOfFile> events = whole.slice(0, 60);
  for (const int64_t place : {0, 20, 30, 50}) {
    const WindowPlace known = whole.window_of(place);
    std::set<uint32_t> asked;
    const WindowedOrder later(
        3, 1, sizes.size(), 2,
        [&](uint32_t file) {
          asked.insert(file);
          return sizes[file];
        },
        known);
    EXPECT_EQ(later.slice(place, 1), std::vector(events.begin() + place, events.begin() + place + 1));
    const std::vector<uint32_t> files = later.files(known.window);
    EXPECT_EQ(asked, std::set<uint32_t>(files.begin(), files.end()));
    EXPECT_EQ(later.slice(place, 60 - place), std::vector(events.begin() + place, events.end()));
  }
}

TEST(WindowedOrder, FilesWithoutAnyEventEnd) {
  const WindowedOrder order = order_of(3, 1, {0, 0, 0, 0, 0}, 2);
  for (int i = 0; i < 2; ++i) expect_in(message_of([&] { order.slice(0, 1); }), {"no event", "5 files", "data.filter"});
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
  std::shared_ptr<WindowedTable> open(int window = 2, const Transform& transform = {},
                                      Counts counts = Counts::kAll) const {
    return windowed_table(urls_, requests(6), transform, window, counts);
  }
  /// The batches of some steps, of both replicas.
  static std::vector<std::vector<std::vector<float>>> batches(Stream& stream, int steps) {
    std::vector<std::vector<std::vector<float>>> out;
    for (int step = 0; step < steps; ++step)
      for (TableBatch& batch : stream.next().replicas) out.push_back(std::move(batch.columns));
    return out;
  }

  const TemporaryFolder folder_;
  std::vector<std::string> urls_;
};

TEST_F(WindowedTableTest, BatchesAreThoseOfTheWholeTableInItsOrder) {
  const auto windowed = open();
  const auto whole = EventTable::open(urls_, requests(6));
  ASSERT_EQ(windowed->size(), whole->size());
  EXPECT_EQ(windowed->files().size(), 5U);
  const std::vector<int64_t> firsts{0, 6, 13, 21, 30};
  Stream stream(windowed, {.seed = 5, .batch = 3, .replicas = 2, .owned = {0, 1}, .depth = 4, .threads = 3}, {});
  EXPECT_EQ(stream.steps_per_epoch(), 6);
  for (uint32_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<int64_t> events;
    for (const EventOfFile& one : windowed->order(5, epoch)->slice(0, whole->size()))
      events.push_back(firsts[one.file] + one.event);
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

// Not of those data sets that hold most values.
TEST_F(WindowedTableTest, TheEventsCountedAreThoseOfItsColumns) {
  for (const char* name : {"a.h5", "b.h5"})
    write_hdf5(path(name), {{"cells", {9, 50}, std::vector<float>(450, 1)}, {"pt", {4}, {1, 2, 3, 4}}});
  const auto pt = windowed_table({path("*.h5")}, {{"pt", {}, {}, {}}}, {}, 1, Counts::kAll);
  EXPECT_EQ(pt->size(), 8);
  const Transform doubled{.lists = {}, .define = {{"twice", "2 * pt"}}, .filter = {}};
  EXPECT_EQ(windowed_table({path("*.h5")}, {{"twice", {}, {}, {}}}, doubled, 1, Counts::kAll)->size(), 8);
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

TEST_F(WindowedTableTest, AnyReplicaOfAStepIsReadAtOnce) {
  Stream whole(open(), {.seed = 3, .batch = 2, .replicas = 2, .owned = {0, 1}}, {});
  Stream other(open(), {.seed = 3, .batch = 2, .replicas = 2, .owned = {0}}, {});
  for (int step = 0; step < 20; ++step) {
    const Stream::Step all = whole.next();
    EXPECT_EQ(other.read(all.position, 1).columns, all.replicas[1].columns);
    EXPECT_EQ(other.next().replicas[0].columns, all.replicas[0].columns) << "its own order goes on";
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
  const uint32_t last = windowed->order(3, 0)->files(4).front();
  write_parquet(urls_[last], make_events(6 + last, 1000));
  const std::string message = message_of(ErrorCode::kData, [&] {
    for (int step = 0; step < 40; ++step) stream.next();
  });
  expect_in(message, {urls_[last], "changed"});
}

const Transform kFilter{.lists = {}, .define = {}, .filter = "label == 1"};

TEST_F(WindowedTableTest, FilesMustSayTheirEventsForAnEpochOfAllEvents) {
  expect_in(message_of([&] { open(2, kFilter); }), {"0.parquet", "data.filter", "train.steps_per_epoch"});
  urls_.push_back(path("a.tfrecord"));
  write_tfrecord(urls_.back(), make_events(4), 6);
  expect_in(message_of([&] { open(); }), {"a.tfrecord", "format", "train.steps_per_epoch"});
  EXPECT_EQ(open(2, {}, Counts::kNone)->size(), -1);
}

TEST_F(WindowedTableTest, NothingIsReadButTheFirstFileAndTwoWindows) {
  urls_.clear();
  for (size_t file = 0; file < 12; ++file) {
    urls_.push_back(path(fmt::format("{}.parquet", file)));
    write_parquet(urls_.back(), make_events(20, 100 * file));
  }
  const auto windowed = open(2, {}, Counts::kNone);
  Stream stream(windowed, {.seed = 3, .batch = 2, .owned = {0}, .steps_per_epoch = 100, .depth = 1}, {});
  batches(stream, 15);  // of twenty in the window
  int64_t known = 0;
  for (size_t file = 0; file < 12; ++file) known += windowed->events_known(file) >= 0 ? 1 : 0;
  EXPECT_LE(known, 4);
}

TEST_F(WindowedTableTest, SelectedEventsAndTfrecordsComeWithoutACountBefore) {
  urls_.push_back(path("a.tfrecord"));
  write_tfrecord(urls_.back(), make_events(40), 6);
  urls_.push_back(path("none.parquet"));
  TestEvents none = make_events(5, 900);
  for (int& label : none.labels) label = 0;
  write_parquet(urls_.back(), none);
  const auto whole = EventTable::open(urls_, requests(6), kFilter);
  std::multiset<std::vector<float>> expected, found;
  for (int64_t event = 0; event < whole->size(); ++event) {
    TableBatch one;
    whole->read(std::span(&event, 1), one);
    expected.insert(one.columns[1]);
  }
  const BatchStreamOptions options{
      .seed = 3, .batch = 1, .owned = {0}, .steps_per_epoch = 2 * whole->size(), .threads = 3};
  Stream stream(open(2, kFilter, Counts::kNone), options, {});
  const auto first = batches(stream, static_cast<int>(whole->size()));
  for (const auto& columns : first) found.insert(columns[1]);
  EXPECT_EQ(found, expected) << "a pass through the files has each selected event once";
  const auto second = batches(stream, static_cast<int>(whole->size()));
  EXPECT_NE(second, first);
  found.clear();
  for (const auto& columns : second) found.insert(columns[1]);
  EXPECT_EQ(found, expected) << "and so has the next";
}

TEST_F(WindowedTableTest, GoesOnAtAnyStepWithAndWithoutAKnownWindow) {
  BatchStreamOptions options{.seed = 3, .batch = 2, .replicas = 2, .owned = {0, 1}, .steps_per_epoch = 17};
  Stream whole(open(2, kFilter, Counts::kNone), options, {});
  std::vector<Stream::Step> steps;
  for (int step = 0; step < 40; ++step) steps.push_back(whole.next());
  for (const uint32_t step : {1U, 5U, 16U, 20U, 33U}) {
    for (const bool known : {false, true}) {
      options.window = known && step % 17 > 0 ? steps[step - 1].window : WindowPlace{};
      Stream later(open(2, kFilter, Counts::kNone), options, {step / 17, step % 17});
      for (uint32_t at = step; at < 40; ++at) {
        const Stream::Step got = later.next();
        ASSERT_EQ(got.position, steps[at].position);
        EXPECT_EQ(got.window, steps[at].window);
        for (size_t replica = 0; replica < 2; ++replica)
          ASSERT_EQ(got.replicas[replica].columns, steps[at].replicas[replica].columns) << step << " " << at;
      }
    }
  }
}

TEST_F(WindowedTableTest, AFilterThatSelectsNothingIsAnError) {
  expect_in(message_of([&] { open(2, {.lists = {}, .define = {}, .filter = "label == 77"}, Counts::kNone); }),
            {"0.parquet", "no event", "5 files", "data.filter"});
}

TEST_F(WindowedTableTest, DrawsTheSameFilesForATest) {
  const auto windowed = open();
  const std::vector<std::string> drawn = drawn_files(*windowed, 3, 2);
  EXPECT_EQ(drawn.size(), 2U);
  EXPECT_EQ(drawn_files(*open(), 3, 2), drawn);
  std::set<std::vector<std::string>> others;
  for (uint64_t seed = 0; seed < 20; ++seed) others.insert(drawn_files(*windowed, seed, 2));
  EXPECT_GT(others.size(), 3U);
}

}  // namespace
}  // namespace linac::data::testing
