// What an EventTable refuses, and what becomes of the packed files in the cache.

#include "linac/io/data/cache/packed_table.h"

#include <arrow/api.h>
#include <sys/mount.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/tfrecord_frame.h"
#include "linac/io/data/cache/pack_check.h"
#include "linac/io/data/formats/example.h"
#include "linac/io/data/test_showers.h"
#include "linac/io/data/test_tables.h"

namespace linac::data::testing {
namespace {

namespace fs = std::filesystem;

class PackedTableTest : public DataTest {
 protected:
  std::string refusal(const std::string& name, const std::vector<ColumnRequest>& columns,
                      ErrorCode code = ErrorCode::kData) {
    const std::string message = message_of(code, [&] { EventTable::open({path(name)}, columns); });
    EXPECT_TRUE(code != ErrorCode::kData || contains(message, name)) << message;
    return message;
  }

  static void cut(const std::string& file, double part) {
    fs::resize_file(file, static_cast<uintmax_t>(part * static_cast<double>(fs::file_size(file))));
  }

  static void flip(const fs::path& file, uintmax_t place) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(place));
    const int byte = stream.get();
    stream.seekp(static_cast<std::streamoff>(place));
    stream.put(static_cast<char>(byte ^ 0x40));
  }

  /// The packed files in the cache.
  static std::vector<fs::path> packed() {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(storage::cache_folder() / "tables"))
      if (entry.path().extension() != ".lock") files.push_back(entry.path());
    return files;
  }
};

TEST_F(PackedTableTest, IsLookedAtWithoutBeingUsed) {
  write_parquet(path("a.parquet"), make_events(5000));
  EventTable::open({path("a.parquet")}, requests(6));
  const fs::path file = packed().at(0);
  EXPECT_EQ(original_of_pack(file), fs::canonical(path("a.parquet")));
  int64_t read = 0;
  EXPECT_EQ(damage_of_pack(file, [&](int64_t bytes) { read += bytes; }), "");
  EXPECT_NEAR(static_cast<double>(read), static_cast<double>(fs::file_size(file)), 200);
  const std::string bytes = read_file(file);
  for (size_t place = 0; place < bytes.size(); place += bytes.size() / 97) {
    write_file_atomically(file, bytes);
    flip(file, place);
    EXPECT_NE(damage_of_pack(file, {}), "") << place;
  }
  write_file_atomically(file, bytes);
  cut(file.string(), 0.7);
  EXPECT_EQ(damage_of_pack(file, {}), "is cut, or no packed table");
  EXPECT_EQ(original_of_pack(file), "");
}

TEST_F(PackedTableTest, MissingColumnsNameThoseThatAreThere) {
  const TestEvents events = make_events(5);
  write_parquet(path("a.parquet"), events);
  write_tfrecord(path("a.tfrecord"), events, 5);
  write_hdf5(path("a.h5"), events, 5);
  const std::vector<ColumnRequest> columns{{"label", {}, {}, {}}, {"jets", {4}, {}, {}}};
  EXPECT_TRUE(contains(refusal("a.parquet", columns),
                       "no column 'jets' (found: label int32, particles list<list<float>>, features list<double>)"));
  EXPECT_TRUE(
      contains(refusal("a.tfrecord", columns),
               "record 0: no column 'jets' (found: features (a list of 4 floats), label (a list of 1 integer)"));
  EXPECT_TRUE(contains(refusal("a.h5", columns), "'jets' (found: features [5, 4], label [5], particles [5, 5, 3])"));
}

