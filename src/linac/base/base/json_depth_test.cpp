#include "linac/base/base/json_depth.h"

#include <gtest/gtest.h>

#include <string>

namespace linac {
namespace {

TEST(JsonDepth, CountsBracketsOutsideOfTexts) {
  EXPECT_EQ(json_depth("7"), 0);
  EXPECT_EQ(json_depth(R"({"a": [1, {"b": []}], "c": [2]})"), 4);
  EXPECT_EQ(json_depth(R"({"[[[": "]\\"})"), 1);
  EXPECT_EQ(json_depth(R"(["\"[[[", "\\", [1]])"), 2);
  EXPECT_EQ(json_depth("]]]]]][["), 2);  // closed too often: nothing is hidden by it
  EXPECT_EQ(json_depth(std::string(400'000, '[')), 400'000);
  EXPECT_EQ(json_depth("\"\\"), 0);
}

}  // namespace
}  // namespace linac
