#include "linac/io/data/rewrite/written_format.h"

#include <gtest/gtest.h>

#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/io/data/rewrite/rewrite.h"
#include "linac/io/data/test_tables.h"

namespace linac::data {
namespace {

TEST(WrittenFormat, NamesAndEndingsLeadToTheirFormat) {
  for (const std::string& name : written_formats()) {
    const auto format = written_format_named(name);
    ASSERT_TRUE(format) << name;
    EXPECT_EQ(to_string(*format), name);
    const auto ending = written_ending_of(std::string("a") + ending_of(*format));
    ASSERT_TRUE(ending) << name;
    EXPECT_EQ(ending->format, *format);
    EXPECT_EQ(ending->ending, ending_of(*format));
  }
  EXPECT_EQ(written_ending_of("a.hdf5")->format, WrittenFormat::kHdf5);
  EXPECT_FALSE(written_ending_of("a.root"));
  EXPECT_FALSE(written_format_named("h5"));
}

TEST(WrittenFormat, ATableIsTheSameInEveryFormat) {
  const TemporaryFolder folder;
  const testing::TestEvents events = testing::make_events(1000);
  const std::string original = folder / "a.parquet";
  testing::write_parquet(original, events);
  const auto columns = testing::requests(5);
  const TableBatch wanted = testing::read_all(*EventTable::open({original}, columns));
  for (const std::string& name : written_formats()) {
    const WrittenFormat format = *written_format_named(name);
    const std::string path = folder / ("converted" + std::string(ending_of(format)));
    RewriteOptions options;
    options.format = format;
    options.float32 = {"features"};
    rewrite_tables({original}, path, options);
    const auto table = EventTable::open({path}, columns);
    EXPECT_EQ(testing::read_all(*table).columns, wanted.columns) << name;
  }
}

// Formulas see the lengths of lists, which HDF5 keeps.
TEST(WrittenFormat, ListsOfHdf5HaveTheirLengths) {
  const TemporaryFolder folder;
  const std::string original = folder / "a.parquet", path = folder / "a.h5";
  testing::write_parquet(original, testing::make_events(300));
  RewriteOptions options;
  options.format = WrittenFormat::kHdf5;
  rewrite_tables({original}, path, options);
  Transform transform;
  transform.filter = "len(particles[:, 0]) > 3 && features[0] > 0";
  const auto wanted = EventTable::open({original}, testing::requests(6), transform);
  const auto found = EventTable::open({path}, testing::requests(6), transform);
  EXPECT_GT(wanted->size(), 0);
  EXPECT_EQ(testing::read_all(*found).columns, testing::read_all(*wanted).columns);
  EXPECT_EQ(found->longest(0), wanted->longest(0));
}

}  // namespace
}  // namespace linac::data
