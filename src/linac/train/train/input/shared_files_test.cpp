#include "linac/train/train/input/shared_files.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace linac::train {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

json file(const char* url, const char* fingerprint) {
  return {{"url", url}, {"fingerprint", fingerprint}};
}

TEST(SharedFiles, AreFoundByTheirContent) {
  const json train{file("a.h5", "01"), file("b.h5", "02")};
  EXPECT_EQ(shared_files({{"train", train}, {"test", {file("b.h5", "02"), file("c.h5", "03")}}}), Names{"b.h5"});
  EXPECT_EQ(shared_files({{"train", train}, {"test", {file("copy.h5", "01")}}}),
            Names{"copy.h5 (the content of a.h5)"});
  EXPECT_EQ(shared_files({{"train", train}, {"test", {file("c.h5", "03")}}}), Names{});
  EXPECT_EQ(shared_files({{"train", train}}), Names{});
}

}  // namespace
}  // namespace linac::train
