// What transforms make of events, the same from every format, and what they refuse.

#include "linac/io/data/transform/transform.h"

#include <arrow/api.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "linac/base/base/test_errors.h"
#include "linac/io/data/event_table.h"
#include "linac/io/data/test_showers.h"
#include "linac/io/data/test_tables.h"
#include "linac/io/data/transform/split.h"

namespace linac::data::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class Builder, class T>
std::shared_ptr<arrow::Array> array_of(const std::vector<T>& values) {
  Builder builder;
  EXPECT_TRUE(builder.AppendValues(values).ok());
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::Array> doubles(const std::vector<double>& values) {
  return array_of<arrow::DoubleBuilder>(values);
}

std::shared_ptr<arrow::Array> lists(const std::vector<std::vector<double>>& lists) {
  auto value = std::make_shared<arrow::DoubleBuilder>();
  arrow::ListBuilder builder(arrow::default_memory_pool(), value);
  for (const auto& list : lists) EXPECT_TRUE(builder.Append().ok() && value->AppendValues(list).ok());
  return builder.Finish().ValueOrDie();
}

ColumnRequest number(const std::string& name) {
  return {name, {}, {}, {}};
}

class TransformTest : public DataTest {
 protected:
  /// Column 0 of what is read.
  std::vector<float> values(const std::string& name, const ColumnRequest& column, const Transform& transform) {
    return read_all(*EventTable::open({path(name)}, {column}, transform)).columns[0];
  }

  std::string refusal(const std::string& name, const ColumnRequest& column, const Transform& transform,
                      ErrorCode code = ErrorCode::kUser) {
    return message_of(code, [&] { EventTable::open({path(name)}, {column}, transform); });
  }

  void write_numbers() {
    write_parquet(path("a.parquet"), {"x", "n", "jets", "eta"},
                  {doubles({1, 2, 3, 4}), array_of<arrow::Int64Builder, int64_t>({1, 2, int64_t{1} << 40, 4}),
                   lists({{5, 7, 7}, {}, {1}, {2, 3}}), lists({{0.1, 0.2, 0.3}, {}, {4}, {5, 6}})});
  }
};

TEST_F(TransformTest, IsTheSameFromEveryFormat) {
  const TestEvents events = make_events(40);
  write_parquet(path("a.parquet"), events);
  write_tfrecord(path("a.tfrecord"), events, 8);
  write_hdf5(path("a.h5"), events, 8);
  const Transform transform{
      .lists = {{.columns = {"particles"}, .filter = "particles[:, 1] > 0", .sort = "-particles[:, 1]", .first = 3}},
      .define = {{"sum", "sum(particles[:, 1]) + 100 * len(particles[:, 0])"}, {"twice", "2 * sum"}},
      .filter = "features[0] > 5 && label != 1"};
  std::vector<ColumnRequest> columns = requests(4);
  columns.push_back(number("twice"));

  std::vector<float> particles, twice;  // by hand
  size_t selected = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    if (events.features[i][0] <= 5 || events.labels[i] == 1) continue;
    ++selected;
    std::vector<std::array<float, 3>> rows;
    for (const auto& row : events.particles[i])
      if (row[1] > 0) rows.push_back(row);
    std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a[1] > b[1]; });
    rows.resize(std::min<size_t>(rows.size(), 3));
    float sum = 0;
    for (const auto& row : rows) sum += row[1];
    twice.push_back(2 * (sum + 100 * static_cast<float>(rows.size())));
    rows.resize(4);
    for (const auto& row : rows) particles.insert(particles.end(), row.begin(), row.end());
  }
  for (const char* const name : {"a.parquet", "a.tfrecord", "a.h5"}) {
    const auto table = EventTable::open({path(name)}, columns, transform);
    EXPECT_EQ(table->size(), static_cast<int64_t>(selected)) << name;
    EXPECT_EQ(table->files()[0].stored, 40);
    EXPECT_EQ(table->files()[0].passed, static_cast<int64_t>(selected));
    const TableBatch batch = read_all(*table);
    EXPECT_EQ(batch.columns[0], particles) << name;
    EXPECT_EQ(batch.columns[3], twice) << name;
    std::vector<float> label;
    const std::vector<int64_t> all{0, 1, 2};
    table->read_column(2, all, label);
    EXPECT_EQ(label, std::vector<float>(batch.columns[2].begin(), batch.columns[2].begin() + 3));
  }
}

