#include "linac/io/data/formats/event_arrays.h"

#include <gtest/gtest.h>

#include <numeric>

#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/io/data/event_table.h"

namespace linac::data {
namespace {

class EventArraysTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;

  std::filesystem::path write(int64_t events) {
    const auto path = folder_ / "arrays.h5";
    EventArraysWriter writer(path, {{"x", {2, 3}}, {"y", {}}}, events);
    std::vector<float> x(static_cast<size_t>(6 * events)), y(static_cast<size_t>(events), 7);
    std::iota(x.begin(), x.end(), 0.0F);
    writer.write(0, 0, std::span(x).first(6));
    writer.write(0, 1, std::span(x).subspan(6));
    writer.write(1, 0, y);
    writer.close();
    return path;
  }
};

TEST_F(EventArraysTest, ComeBack) {
  const EventArrays arrays(write(4), {"y", "x"});
  EXPECT_EQ(arrays.events(), 4);
  EXPECT_EQ(arrays.shape(0), std::vector<int64_t>{});
  EXPECT_EQ(arrays.shape(1), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(arrays.read(1, 2, 1), (std::vector<float>{12, 13, 14, 15, 16, 17}));
  EXPECT_EQ(arrays.read(0, 1, 3), (std::vector<float>{7, 7, 7}));
}

TEST_F(EventArraysTest, NameWhatIsThere) {
  const auto path = write(4);
  try {
    const EventArrays arrays(path, {"x", "z"});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kData);
    EXPECT_NE(std::string(error.what()).find("no data set 'z' (found: x [4, 2, 3], y [4])"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(EventArrays(folder_ / "nowhere.h5", {"x"}), Error);
}

TEST_F(EventArraysTest, AreListed) {
  EXPECT_EQ(array_names(write(4)), (std::vector<std::string>{"x", "y"}));
  EXPECT_THROW(array_names(folder_ / "nowhere.h5"), Error);
}

TEST_F(EventArraysTest, KnowWhereEventsComeFrom) {
  const auto path = folder_ / "numbered.h5";
  EventArraysWriter writer(path, {{"x", {}}}, 70'003);
  writer.number_events(std::vector<int64_t>{2, 0, 70'000, 1});
  writer.close();
  EXPECT_EQ(array_names(path), (std::vector<std::string>{"x"}));
  const EventArrays numbers(path, {"event_numbers/file", "event_numbers/row"});
  EXPECT_EQ(numbers.read(0, 0, 4), (std::vector<float>{0, 0, 2, 2}));
  EXPECT_EQ(numbers.read(1, 0, 4), (std::vector<float>{0, 1, 0, 1}));
  EXPECT_EQ(numbers.read(0, 70'001, 2), (std::vector<float>{2, 3}));
  EXPECT_EQ(numbers.read(1, 70'001, 2), (std::vector<float>{69'999, 0}));
}

TEST_F(EventArraysTest, AreRowsOfParquet) {
  const auto path = folder_ / "arrays.parquet";
  EventArraysWriter writer(path, {{"x", {2, 2}}, {"y", {1}}}, 3);
  writer.set_attribute("source", "a test");
  writer.set_attribute(1, "classes", {"a", "b"});
  writer.number_events(std::vector<int64_t>{0, 1, 2});
  writer.write(0, 0, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  writer.write(1, 0, std::vector<float>{10, 20});
  writer.write(1, 2, std::vector<float>{30});
  writer.write(0, 2, std::vector<float>{9, 10, 11, 12});
  writer.close();
  const auto table = EventTable::open(
      {path.string()}, {{"x", {2, 2}, {}, {}}, {"y", {}, {}, {}}, {"file", {}, {}, {}}, {"row", {}, {}, {}}});
  TableBatch batch;
  table->read(std::vector<int64_t>{0, 1, 2}, batch);
  EXPECT_EQ(batch.columns[0], (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(batch.columns[1], (std::vector<float>{10, 20, 30}));
  EXPECT_EQ(batch.columns[2], (std::vector<float>{1, 2, 2}));
  EXPECT_EQ(batch.columns[3], (std::vector<float>{0, 0, 1}));
  EventArraysWriter other(folder_ / "other.parquet", {{"row", {}}}, 1);
  EXPECT_THROW(other.number_events(std::vector<int64_t>{1}), Error) << "two columns of one name";
}

TEST_F(EventArraysTest, LeaveNothingWithoutClose) {
  { const EventArraysWriter writer(folder_ / "part.h5", {{"x", {}}}, 3); }
  { const EventArraysWriter writer(folder_ / "part.parquet", {{"x", {}}}, 3); }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

}  // namespace
}  // namespace linac::data