TEST_F(PackedTableTest, AShapeThatDoesNotFitIsRefused) {
  const TestEvents events = make_events(5);
  write_parquet(path("a.parquet"), events);
  write_tfrecord(path("a.tfrecord"), events, 5);
  write_hdf5(path("a.h5"), events, 5);
  const std::vector<ColumnRequest> rows_of_4{{"particles", {8, 4}, {}, {}}};
  EXPECT_TRUE(contains(refusal("a.parquet", rows_of_4),
                       "event 1: column 'particles' is stored as lists with a row of 3 values, wanted is [8, 4]"));
  EXPECT_TRUE(
      contains(refusal("a.tfrecord", rows_of_4), "event 0: column 'particles' is stored as a list of 15 values"));
  EXPECT_TRUE(contains(refusal("a.h5", rows_of_4), "column 'particles' is stored as [5, 3], wanted is [8, 4]"));
  for (const char* name : {"a.parquet", "a.tfrecord", "a.h5"})
    EXPECT_TRUE(contains(refusal(name, {{"features", {}, {}, {}}}), "wanted is one number")) << name;
  for (const char* name : {"a.parquet", "a.h5"})
    EXPECT_TRUE(contains(refusal(name, {{"label", {3}, {}, {}}}), "wanted is [3]")) << name;
  // The axes of a row, not only their product.
  write_hdf5(path("b.h5"), {{"x", {1, 2, 2, 3}, std::vector<float>(12)}});
  EXPECT_TRUE(contains(refusal("b.h5", {{"x", {2, 3, 2}, {}, {}}}), "[2, 2, 3]"));
}

TEST_F(PackedTableTest, AListOfFeaturesHasItsLengthInEveryEvent) {
  auto value = std::make_shared<arrow::FloatBuilder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), value);
  for (const int length : {2, 2, 3, 2, 1}) {
    ASSERT_TRUE(lists.Append().ok());
    for (int i = 0; i < length; ++i) ASSERT_TRUE(value->Append(static_cast<float>(i)).ok());
  }
  write_parquet(path("a.parquet"), "x", lists.Finish().ValueOrDie());
  EXPECT_TRUE(contains(refusal("a.parquet", {{"x", {2}, {}, {}}}),
                       "event 2: column 'x' is stored as a list of 3 values, wanted is [2] an event"));
  EXPECT_TRUE(contains(refusal("a.parquet", {{"x", {3}, {}, {}}}),
                       "event 0: column 'x' is stored as a list of 2 values, wanted is [3] an event"));
  // A sequence of single values has a second axis, and any length.
  EXPECT_EQ(EventTable::open({path("a.parquet")}, {{"x", {2, 1}, {}, {}}})->events_cut(0), 1);
}

TEST(ColumnFacts, AreTheSameHoweverManyValuesComeTogether) {
  const std::vector<float> cycle = {3, -7, 0x1p30F, -0x1p-30F, 0, 8388609, 4194303.5F, -2.5F, 1, -0x1p24F, 0.5F};
  for (size_t count = 1; count <= 70; ++count) {
    for (const size_t step : {size_t{1}, size_t{11}}) {  // all kinds, or one
      std::vector<float> values;
      for (size_t i = 0; i < count; ++i) values.push_back(cycle[(i * step + count) % cycle.size()]);
      ColumnFacts facts;
      facts.add(values);
      EXPECT_EQ(facts.values, static_cast<int64_t>(count));
      EXPECT_EQ(facts.min, std::ranges::min(values));
      EXPECT_EQ(facts.max, std::ranges::max(values));
      EXPECT_EQ(facts.sum, std::accumulate(values.begin(), values.end(), 0.0)) << count;
      EXPECT_EQ(facts.whole, std::ranges::all_of(values, [](float value) { return std::floor(value) == value; }));
      for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), NAN}) {
        values[count / 2] = bad;
        ColumnFacts of_bad;
        of_bad.add(values);
        EXPECT_FALSE(std::isfinite(of_bad.sum));
      }
    }
  }
}

TEST_F(PackedTableTest, EventsMayBeLargerThanWhatIsWrittenAtOnce) {
  constexpr size_t kLarge = 1'500'001;
  std::vector<float> values(5 * kLarge);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 8191);
  write_hdf5(path("a.h5"), {{"x", {5, kLarge}, values}, {"y", {5}, {1, 2, 3, 4, 5}}});
  const auto table = EventTable::open({path("a.h5")}, {{"x", {kLarge}, {}, {}}, {"y", {}, {}, {}}});
  EXPECT_EQ(damage_of_pack(packed().at(0), {}), "");
  TableBatch batch;
  table->read(std::vector<int64_t>{3, 0}, batch);
  EXPECT_TRUE(std::equal(batch.columns[0].begin(), batch.columns[0].begin() + kLarge, values.begin() + 3 * kLarge));
  EXPECT_TRUE(std::equal(batch.columns[0].begin() + kLarge, batch.columns[0].end(), values.begin()));
  EXPECT_EQ(batch.columns[1], (std::vector<float>{4, 1}));
}

