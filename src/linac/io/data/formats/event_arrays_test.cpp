#include "linac/io/data/formats/event_arrays.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <numeric>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/io/data/event_table.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/storage/source.h"

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
  EXPECT_EQ(array_texts(path, "y", "classes"), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(array_texts(path, "x", "classes").empty());
  EventArraysWriter other(folder_ / "other.parquet", {{"row", {}}}, 1);
  EXPECT_THROW(other.number_events(std::vector<int64_t>{1}), Error) << "two columns of one name";
}

std::vector<float> column(const std::filesystem::path& path, const ColumnRequest& request) {
  const auto table = EventTable::open({path.string()}, {request});
  std::vector<int64_t> events(static_cast<size_t>(table->size()));
  std::iota(events.begin(), events.end(), 0);
  std::vector<float> values;
  table->read_column(0, events, values);
  return values;
}

TEST_F(EventArraysTest, AreATreeOfRoot) {
  const auto path = folder_ / "arrays.root";
  constexpr size_t kWide = 100'000;  // two events of it fill a basket
  std::vector<float> wide(7 * kWide);
  std::iota(wide.begin(), wide.end(), 0.0F);
  EventArraysWriter writer(path, {{"x", {2, 2}}, {"dense:0", {1}}, {"1-wide", {kWide}}}, 7);
  writer.set_attribute("source", std::string(300, 's'));
  writer.set_attribute(1, "classes", {"a", "b"});
  writer.number_events(std::vector<int64_t>{0, 3, 4});
  std::vector<float> x(28), y{10, 20, 30, 40, 50, 60, 70};
  std::iota(x.begin(), x.end(), 0.0F);
  for (const auto& [first, count] : {std::pair<size_t, size_t>{0, 3}, {3, 4}}) {
    writer.write(2, static_cast<int64_t>(first), std::span(wide).subspan(first * kWide, count * kWide));
    writer.write(0, static_cast<int64_t>(first), std::span(x).subspan(first * 4, count * 4));
    writer.write(1, static_cast<int64_t>(first), std::span(y).subspan(first, count));
  }
  writer.close();
  EXPECT_EQ(column(path, {"x", {2, 2}, {}, {}}), x);
  EXPECT_EQ(column(path, {"dense_0", {}, {}, {}}), y);
  EXPECT_EQ(column(path, {"_1_wide", {kWide}, {}, {}}), wide);
  EXPECT_EQ(column(path, {"file", {}, {}, {}}), (std::vector<float>{1, 1, 1, 2, 2, 2, 2}));
  EXPECT_EQ(column(path, {"row", {}, {}, {}}), (std::vector<float>{0, 1, 2, 0, 1, 2, 3}));
  EXPECT_NE(read_file(path).find(R"({"dense_0":["a","b"]})"), std::string::npos);
  EXPECT_EQ(array_texts(path, "dense_0", "classes"), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(array_texts(path, "x", "classes").empty() && array_texts(path, "x", "source").empty());
}

TEST_F(EventArraysTest, OfRootMayHaveNoEvents) {
  EventArraysWriter writer(folder_ / "none.root", {{"x", {3}}}, 0);
  writer.number_events({});
  writer.close();
  const TableContents contents = root_contents(storage::Source::of_file(folder_ / "none.root", "none.root"));
  EXPECT_EQ(contents.events, 0);
  EXPECT_EQ(contents.columns, (std::vector<std::string>{"x float[3]", "file int32", "row int64"}));
}

/// No file of this process grows beyond `bytes`: to a writer, a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_F(EventArraysTest, OfRootLeaveNothingOnAFullDisk) {
  const auto path = folder_ / "full.root";
  for (const rlim_t bytes : {1000, 10'000, 4'000'000}) {  // the numbers of the events, a basket, the end
    const FullDisk full(bytes);
    try {
      EventArraysWriter writer(path, {{"x", {}}}, 1'000'000);
      writer.number_events(std::vector<int64_t>{1'000'000});
      std::vector<float> x(1'000'000);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 2654435761U % 1'000'003);
      writer.write(0, 0, x);
      writer.close();
      ADD_FAILURE() << "no error with " << bytes;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kEnvironment);
      EXPECT_NE(std::string(error.what()).find("full.root: cannot be written (File too large)"), std::string::npos)
          << error.what();
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  }
}

TEST_F(EventArraysTest, OfRootAreRefusedBeforeTheyAreComputed) {
  const auto path = folder_ / "refused.root";
  EXPECT_THROW(EventArraysWriter(path, {{"a.b", {}}, {"a/b", {}}}, 1), Error) << "two branches a_b";
  EXPECT_THROW(EventArraysWriter(path, {{"x", {1 << 20, 1 << 20}}}, 1), Error);
  EXPECT_THROW(EventArraysWriter(path, {{std::string(300, 'x'), {}}}, 1), Error);
  EventArraysWriter other(path, {{"row", {}}}, 1);
  EXPECT_THROW(other.number_events(std::vector<int64_t>{1}), Error);
}

TEST_F(EventArraysTest, LeaveNothingWithoutClose) {
  { const EventArraysWriter writer(folder_ / "part.root", {{"x", {}}}, 3); }
  { const EventArraysWriter writer(folder_ / "part.h5", {{"x", {}}}, 3); }
  { const EventArraysWriter writer(folder_ / "part.parquet", {{"x", {}}}, 3); }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

}  // namespace
}  // namespace linac::data
