#include "linac/io/data/formats/batches/batch_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/tfrecord_frame.h"
#include "linac/io/data/formats/example.h"
#include "linac/io/data/test_tables.h"

namespace linac::data {
namespace {

std::shared_ptr<arrow::Table> read(const std::string& path, const BatchColumns& columns, const EventRange& range = {}) {
  const auto reader = open_batches(storage::Source::open(path), columns, range);
  arrow::RecordBatchVector batches;
  for (auto batch = reader->next(); batch; batch = reader->next()) {
    EXPECT_GT(batch->num_rows(), 0);
    EXPECT_TRUE(batch->ValidateFull().ok());
    batches.push_back(batch);
  }
  return arrow::Table::FromRecordBatches(reader->schema(), batches).ValueOrDie();
}

std::string what_of(const std::string& path, const BatchColumns& columns) {
  try {
    read(path, columns);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kData);
    return error.what();
  }
  return "nothing was thrown";
}

void write_records(const std::string& path, const std::vector<Example>& examples) {
  std::ofstream out(path, std::ios::binary);
  for (const Example& example : examples) out << tfrecord_frame(encode_example(example));
}

TEST(BatchReader, RangesAreSlicesInEveryFormat) {
  const TemporaryFolder folder;
  const testing::TestEvents events = testing::make_events(100);
  const std::string parquet = folder / "a.parquet", records = folder / "a.tfrecord", hdf5 = folder / "a.h5";
  testing::write_parquet(parquet, events);  // row groups of 7
  testing::write_tfrecord(records, events, 6);
  testing::write_hdf5(hdf5, events, 6);
  for (const std::string& path : {parquet, records, hdf5}) {
    const auto whole = read(path, {{"label", "features", "particles"}});
    ASSERT_EQ(whole->num_rows(), 100) << path;
    for (const auto& [first, count] :
         std::vector<std::pair<int64_t, int64_t>>{{0, 100}, {0, 7}, {6, 2}, {7, 7}, {13, 60}, {99, 1}, {40, 0}}) {
      const auto part = read(path, {{"label", "features", "particles"}}, {first, count});
      EXPECT_TRUE(part->Equals(*whole->Slice(first, count))) << path << " " << first << " " << count;
    }
    EXPECT_NE(what_of(path, {{"labels"}}).find("did you mean 'label'"), std::string::npos) << path;
  }
}

TEST(BatchReader, TheFirstRecordTellsTheKinds) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.tfrecord";
  Example first, second;
  first["n"].integers = {1};
  first["x"].floats = {1, 2};
  second["n"].integers = {int64_t{1} << 60};
  second["x"].floats = {};
  write_records(path, {first, second});
  const auto table = read(path, {});
  EXPECT_EQ(table->schema()->field(0)->type()->id(), arrow::Type::INT64);
  EXPECT_EQ(table->schema()->field(1)->type()->ToString(), arrow::list(arrow::float32())->ToString());
  EXPECT_EQ(table->column(0)->GetScalar(1).ValueOrDie()->ToString(), "1152921504606846976");

  second["n"].integers = {1, 2};
  write_records(path, {first, second});
  EXPECT_NE(
      what_of(path, {}).find("record 1: column 'n' holds 2 integers, and one value in the first record; say --list n"),
      std::string::npos);
  EXPECT_EQ(read(path, {.names = {}, .lists = {"n"}})->num_rows(), 2);

  second["n"] = {};
  second["n"].floats = {1};
  write_records(path, {first, second});
  EXPECT_NE(what_of(path, {}).find("another kind of values"), std::string::npos);

  second = first;
  second["y"].floats = {1};
  write_records(path, {first, second});
  EXPECT_NE(what_of(path, {}).find("column 'y' is not in the first record"), std::string::npos);
  EXPECT_EQ(read(path, {{"n"}})->num_rows(), 2);
  second.erase("n");
  write_records(path, {first, second});
  EXPECT_NE(what_of(path, {{"n"}}).find("record 1: no column 'n'"), std::string::npos);
}

TEST(BatchReader, AnEmptyListOfTheFirstRecordHasAKind) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.tfrecord";
  Example first, second;
  first["n"].kind_if_empty = FeatureKind::kIntegers;
  second["n"].integers = {1, 2};
  write_records(path, {first, second});
  EXPECT_EQ(read(path, {})->schema()->field(0)->type()->ToString(), arrow::list(arrow::int64())->ToString());
}

TEST(BatchReader, MarksLeadToTheSameEvents) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.tfrecord";
  std::vector<Example> examples(3000);
  for (size_t i = 0; i < examples.size(); ++i) {
    examples[i]["n"].integers = {static_cast<int64_t>(i)};
    examples[i]["x"].floats.assign(200, static_cast<float>(i));  // several marks
  }
  write_records(path, examples);
  const auto source = storage::Source::open(path);
  const RecordMarks marks(source);
  EXPECT_EQ(marks.events(), 3000);
  for (const auto& [first, count] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 3000}, {0, 1}, {1, 700}, {2999, 1}, {2000, -1}, {17, 0}, {0, 0}}) {
    const auto before = source->bytes_read();
    const auto reader = open_batches(source, {}, {first, count}, &marks);
    int64_t next = first;
    for (auto batch = reader->next(); batch; batch = reader->next())
      for (int64_t i = 0; i < batch->num_rows(); ++i)
        EXPECT_EQ(static_cast<const arrow::Int64Array&>(*batch->column(0)).Value(i), next++);
    EXPECT_EQ(next, count < 0 ? 3000 : first + count);
    if (count == 1) {
      EXPECT_LT(source->bytes_read() - before, source->size() / 3);
    }
  }
}

}  // namespace
}  // namespace linac::data