TEST_F(PackedTableTest, FactsAreThoseOfAllValues) {
  write_hdf5(path("a.h5"), {{"x", {2, 2}, {3, -1, 7, 0}}, {"y", {2}, {0.5, 1}}});
  write_hdf5(path("b.h5"), {{"x", {3, 2}, {1, 1, 1, -5, 2, 2}}, {"y", {3}, {0, 1, 1}}});
  for (int pass = 0; pass < 2; ++pass) {  // packed, then found packed
    const auto table = EventTable::open({path("a.h5"), path("b.h5")}, {{"x", {2}, {}, {}}, {"y", {}, {}, {}}});
    const ColumnFacts x = table->facts(0), y = table->facts(1);
    EXPECT_EQ(x.values, 10);
    EXPECT_EQ(x.min, -5);
    EXPECT_EQ(x.max, 7);
    EXPECT_EQ(x.sum, 11);
    EXPECT_TRUE(x.whole);
    EXPECT_EQ(y.min, 0);
    EXPECT_EQ(y.max, 1);
    EXPECT_FALSE(y.whole);
  }
}

TEST_F(PackedTableTest, ValuesOutOfTheirRangeNameFileEventAndValue) {
  write_hdf5(path("a.h5"), {{"x", {2}, {1, 1}}, {"label", {2}, {2, 0}}});
  write_hdf5(path("b.h5"), {{"x", {3}, {1, 1, 1}}, {"label", {3}, {0, 3, -1}}});
  const auto table = EventTable::open({path("a.h5"), path("b.h5")}, {{"x", {}, {}, {}}, {"label", {}, {}, {}}});
  table->need(1, {-1, 3, true}, "anything");
  try {
    table->need(1, {0, 2, true}, "a loss of 3 classes");
    FAIL() << "3 is no class of 0, 1, 2";
  } catch (const Error& error) {
    EXPECT_TRUE(contains(error.what(),
                         "b.h5: event 1: column 'label' holds 3, and a loss of 3 classes takes whole "
                         "numbers from 0 to 2"));
  }
  const ValueRange probability{0, 1, false}, index{0, 2, true};
  EXPECT_TRUE(probability.has(1.000001F) && probability.has(0.5F) && !probability.has(1.01F));
  EXPECT_FALSE(index.has(0.5F));
}

TEST_F(PackedTableTest, ValuesThatAreNotFiniteNameTheirEvent) {
  TestEvents events = make_events(30);
  events.features[23][2] = NAN;
  write_parquet(path("a.parquet"), events);
  write_tfrecord(path("a.tfrecord"), events, 5);
  write_hdf5(path("a.h5"), events, 5);
  for (const char* name : {"a.parquet", "a.tfrecord", "a.h5"})
    EXPECT_TRUE(contains(refusal(name, requests(5)), "event 23: column 'features' holds nan (value 2")) << name;
}

TEST_F(PackedTableTest, NullsNameTheirEvent) {
  arrow::Int32Builder numbers;
  ASSERT_TRUE(numbers.Append(1).ok() && numbers.AppendNull().ok());
  write_parquet(path("number.parquet"), "x", numbers.Finish().ValueOrDie());
  EXPECT_TRUE(contains(refusal("number.parquet", {{"x", {}, {}, {}}}), "event 1: column 'x' holds a null"));

  auto value = std::make_shared<arrow::FloatBuilder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), value);
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(lists.Append().ok() && value->Append(1).ok());
  ASSERT_TRUE(value->AppendNull().ok());
  write_parquet(path("list.parquet"), "x", lists.Finish().ValueOrDie());
  EXPECT_TRUE(contains(refusal("list.parquet", {{"x", {2}, {}, {}}}), "event 11: column 'x' holds a null"));
}

