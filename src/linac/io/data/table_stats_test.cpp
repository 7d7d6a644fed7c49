#include "linac/io/data/table_stats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "linac/base/base/error.h"
#include "linac/base/base/tfrecord_frame.h"
#include "linac/io/data/formats/example.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/data/test_showers.h"
#include "linac/io/data/test_tables.h"

namespace linac::data {
namespace {

using columns::ColumnStats;
using columns::TableStats;
using namespace testing;

const ColumnStats& column(const std::vector<ColumnStats>& columns, const std::string& name) {
  const auto found = std::ranges::find(columns, name, &ColumnStats::name);
  EXPECT_NE(found, columns.end()) << name;
  return found == columns.end() ? columns.front() : *found;
}

class TableStatsTest : public DataTest {
 protected:
  TableStats of(const std::vector<std::string>& train, const std::vector<std::string>& test = {},
                std::vector<std::string> columns = {}) const {
    StatsOptions options;
    for (const std::string& name : train) options.train.push_back(path(name));
    for (const std::string& name : test) options.test.push_back(path(name));
    options.columns = std::move(columns);
    return table_stats(options);
  }
};

TEST_F(TableStatsTest, AreTheSameInAllFormats) {
  const TestEvents events = make_events(60);
  testing::write_parquet(path("a.parquet"), events);
  testing::write_tfrecord(path("a.tfrecord"), events, 5);
  testing::write_hdf5(path("a.h5"), events, 5);
  for (const char* name : {"a.parquet", "a.tfrecord", "a.h5"}) {
    const TableStats stats = of({name});
    EXPECT_EQ(stats.train.events, 60) << name;
    EXPECT_TRUE(stats.left_out.empty() && stats.test.columns.empty());
    const ColumnStats& features = column(stats.train.columns, "features");
    EXPECT_EQ(features.values, 240);
    EXPECT_EQ(features.places, 4);
    double sum = 0;
    float most = 0;
    for (const auto& four : events.features)
      for (const float value : four) {
        sum += value;
        most = std::max(most, value);
      }
    EXPECT_NEAR(features.mean, sum / 240, 1e-5) << name;
    EXPECT_EQ(features.max, most);
    EXPECT_FALSE(column(stats.train.columns, "label").classes.empty());
    EXPECT_FALSE(column(stats.train.columns, "label").is_list);
  }
  const TableStats parquet = of({"a.parquet"}, {}, {"particles"});
  ASSERT_EQ(parquet.train.columns.size(), 1U);
  EXPECT_EQ(parquet.train.columns[0].length_max, 5) << "rows, not values";
  EXPECT_EQ(parquet.train.columns[0].length_min, 0);
  EXPECT_EQ(of({"a.h5"}, {}, {"particles"}).train.columns[0].length_max, 5);
}

TEST_F(TableStatsTest, FindEventsThatAreThereTwice) {
  testing::write_parquet(path("a.parquet"), make_events(40));
  testing::write_parquet(path("b.parquet"), make_events(40, 35));
  testing::write_parquet(path("c.parquet"), make_events(40, 200));
  const TableStats within = of({"a.parquet", "b.parquet"});
  EXPECT_EQ(within.train.events, 80);
  EXPECT_EQ(within.duplicates.train, 5);
  EXPECT_EQ(within.train.file_events, (std::vector<int64_t>{40, 40}));
  const TableStats between = of({"a.parquet", "c.parquet"}, {"b.parquet", "c.parquet"});
  EXPECT_EQ(between.duplicates.leaked, 45);
  EXPECT_EQ(between.duplicates.train, 0);
  EXPECT_EQ(between.test.events, 80);
}

// Numbers of events, which float32 rounds from 2^24 on.
TEST_F(TableStatsTest, LargeNumbersThatDifferAreNoCopies) {
  const std::vector<int64_t> bases = {400'000'000, (int64_t{1} << 60) + 1, -400'000'000};
  for (const int64_t base : bases) {
    arrow::Int64Builder whole;
    arrow::DoubleBuilder full;
    arrow::FloatBuilder half;
    for (int i = 0; i < 40; ++i) {
      const int64_t number = base + (i < 38 ? i : 0);  // two are copies of the first
      EXPECT_TRUE(whole.Append(number).ok() && full.Append(static_cast<double>(number % 1'000'000'007)).ok() &&
                  half.Append(static_cast<float>(number % 1'000'000'007)).ok());
    }
    const auto numbers = whole.Finish().ValueOrDie(), doubles = full.Finish().ValueOrDie();
    testing::write_parquet(path("whole.parquet"), "event", numbers);
    testing::write_parquet(path("full.parquet"), "event", doubles);
    testing::write_parquet(path("half.parquet"), "event", half.Finish().ValueOrDie());
    EXPECT_EQ(of({"whole.parquet"}).duplicates.train, 2) << base;
    EXPECT_EQ(of({"full.parquet"}).duplicates.train, 2) << base;
    EXPECT_EQ(of({"full.parquet"}, {"half.parquet"}).duplicates.leaked, 40) << "the one is the other, as float32";
  }
  // A number is the same in every type that holds it, and in every format.
  arrow::Int64Builder whole;
  arrow::DoubleBuilder full;
  std::ofstream records(path("whole.tfrecord"), std::ios::binary);
  for (int i = 0; i < 40; ++i) {
    EXPECT_TRUE(whole.Append(400'000'000 + i).ok() && full.Append(400'000'000 + i).ok());
    Example example;
    example["event"].integers = {400'000'000 + i};
    records << tfrecord_frame(encode_example(example));
  }
  records.close();
  testing::write_parquet(path("whole.parquet"), "event", whole.Finish().ValueOrDie());
  testing::write_parquet(path("full.parquet"), "event", full.Finish().ValueOrDie());
  for (const char* other : {"full.parquet", "whole.tfrecord"}) {
    const columns::Duplicates::Found found = of({"whole.parquet"}, {other}).duplicates;
    EXPECT_EQ(found.leaked, 40) << other;
    EXPECT_EQ(found.train + found.test, 0) << other;
  }
}

TEST(RestBeyondFloat32, TellsValuesApart) {
  EXPECT_EQ(rest_beyond_float32(int64_t{1} << 24), 0U);
  EXPECT_EQ(rest_beyond_float32((int64_t{1} << 24) + 1), rest_beyond_float32(16777217.0));
  EXPECT_NE(rest_beyond_float32(int64_t{16777217}), 0U);
  EXPECT_EQ(rest_beyond_float32(-400'000'001.0), rest_beyond_float32(int64_t{-400'000'001}));
  EXPECT_NE(rest_beyond_float32(0.1), 0U);
  EXPECT_EQ(rest_beyond_float32(static_cast<double>(0.1F)), 0U);
  EXPECT_EQ(rest_beyond_float32(std::nan("")), 0U);
  EXPECT_NE(rest_beyond_float32(1e300), rest_beyond_float32(2e300));
  for (const int64_t value : {INT64_MAX, INT64_MAX - 1, INT64_MIN + 1}) EXPECT_NE(rest_beyond_float32(value), 0U);
  EXPECT_NE(rest_beyond_float32(UINT64_MAX), rest_beyond_float32(UINT64_MAX - 1));
  EXPECT_EQ(rest_beyond_float32(INT64_MIN), 0U);
}

TEST_F(TableStatsTest, NullsNanAndTextsAndWhatCannotBeRead) {
  arrow::FloatBuilder x;
  EXPECT_TRUE(x.Append(1).ok() && x.AppendNull().ok() && x.Append(std::nanf("")).ok());
  arrow::StringBuilder text, unique;
  EXPECT_TRUE(text.AppendValues({"b", "a", "b"}).ok() && unique.AppendValues({"", "x", "y"}).ok());
  arrow::Date32Builder dates;
  EXPECT_TRUE(dates.AppendValues({1, 2, 3}).ok());
  arrow::ListBuilder lists(arrow::default_memory_pool(), std::make_shared<arrow::FloatBuilder>());
  auto& inner = static_cast<arrow::FloatBuilder&>(*lists.value_builder());
  EXPECT_TRUE(lists.Append().ok() && inner.AppendValues({1, 2}).ok() && lists.AppendNull().ok() &&
              lists.Append().ok() && inner.AppendNull().ok());
  testing::write_parquet(path("a.parquet"), {"x", "text", "unique", "day", "list"},
                         {x.Finish().ValueOrDie(), text.Finish().ValueOrDie(), unique.Finish().ValueOrDie(),
                          dates.Finish().ValueOrDie(), lists.Finish().ValueOrDie()});
  const TableStats stats = of({"a.parquet"});
  EXPECT_EQ(column(stats.train.columns, "x").nulls, 1);
  EXPECT_EQ(column(stats.train.columns, "x").nans, 1);
  EXPECT_EQ(column(stats.train.columns, "text").classes,
            (std::vector<std::pair<std::string, int64_t>>{{"a", 1}, {"b", 2}}));
  EXPECT_EQ(column(stats.train.columns, "list").nulls, 1);
  EXPECT_EQ(column(stats.train.columns, "list").length_min, 0);
  EXPECT_EQ(column(stats.train.columns, "list").values, 3);
  ASSERT_EQ(stats.left_out.size(), 2U);
  EXPECT_EQ(stats.left_out[0].name, "unique");
  EXPECT_TRUE(contains(stats.left_out[0].why, "empty text"));
  EXPECT_EQ(stats.left_out[1].name, "day");
}

TEST_F(TableStatsTest, ListsOfListsOfManyLengths) {
  arrow::ListBuilder lists(
      arrow::default_memory_pool(),
      std::make_shared<arrow::ListBuilder>(arrow::default_memory_pool(), std::make_shared<arrow::FloatBuilder>()));
  auto& rows = static_cast<arrow::ListBuilder&>(*lists.value_builder());
  auto& values = static_cast<arrow::FloatBuilder&>(*rows.value_builder());
  EXPECT_TRUE(lists.Append().ok() && rows.Append().ok() && values.AppendValues({1, 2, 3}).ok() && rows.Append().ok());
  EXPECT_TRUE(lists.Append().ok() && rows.Append().ok() && values.Append(4).ok());
  testing::write_parquet(path("a.parquet"), "v", lists.Finish().ValueOrDie());
  const ColumnStats v = of({"a.parquet"}).train.columns.at(0);
  EXPECT_EQ(v.values, 4);
  EXPECT_EQ(v.length_max, 2);
  EXPECT_DOUBLE_EQ(v.mean, 2.5);

  StatsOptions options;
  options.train = {"fuzz/corpus/root/tree"};
  const TableStats tree = table_stats(options);
  EXPECT_EQ(tree.train.events, 8);
  EXPECT_EQ(column(tree.train.columns, "m").places, 2);
  EXPECT_TRUE(column(tree.train.columns, "m").is_constant());
  EXPECT_EQ(column(tree.train.columns, "l").length_max, 3);
  EXPECT_EQ(tree.duplicates.train, 4);
  options.train = {"fuzz/corpus/root/ntuple"};
  const TableStats ntuple = table_stats(options);
  EXPECT_EQ(ntuple.train.events, 4);
  EXPECT_TRUE(column(ntuple.train.columns, "v").is_list) << "lists of lists";
  ASSERT_EQ(ntuple.left_out.size(), 1U);
  EXPECT_TRUE(ntuple.left_out[0].name == "s" && contains(ntuple.left_out[0].why, "empty text"));
}

TEST_F(TableStatsTest, WrongNamesAndDamagedFiles) {
  testing::write_parquet(path("a.parquet"), make_events(10));
  try {
    of({"a.parquet"}, {}, {"lable"});
    FAIL() << "there is no such column";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUser);
    EXPECT_TRUE(contains(error.what(), "did you mean 'label'?")) << error.what();
  }
  arrow::Date32Builder dates;
  EXPECT_TRUE(dates.Append(1).ok());
  testing::write_parquet(path("b.parquet"), "day", dates.Finish().ValueOrDie());
  EXPECT_THROW(of({"b.parquet"}), Error) << "no column is left";
  EXPECT_THROW(of({"a.parquet", "b.parquet"}), Error) << "the second file lacks the columns";
  int asked = 0;
  StatsOptions options;
  options.train = {path("a.parquet")};
  options.stop = [&] { return ++asked > 1; };
  EXPECT_TRUE(table_stats(options).stopped);
}

}  // namespace
}  // namespace linac::data
