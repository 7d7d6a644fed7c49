#include "linac/base/base/json_keys.h"

#include <gtest/gtest.h>

namespace linac {
namespace {

TEST(JsonKeys, FindsTheOneThatIsThereTwice) {
  const auto found = doubled_key("{\"a\": 1,\n \"b\": [{\"a\": 2}],\n \"a\": 3}");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->words(), "the key 'a' is there twice, in line 1 and again in line 3");
  for (const char* text : {R"({"x": {"a": 1, "b": "c", "a": 1}})", R"([{"a": {}, "a": []}])",
                           R"({"a": 1, "\u0061": 2})", R"({"a,b": "\"", "a,b": 2})"})
    EXPECT_TRUE(doubled_key(text)) << text;
}

TEST(JsonKeys, PassesOthers) {
  for (const char* text :
       {R"({"a": "a", "b": "a"})", R"([{"a": 1}, {"a": 1}])", R"({"a": {"a": {"a": ["a", "a"]}}})", R"(["a", "a"])",
        R"({"a": "{\"a\": 1, \"a\": 2}"})", "", "{", "\"", "{\"", "{\"a\\", "}}]]", R"({"a": 1 "a": 2)"})
    EXPECT_FALSE(doubled_key(text)) << text;
}

}  // namespace
}  // namespace linac