TEST_F(PackedTableTest, WhatHoldsNoNumbersIsRefused) {
  arrow::StringBuilder texts;
  ASSERT_TRUE(texts.Append("a").ok());
  write_parquet(path("a.parquet"), "x", texts.Finish().ValueOrDie());
  EXPECT_TRUE(contains(refusal("a.parquet", {{"x", {}, {}, {}}}), "column 'x' is string, not numbers"));
  Example example;
  example["x"].bytes = {"a"};
  write_file_atomically(path("a.tfrecord"), tfrecord_frame(encode_example(example)));
  EXPECT_TRUE(contains(refusal("a.tfrecord", {{"x", {}, {}, {}}}), "column 'x' is a list of 1 byte string, not"));
}

TEST_F(PackedTableTest, CutFilesAreRefused) {
  const TestEvents events = make_events(200);
  // Not between two records: that is a shorter file.
  for (const double part : {0.0, 0.103, 0.603, 0.999}) {
    write_parquet(path("a.parquet"), events);
    write_tfrecord(path("a.tfrecord"), events, 5);
    write_hdf5(path("a.h5"), events, 5);
    for (const char* name : {"a.parquet", "a.tfrecord", "a.h5"}) {
      cut(path(name), part);
      refusal(name, requests(5));
    }
  }
  EXPECT_TRUE(packed().empty());
}

TEST_F(PackedTableTest, DamagedParquetIsRefusedOrReadWithoutACrash) {
  write_parquet(path("a.parquet"), make_events(60));
  const auto size = fs::file_size(path("a.parquet"));
  for (uintmax_t place = 4; place < size; place += 29) {
    write_parquet(path("a.parquet"), make_events(60));
    flip(path("a.parquet"), place);
    try {
      EventTable::open({path("a.parquet")}, requests(5));
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal);
    }
  }
}

TEST_F(PackedTableTest, RequestsThatCannotBe) {
  write_parquet(path("a.parquet"), make_events(5));
  const auto user = [&](const std::vector<ColumnRequest>& columns) {
    return refusal("a.parquet", columns, ErrorCode::kUser);
  };
  user({});
  user({{"", {}, {}, {}}});
  EXPECT_TRUE(contains(user({{"particles", {8, 0}, {}, {}}}), "the shape [8, 0] cannot be"));
  user({{"particles", {int64_t{1} << 40, int64_t{1} << 40}, {}, {}}});
  EXPECT_TRUE(contains(user({{"particles", {8, 3}, {1, 2}, {}}}), "2 constants of scaling for a last axis of 3"));
  user({{"features", {4}, {}, {1, 2, 3, INFINITY}}});
  write_hdf5(path("a.h5"), {{"x", {0}, {}}});
  EXPECT_TRUE(contains(refusal("a.h5", {{"x", {}, {}, {}}}, ErrorCode::kUser), "no event"));
}

TEST_F(PackedTableTest, TheOriginalIsReadOnce) {
  write_parquet(path("a.parquet"), make_events(30));
  const TableBatch first = read_all(*EventTable::open({path("a.parquet")}, requests(5)));
  // The packed file answers, also for another length and scaling.
  const auto made = fs::last_write_time(packed().front());
  EXPECT_EQ(read_all(*EventTable::open({path("a.parquet")}, requests(5))).columns, first.columns);
  EventTable::open({path("a.parquet")},
                   {{"particles", {2, 3}, {1, 1, 1}, {}}, {"features", {4}, {}, {}}, {"label", {}, {}, {}}});
  ASSERT_EQ(packed().size(), 1U);
  EXPECT_EQ(fs::last_write_time(packed().front()), made);
}

// As tar and rsync -t put one in its place.
TEST_F(PackedTableTest, AnotherFileOfTheSameSizeAndDateIsAnotherFile) {
  const auto file = path("a.h5");
  write_hdf5(file, make_events(30), 5);
  const auto opened = EventTable::open({file}, requests(5));
  const TableBatch before = read_all(*opened);
  const auto time = fs::last_write_time(file);
  write_hdf5(path("b.h5"), make_events(30, 1), 5);
  ASSERT_EQ(fs::file_size(path("b.h5")), fs::file_size(file));
  fs::rename(path("b.h5"), file);
  fs::last_write_time(file, time);
  EXPECT_TRUE(contains(message_of(ErrorCode::kData, [&] { read_all(*opened); }), "has changed since it was opened"));
  const auto again = EventTable::open({file}, requests(5));
  EXPECT_NE(read_all(*again).columns, before.columns);
  EXPECT_EQ(again->files()[0].fingerprint, storage::fingerprint(file).content);
  // The same content under the same date, of other attributes, does not end a training.
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  read_all(*again);
}

