#include "linac/io/storage/link_probe.h"

#include <gtest/gtest.h>

namespace linac::storage {
namespace {

TEST(LinkProbe, FilesOfALinkAreOnePlace) {
  EXPECT_EQ(place_of("https://host.example.org:8443/a/b.parquet"), "https://host.example.org:8443");
  EXPECT_EQ(place_of("https://me:secret@host/a.parquet?signature=1"), "https://host");
  EXPECT_EQ(place_of("http://host?a=/b"), "http://host");
  EXPECT_EQ(place_of("s3://bucket/a/b.parquet"), place_of("s3://bucket/c.parquet"));
  EXPECT_EQ(place_of("root://host:1094//store/a.root"), "root://host:1094");
  EXPECT_EQ(place_of("rucio://user.me:showers-1.h5?rse=tier=2"), "rucio://user.me");
  EXPECT_EQ(place_of("rucio://user.me:showers-1.h5"), place_of("rucio://user.me:/a/showers-2.h5"));
  EXPECT_EQ(place_of("/data/a.h5"), kThisHost);
  EXPECT_EQ(place_of("file:///data/a.h5"), kThisHost);
}

TEST(LinkProbe, ThisHostIsNotRead) {
  const auto rates = probe_links({"/none/a.h5", "/none/b.h5"});
  ASSERT_EQ(rates.size(), 1U);
  EXPECT_FALSE(rates[0].is_remote || rates[0].is_measured());
}

}  // namespace
}  // namespace linac::storage
