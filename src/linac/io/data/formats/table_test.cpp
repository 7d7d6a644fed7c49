#include "linac/io/data/formats/table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/io/data/formats/shower_file.h"
#include "linac/io/data/test_tables.h"

namespace linac::data {
namespace {

SourcePtr source_of(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
  return storage::Source::open(path);
}

TEST(FormatTable, EveryLineIsComplete) {
  std::set<std::string_view> names, signatures;
  for (const Format& format : formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_TRUE(signatures.insert(format.signature).second) << format.name;
    EXPECT_TRUE(format.open && format.contents && format.batches && format.check) << format.name;
    EXPECT_EQ(format.signature.empty(), &format == &formats().back()) << format.name << " hides those behind it";
  }
}

TEST(FormatTable, TheFirstBytesDecide) {
  const TemporaryFolder folder;
  for (const Format& format : formats())
    EXPECT_EQ(&format_of(*source_of(folder / format.name, std::string(format.signature) + "and more")), &format);
  EXPECT_STREQ(format_of(*source_of(folder / "short", "PAR")).name, "tfrecord");
  const SourcePtr empty = source_of(folder / "empty", "");
  EXPECT_THROW(format_of(*empty), Error);
}

TEST(FormatTable, FormatsWithoutShowersAreRefused) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  testing::write_parquet(path, testing::make_events(3));
  const std::string what = message_of(ErrorCode::kData, [&] { open_shower_file(path, "a.h5", {}, std::nullopt); });
  EXPECT_EQ(what, "[data] a.h5: a Parquet file; showers are read from HDF5 and TFRecord files");
}

}  // namespace
}  // namespace linac::data
