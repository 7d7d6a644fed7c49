#include "linac/base/base/python_json.h"

#include <gtest/gtest.h>

#include "linac/base/base/test_errors.h"

namespace linac {
namespace {

TEST(PythonJson, HasItsNumbersThatAreNone) {
  EXPECT_EQ(plain_json(R"({"a": [NaN, -Infinity, Infinity], "b": "NaN \" Infinity"})"),
            R"({"a": ["NaN", "-Infinity", "Infinity"], "b": "NaN \" Infinity"})");
  EXPECT_EQ(plain_json(std::string(60, '[')), std::string(60, '['));
  message_of(ErrorCode::kData, [] { plain_json(std::string(65, '[')); });
  EXPECT_EQ(plain_json(std::string(300, '['), kAnyDepth).size(), 300U);
}

}  // namespace
}  // namespace linac