TEST_F(TransformTest, SortsListsThatBelongTogetherAndKeepsTheOrderOfEqualOnes) {
  write_numbers();
  const Transform transform{.lists = {{.columns = {"jets", "eta"}, .filter = "", .sort = "-jets", .first = 2}},
                            .define = {{"best", "where(len(eta) > 0, eta[0], -1)"}},
                            .filter = ""};
  EXPECT_EQ(values("a.parquet", {"eta", {3, 1}, {}, {}}, transform),
            (std::vector<float>{0.2F, 0.3F, 0, 0, 0, 0, 4, 0, 0, 6, 5, 0}));
  EXPECT_EQ(values("a.parquet", number("best"), transform), (std::vector<float>{0.2F, -1, 4, 6}));
}

TEST_F(TransformTest, TakesThePlaceOfAColumn) {
  write_numbers();
  const Transform transform{.lists = {}, .define = {{"x", "x * 10"}, {"y", "x + n"}}, .filter = "x < 35"};
  EXPECT_EQ(values("a.parquet", number("y"), transform), (std::vector<float>{11, 22, 1099511627776.0F + 30}));
}

TEST_F(TransformTest, ComputesInFloat64) {
  write_parquet(path("b.parquet"), {"x"},
                {doubles({16777216, 16777217, 16777218})});  // equal as float32, the first two
  EXPECT_EQ(
      values("b.parquet", number("d"), {.lists = {}, .define = {{"d", "x - 16777216"}}, .filter = "x > 16777216"}),
      (std::vector<float>{1, 2}));
}

