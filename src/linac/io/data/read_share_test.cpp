#include "linac/io/data/read_share.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "linac/base/base/temporary_folder.h"
#include "linac/io/data/test_tables.h"

namespace linac::data {
namespace {

TEST(ReadShare, IsThatOfTheColumnsAndOfWhatTheyAreMadeOf) {
  const TemporaryFolder folder;
  const std::string parquet = (folder / "a.parquet").string(), hdf5 = (folder / "a.h5").string();
  const testing::TestEvents events = testing::make_events(5000);
  testing::write_parquet(parquet, events, 5000);
  testing::write_hdf5(hdf5, events, 6);
  const auto share = [&](const std::string& file, const std::vector<std::string>& columns,
                         const Transform& transform = {}) {
    return read_share(storage::Source::open(file), columns, transform);
  };
  const double label = share(parquet, {"label"}), particles = share(parquet, {"particles"});
  EXPECT_GT(label, 0);
  EXPECT_GT(particles, 3 * label);
  EXPECT_NEAR(share(parquet, {"label", "particles", "features"}), 1, 0.05);
  const Transform computed{.lists = {}, .define = {{"unused", "features[0]"}}, .filter = {}};
  EXPECT_DOUBLE_EQ(share(parquet, {"label"}, computed), label);
  const Transform selected{.lists = {}, .define = {}, .filter = "features[0] > 0"};
  EXPECT_DOUBLE_EQ(share(parquet, {"label"}, selected), label + share(parquet, {"features"}));
  EXPECT_DOUBLE_EQ(share(hdf5, {"label"}), 1);
}

}  // namespace
}  // namespace linac::data