TEST_F(PackedTableTest, AChangedFileIsNoticedAndPackedAgain) {
  write_parquet(path("a.parquet"), make_events(30));
  const auto table = EventTable::open({path("a.parquet")}, requests(5));
  write_parquet(path("a.parquet"), make_events(29, 1));
  EXPECT_TRUE(contains(message_of(ErrorCode::kData, [&] { read_all(*table); }), "has changed since it was opened"));
  EXPECT_EQ(EventTable::open({path("a.parquet")}, requests(5))->size(), 29);
  EXPECT_EQ(packed().size(), 1U);  // in place of the former
}

TEST_F(PackedTableTest, ADamagedPackedFileIsMadeAgain) {
  write_parquet(path("a.parquet"), make_events(30));
  const auto open = [&] { return EventTable::open({path("a.parquet")}, requests(5)); };
  const TableBatch good = read_all(*open());
  const fs::path file = packed().at(0);
  const uintmax_t size = fs::file_size(file);
  for (const uintmax_t length : {uintmax_t{0}, size / 2, size - 1}) {
    fs::resize_file(file, length);
    EXPECT_EQ(read_all(*open()).columns, good.columns);
  }
  int in_values = 0;
  for (uintmax_t place = 0; place < size; place += 31) {
    flip(file, place);
    const bool is_read = contains(damage_of_pack(file, {}), "event");
    EXPECT_EQ(read_all(*open()).columns, good.columns);
    EXPECT_TRUE(!is_read || damage_of_pack(file, {}).empty()) << place;
    in_values += is_read ? 1 : 0;
  }
  EXPECT_GT(in_values, 10);
  flip(file, 0);
  const auto table = open();
  write_parquet(path("a.parquet"), make_events(31));
  EXPECT_TRUE(contains(message_of(ErrorCode::kData, [&] { read_all(*table); }), "has changed since it was opened"));
}

TEST_F(PackedTableTest, ManyOpenAtOnce) {
  write_parquet(path("a.parquet"), make_events(300));
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto table = EventTable::open({path("a.parquet")}, requests(5));
      if (read_all(*table).columns[2].size() == 300) ++good;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 8);
  EXPECT_EQ(packed().size(), 1U);
}

TEST_F(PackedTableTest, ACacheThatCannotBeWrittenIsSaid) {
  write_parquet(path("a.parquet"), make_events(5));
  std::ofstream(path("file")) << "no folder";
  ::setenv("LINAC_CACHE", path("file").c_str(), 1);
  EXPECT_TRUE(contains(refusal("a.parquet", requests(5), ErrorCode::kEnvironment), "file/tables"));
}

TEST_F(PackedTableTest, OnAFullDiskOldCopiesGo) {
  const fs::path cache = storage::cache_folder(), old = cache / "http" / "old";
  fs::create_directories(cache);
  if (::mount("none", cache.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "mounting is not allowed here";
  fs::create_directories(old.parent_path());
  write_file_atomically(old, std::string(700'000, 'x'));
  write_hdf5(path("a.h5"), {{"x", {25'000}, std::vector<float>(25'000, 1)}});
  write_hdf5(path("b.h5"), {{"x", {200'000}, std::vector<float>(200'000, 1)}});
  {
    const auto table = EventTable::open({path("a.h5")}, {{"x", {}, {}, {}}});
    EXPECT_EQ(table->size(), 25'000);
    EXPECT_FALSE(fs::exists(old));
    EXPECT_TRUE(contains(refusal("b.h5", {{"x", {}, {}, {}}}, ErrorCode::kEnvironment), "No space left"));
    EXPECT_EQ(packed().size(), 1U) << "what is in use stays, and nothing else";
  }
  ::umount2(cache.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace linac::data::testing
