#include "linac/io/data/formats/arrow_records.h"

#include <gtest/gtest.h>

#include "linac/io/data/formats/table_reader.h"
#include "linac/io/data/rewrite/rewrite.h"
#include "linac/io/data/test_showers.h"
#include "linac/io/data/test_tables.h"

namespace linac::data {
namespace {

using testing::contains;

/// Jet: list<struct<pt, sub: struct<tag: list<int32>>>> of 2, 0 and 1 jets, and met, as awkward writes records.
class Records : public testing::DataTest {
 protected:
  void SetUp() override {
    DataTest::SetUp();
    const auto pt = std::make_shared<arrow::FloatBuilder>();
    const auto tag = std::make_shared<arrow::Int32Builder>();
    const auto tags = std::make_shared<arrow::ListBuilder>(arrow::default_memory_pool(), tag);
    const auto inner = std::make_shared<arrow::StructBuilder>(arrow::struct_({arrow::field("tag", tags->type())}),
                                                              arrow::default_memory_pool(),
                                                              std::vector<std::shared_ptr<arrow::ArrayBuilder>>{tags});
    const auto type = arrow::struct_({arrow::field("pt", arrow::float32()), arrow::field("sub", inner->type())});
    const auto jet = std::make_shared<arrow::StructBuilder>(
        type, arrow::default_memory_pool(), std::vector<std::shared_ptr<arrow::ArrayBuilder>>{pt, inner});
    arrow::LargeListBuilder jets(arrow::default_memory_pool(), jet);
    arrow::DoubleBuilder met;
    int number = 0;
    for (const int count : {2, 0, 1}) {
      ASSERT_TRUE(jets.Append().ok() && met.Append(100 + count).ok());
      for (int i = 0; i < count; ++i, ++number) {
        ASSERT_TRUE(jet->Append().ok() && pt->Append(10.0F * static_cast<float>(number)).ok() && inner->Append().ok());
        ASSERT_TRUE(tags->Append().ok() && tag->AppendValues({number, -number}).ok());
      }
    }
    testing::write_parquet(path("a.parquet"), {"Jet", "met"}, {jets.Finish().ValueOrDie(), met.Finish().ValueOrDie()});
  }
};

TEST_F(Records, FieldsAreColumns) {
  const auto source = storage::Source::open(path("a.parquet"));
  EXPECT_EQ(contents_of_table(source).columns,
            (std::vector<std::string>{"Jet.pt list<float>", "Jet.sub.tag list<list<int32>>", "met double"}));
  const auto reader = open_table_reader(
      source,
      {{.name = "Jet.sub.tag", .shape = {2, 2}}, {.name = "met", .shape = {}}, {.name = "Jet.pt", .shape = {2, 1}}});
  std::vector<RaggedColumn> block;
  reader->next(block);
  EXPECT_EQ(block[0].values, (std::vector<float>{0, 0, 1, -1, 2, -2}));
  EXPECT_EQ(block[0].rows, (std::vector<uint32_t>{2, 0, 1}));
  EXPECT_EQ(block[1].values, (std::vector<float>{102, 100, 101}));
  EXPECT_EQ(block[2].values, (std::vector<float>{0, 10, 20}));
  EXPECT_EQ(block[2].rows, (std::vector<uint32_t>{2, 0, 1}));
  const std::string refusal =
      message_of(ErrorCode::kData, [&] { open_table_reader(source, {{.name = "Jet", .shape = {}}}); });
  EXPECT_TRUE(contains(refusal, "no column 'Jet' (found: Jet.pt list<float>")) << refusal;
}

TEST_F(Records, AreConvertedWholeOrByTheirFields) {
  rewrite_tables({path("a.parquet")}, path("whole.parquet"), {});
  EXPECT_EQ(contents_of_table(storage::Source::open(path("whole.parquet"))).names,
            (std::vector<std::string>{"Jet.pt", "Jet.sub.tag", "met"}));
  RewriteOptions fields;
  fields.columns = {"Jet.pt", "met"};
  fields.format = WrittenFormat::kHdf5;
  rewrite_tables({path("a.parquet")}, path("fields.h5"), fields);
  EXPECT_EQ(contents_of_table(storage::Source::open(path("fields.h5"))).columns,
            (std::vector<std::string>{"Jet.pt [3] of lists", "met [3]"}));
  RewriteOptions without;
  without.without = {"Jet"};
  rewrite_tables({path("a.parquet")}, path("without.parquet"), without);
  EXPECT_EQ(contents_of_table(storage::Source::open(path("without.parquet"))).names, std::vector<std::string>{"met"});
}

// No path tells the two apart; what stands beside them is read.
TEST_F(Records, WithTwoFieldsOfOneNameAreOneColumn) {
  arrow::DoubleBuilder builder;
  ASSERT_TRUE(builder.AppendValues({1, 2}).ok());
  const auto numbers = builder.Finish().ValueOrDie();
  const arrow::FieldVector twins(2, arrow::field("a", arrow::float64()));
  const auto records = arrow::StructArray::Make({numbers, numbers}, twins).ValueOrDie();
  for (const char* name : {"twins.parquet", "twins.arrow"}) {
    testing::write_parquet(path(name), {"s", "x"}, {records, numbers});
    const auto source = storage::Source::open(path(name));
    EXPECT_EQ(contents_of_table(source).names, (std::vector<std::string>{"s", "x"})) << name;
    std::vector<RaggedColumn> block;
    open_table_reader(source, {{.name = "x", .shape = {}}})->next(block);
    EXPECT_EQ(block.at(0).values, (std::vector<float>{1, 2})) << name;
    const std::string refusal =
        message_of(ErrorCode::kData, [&] { open_table_reader(source, {{.name = "s", .shape = {}}}); });
    EXPECT_TRUE(contains(refusal, "not numbers")) << refusal;
  }
}

}  // namespace
}  // namespace linac::data