TEST_F(TransformTest, CountsTheTextsOfSelectedEventsAlone) {
  arrow::StringBuilder texts;
  ASSERT_TRUE(texts.AppendValues({"c", "a", "b", "a"}).ok());
  write_parquet(path("t.parquet"), {"kind", "x"}, {texts.Finish().ValueOrDie(), doubles({1, 2, 3, 4})});
  ColumnRequest kind = number("kind");
  kind.texts = TextClasses{.count = 2, .output = "kind"};
  const auto table = EventTable::open({path("t.parquet")}, {kind}, {.lists = {}, .define = {}, .filter = "x > 1"});
  EXPECT_EQ(table->classes(0), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(table->events_of_classes(0), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(read_all(*table).columns[0], (std::vector<float>{0, 1, 0}));
}

// Computed by Python's xxhash: xxh3_64_intdigest(struct.pack("<2d", run, event)) >> 11, divided by 2 ** 53.
TEST_F(TransformTest, SplitsByADocumentedHash) {
  EXPECT_EQ(place_of_key(std::vector<double>{1}), 0.3829907419615547);
  EXPECT_EQ(place_of_key(std::vector<double>{1, 1}), 0.3516993030679304);
  EXPECT_EQ(place_of_key(std::vector<double>{355381, 2084319112}), 0.926118605863487);
  EXPECT_EQ(place_of_key(std::vector<double>{1, 9007199254740991}), 0.019775585327622358);
  EXPECT_EQ(place_of_key(std::vector<double>{0}), 0.7792240817648507);
  EXPECT_EQ(place_of_key(std::vector<double>{-0.0}), 0.7792240817648507);
  EXPECT_EQ(place_of_key(std::vector<double>{-1.5, 2.25}), 0.6243659733591329);
  const SplitRule quarters{.key = {}, .validation = 0.25, .test = 0.25};
  EXPECT_EQ(part_of(0.5, quarters), Part::kValidation);
  EXPECT_EQ(part_of(0.4999, quarters), Part::kTrain);
  EXPECT_EQ(part_of(0.75, quarters), Part::kTest);
  EXPECT_EQ(part_of(0.9999999, SplitRule{}), Part::kTrain);
  // Each event that is not test is the validation of exactly one fold, and the folds are equal parts.
  constexpr int kFolds = 4, kPlaces = 1000;
  std::array<int, kFolds> tested{};
  for (int i = 0; i < kPlaces; ++i) {
    const double place = (i + 0.5) / kPlaces;
    int folds = 0;
    for (int fold = 1; fold <= kFolds; ++fold) {
      const Part part = part_of(place, {.key = {}, .test = 0.2, .folds = kFolds, .fold = fold});
      ASSERT_EQ(part == Part::kTest, place >= 0.8) << place;
      if (part != Part::kValidation) continue;
      ++folds;
      ++tested[static_cast<size_t>(fold - 1)];
    }
    ASSERT_EQ(folds, place < 0.8 ? 1 : 0) << place;
  }
  EXPECT_EQ(tested, (std::array{200, 200, 200, 200}));
  EXPECT_EQ(part_of(std::nextafter(0.8, 0.0), {.key = {}, .test = 0.2, .folds = 4, .fold = 4}), Part::kValidation);
}

TEST_F(TransformTest, AnEventStaysInItsPartWhateverFilesComeAndGo) {
  constexpr int kFiles = 4, kEvents = 300;
  std::vector<std::string> files;
  for (int file = 0; file < kFiles; ++file) {
    std::vector<double> run(kEvents, file), event(kEvents), unique(kEvents);
    for (int i = 0; i < kEvents; ++i) {
      event[static_cast<size_t>(i)] = i;
      unique[static_cast<size_t>(i)] = kEvents * file + i;
    }
    files.push_back(path(fmt::format("{}.parquet", file)));
    write_parquet(files.back(), {"run", "event", "unique"}, {doubles(run), doubles(event), doubles(unique)});
  }
  const auto part = [&](const std::vector<std::string>& of, Part wanted) {
    const Transform transform{
        .lists = {},
        .define = {},
        .filter = "",
        .split = SplitRule{.key = {"run", "event"}, .validation = 0.2, .test = 0.1, .part = wanted}};
    const std::vector<float> found = read_all(*EventTable::open(of, {number("unique")}, transform)).columns[0];
    return std::set<float>(found.begin(), found.end());
  };
  const std::vector<std::string> others{files[3], files[0], files[2]};
  std::set<float> all;
  for (const Part wanted : {Part::kTrain, Part::kValidation, Part::kTest}) {
    const std::set<float> whole = part(files, wanted), some = part(others, wanted);
    for (const float event : some) EXPECT_TRUE(whole.contains(event));
    for (const float event : whole) {
      EXPECT_TRUE(all.insert(event).second);
      const bool left_out = event >= kEvents && event < 2 * kEvents;
      EXPECT_EQ(some.contains(event), !left_out);
    }
    const double share = static_cast<double>(whole.size()) / (kFiles * kEvents);
    EXPECT_NEAR(share, wanted == Part::kTrain ? 0.7 : wanted == Part::kValidation ? 0.2 : 0.1, 0.05);
  }
  EXPECT_EQ(all.size(), size_t{kFiles} * kEvents);
}

TEST_F(TransformTest, NamesWhatItRefuses) {
  write_numbers();
  const auto defined = [](const std::string& formula) {
    return Transform{.lists = {}, .define = {{"y", formula}}, .filter = ""};
  };
  const auto filtered = [](const std::string& formula) {
    return Transform{.lists = {}, .define = {}, .filter = formula};
  };
  const auto ruled = [](const ListRule& rule) { return Transform{.lists = {rule}, .define = {}, .filter = ""}; };
  const ColumnRequest x = number("x"), y = number("y");
  const std::vector<std::tuple<ColumnRequest, Transform, ErrorCode, std::vector<std::string>>> cases = {
      {x, filtered("jet > 3"), ErrorCode::kData, {"no column 'jet'", "data.filter", "character 1", "mean 'jets'?"}},
      {x, filtered("x"), ErrorCode::kUser, {"data.filter", "wanted is a boolean, and this is a number"}},
      {x, filtered("jets > 3"), ErrorCode::kUser, {"a list of booleans", "any() and all()"}},
      {x, filtered("x > 10"), ErrorCode::kUser, {"holds for none of 4 events"}},
      {y, defined("log(x - 2)"), ErrorCode::kData, {"event 0", "computed column 'y' holds NaN", "isfinite(y)"}},
      {y, defined("1e300 * x"), ErrorCode::kData, {"event 0", "beyond float32"}},
      {y, defined("1 / (x - 3)"), ErrorCode::kData, {"event 2", "inf"}},
      {y, defined("jets"), ErrorCode::kData, {"'y' is stored as computed, a list of numbers", "wanted is one number"}},
      {{"y", {3, 2}, {}, {}}, defined("jets"), ErrorCode::kData, {"wanted is [3, 2]"}},
      {y, {.lists = {}, .define = {{"y", "z + x"}, {"z", "y"}}, .filter = ""}, ErrorCode::kUser, {"by way of y, z"}},
      {y, defined("sum(jets + x * eta[:, 1])"), ErrorCode::kUser, {"wants one position"}},
      {y, defined("3"), ErrorCode::kUser, {"no column of the file is read"}},
      {{"jets", {3, 1}, {}, {}}, ruled({{"jets"}, "x > 1", "", 0}), ErrorCode::kUser, {"data.lists[0].filter"}},
      {x, ruled({{"x"}, "", "", 2}), ErrorCode::kUser, {"data.lists[0]", "'x'", "no list"}},
      {number("y"),
       {.lists = {{{"eta"}, "eta > 1", "", 0}}, .define = {{"y", "sum(jets * eta)"}}, .filter = ""},
       ErrorCode::kData,
       {"event 0", "data.define.y", "lists of 3 values and of 0"}}};
  for (const auto& [column, transform, code, words] : cases) {
    const std::string message = refusal("a.parquet", column, transform, code);
    expect_in(message, words);
  }
}

TEST_F(TransformTest, RefusesKeysThatFloat64Rounds) {
  write_parquet(path("big.parquet"), {"event", "x"},
                {array_of<arrow::UInt64Builder, uint64_t>({1, uint64_t{1} << 53}), doubles({1, kNan})});
  write_parquet(path("fits.parquet"), {"event", "x"},
                {array_of<arrow::Int64Builder, int64_t>({1, (int64_t{1} << 53) - 1}), doubles({1, kNan})});
  const auto by = [](const std::string& key) {
    return Transform{.lists = {}, .define = {}, .filter = "", .split = SplitRule{.key = {key}, .test = 0.5}};
  };
  expect_in(refusal("big.parquet", number("event"), by("event"), ErrorCode::kData), {"event 1", "2^53"});
  expect_in(refusal("fits.parquet", number("event"), by("x"), ErrorCode::kData), {"event 1", "data.split.key", "NaN"});
  EXPECT_EQ(EventTable::open({path("fits.parquet")}, {number("event")}, by("event"))->size(), 2);
}

TEST_F(TransformTest, IsPartOfTheKeyAsFarAsItMatters) {
  write_numbers();
  const auto packed = [&] {
    size_t files = 0;
    for (const auto& file : std::filesystem::directory_iterator(path("cache/tables")))
      files += file.path().extension() == ".pack" ? 1 : 0;
    return files;
  };
  const auto open = [&](const Transform& transform) {
    EventTable::open({path("a.parquet")}, {number("x")}, transform);
  };
  open({});
  const size_t plain = packed();
  open({.lists = {{{"jets"}, "", "", 2}}, .define = {{"unused", "x + 1"}}, .filter = ""});
  EXPECT_EQ(packed(), plain);
  open({.lists = {}, .define = {}, .filter = "x > 1"});
  EXPECT_EQ(packed(), plain + 1);
  open({.lists = {}, .define = {{"y", "x"}}, .filter = "y > 1"});
  EXPECT_EQ(packed(), plain + 2);
  open({.lists = {}, .define = {{"y", "x * 2"}}, .filter = "y > 1"});
  EXPECT_EQ(packed(), plain + 3);
}

}  // namespace
}  // namespace linac::data::testing
