#include "linac/io/data/column_scaling.h"

#include <cmath>

#include "linac/base/base/atomic_file.h"
#include "linac/io/data/test_showers.h"
#include "linac/io/data/test_tables.h"

namespace linac::data::testing {
namespace {

class ColumnScalingTest : public DataTest {
 protected:
  std::string write(const std::string& text) {
    write_file_atomically(path("scaling.json"), text);
    return path("scaling.json");
  }
  std::string refusal(const std::string& text, const std::string& method = "standard") {
    const std::string file = write(text);
    return message_of(ErrorCode::kData, [&] { read_scaling(file, "x", method, 2); });
  }
};

TEST_F(ColumnScalingTest, BothMethods) {
  const auto file = write(R"({"note": "n", "x": {"mean": [1, 2], "std": [0.5, 0], "min": [-1, 3], "max": [3, 3]}})");
  const ColumnScaling standard = read_scaling(file, "x", "standard", 2);
  EXPECT_EQ(standard.offset, (std::vector<float>{1, 2}));
  EXPECT_EQ(standard.factor, (std::vector<float>{2, 1}));  // no spread: 1
  const ColumnScaling min_max = read_scaling(file, "x", "min_max", 2);
  EXPECT_EQ(min_max.offset, (std::vector<float>{-1, 3}));
  EXPECT_EQ(min_max.factor, (std::vector<float>{0.25, 1}));
  const ColumnScaling any = read_scaling(file, "x", "standard", 0);  // as many as there are
  EXPECT_EQ(any.offset, standard.offset);
  EXPECT_EQ(any.factor, standard.factor);
}

TEST_F(ColumnScalingTest, ErrorsSayWhatAndWhere) {
  EXPECT_TRUE(contains(refusal("{"), "scaling.json: not JSON"));
  EXPECT_TRUE(contains(refusal("[1]"), "found: none"));
  EXPECT_TRUE(contains(refusal(R"({"y": {}, "note": "n"})"), "no constants of the column 'x' (found: y)"));
  EXPECT_TRUE(contains(refusal(R"({"x": {"mean": [1, 2]}})"), "column 'x' has no 'std'"));
  EXPECT_TRUE(contains(refusal(R"({"x": {"mean": [1, "a"]}})"), "'mean' of the column 'x' is no list of finite"));
  EXPECT_TRUE(contains(refusal(R"({"x": {"mean": [1, 1e300]}})"), "finite"));
  EXPECT_TRUE(contains(refusal(R"({"x": {"mean": [1]}})"), "has 1 numbers, wanted are 2"));
  EXPECT_TRUE(contains(refusal(R"({"x": {"mean": [1, 1], "std": [1, -1]}})"), "feature 1 has a negative 'std'"));
  EXPECT_TRUE(contains(refusal(R"({"x": {"min": [1, 1], "max": [0, 2]}})", "min_max"), "feature 0 has a 'max' below"));
  message_of(ErrorCode::kUser, [&] { read_scaling(path("scaling.json"), "x", "log", 2); });
  message_of(ErrorCode::kData, [&] { read_scaling(path("nowhere.json"), "x", "standard", 2); });
}

TEST_F(ColumnScalingTest, ComputedConstantsStandardiseTheirTable) {
  write_parquet(path("a.parquet"), make_events(50));
  auto columns = requests(8);
  write_scaling(*EventTable::open({path("a.parquet")}, columns), path("scaling.json"));
  const ColumnScaling label = read_scaling(path("scaling.json"), "label", "min_max", 1);
  EXPECT_EQ(label.offset, std::vector<float>{0});
  EXPECT_EQ(label.factor, std::vector<float>{0.5});
  const ColumnScaling features = read_scaling(path("scaling.json"), "features", "standard", 4);
  columns[1].offset = features.offset, columns[1].factor = features.factor;
  const TableBatch batch = read_all(*EventTable::open({path("a.parquet")}, columns));
  for (size_t feature = 0; feature < 4; ++feature) {
    double sum = 0, squares = 0;
    for (size_t i = feature; i < batch.columns[1].size(); i += 4) {
      sum += batch.columns[1][i];
      squares += std::pow(batch.columns[1][i], 2);
    }
    EXPECT_NEAR(sum / 50, 0, 1e-6);
    EXPECT_NEAR(squares / 50, 1, 1e-6);
  }
}

TEST_F(ColumnScalingTest, RowsThatPadAreNotCounted) {
  write_hdf5(path("a.h5"), {{"x", {2, 3, 2}, {1, 2, 3, 4, 0, 0, 5, 0, 0, 0, 0, 0}}});
  write_scaling(*EventTable::open({path("a.h5")}, {{"x", {3, 2}, {}, {}}}), path("scaling.json"));
  EXPECT_EQ(read_scaling(path("scaling.json"), "x", "standard", 2).offset, (std::vector<float>{3, 2}));
  write_hdf5(path("b.h5"), {{"x", {2, 3, 2}, {1, 2, -9, -9, 0, 0, 5, 4, -9, -9, -9, -9}}});
  write_scaling(
      *EventTable::open({path("b.h5")}, {{.column = "x", .shape = {3, 2}, .offset = {}, .factor = {}, .padding = -9}}),
      path("scaling.json"));
  EXPECT_EQ(read_scaling(path("scaling.json"), "x", "standard", 2).offset, (std::vector<float>{2, 2}));
}

}  // namespace
}  // namespace linac::data::testing
