#include "linac/base/base/strict_json.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "linac/base/base/json_depth.h"
#include "linac/base/base/json_keys.h"
#include "linac/base/base/rng.h"

namespace linac {
namespace {

using nlohmann::json;

constexpr int kDepth = 8;

/// What the three would make of it.
std::optional<json> by_others(const std::string& text) {
  json found = json::parse(text, nullptr, false);
  if (found.is_discarded() || json_depth(text) > kDepth || doubled_key(text)) return std::nullopt;
  return found;
}

/// Numbers of the same kind, to the bit: json's own equality takes 1 for 1.0.
std::string told(const json& value) {
  return std::string(value.is_number_unsigned()  ? "unsigned "
                     : value.is_number_integer() ? "integer "
                                                 : "") +
         (value.is_number_float() ? std::to_string(std::bit_cast<uint64_t>(value.get<double>())) : value.dump());
}

TEST(StrictJson, ReadsWhatTheOtherParserReads) {
  for (const char* text : {"{}",
                           "[]",
                           " [ ] ",
                           R"({"a": {"b": [1, -2, 3.5, {"c": null}]}, "d": [true, false]})",
                           R"("")",
                           R"("text")",
                           R"("\u00e9\ud83d\ude00\n\"\\\/")",
                           "\"\xc3\xa9\"",
                           "\"\x7f\"",
                           R"({"\u0061": 1, "b": 2})",
                           "0",
                           "-0",
                           "-0.0",
                           "1e3",
                           "1E+3",
                           "1.25e-3",
                           "5e-324",
                           "1.7976931348623157e308",
                           "0.1",
                           "9223372036854775807",
                           "9223372036854775808",
                           "18446744073709551615",
                           "18446744073709551616",
                           "-9223372036854775808",
                           "-9223372036854775809",
                           "123456789012345678901234567890",
                           "\t\r\n null \n",
                           "[[[[[[[[1]]]]]]]]"}) {
    const auto found = strict_json(text, kDepth);
    ASSERT_TRUE(found) << text;
    EXPECT_EQ(*found, json::parse(text)) << text;
    EXPECT_EQ(told(*found), told(json::parse(text))) << text;
  }
}

TEST(StrictJson, TakesNothingElse) {
  for (const std::string text : {"",
                                 " ",
                                 "{",
                                 "[",
                                 "\"",
                                 "\"\\",
                                 "\"\\\"",
                                 "{\"a\"}",
                                 "{\"a\":}",
                                 "{\"a\": 1,}",
                                 "{a: 1}",
                                 "{1: 2}",
                                 "[1,]",
                                 "[1 2]",
                                 "[,1]",
                                 "1 2",
                                 "{} {}",
                                 "nul",
                                 "truex",
                                 "tru",
                                 "NaN",
                                 "Infinity",
                                 "-",
                                 "+1",
                                 ".5",
                                 "1.",
                                 "1.e3",
                                 "1e",
                                 "1e+",
                                 "01",
                                 "-01",
                                 "0x1",
                                 "1e400",
                                 "-1e400",
                                 "'a'",
                                 "\"\n\"",
                                 "\"\x01\"",
                                 "\"\xff\"",
                                 "\"\xc3\"",
                                 "\"\xed\xa0\x80\"",
                                 "\"\\u12\"",
                                 "\"\\ud800\"",
                                 "\"\\x\"",
                                 "// a\n1",
                                 "[[[[[[[[[1]]]]]]]]]",
                                 R"({"a": 1, "a": 2})",
                                 R"([{"a": {}, "\u0061": []}])",
                                 R"({"x": {"a": 1, "b": "c", "a": 1}})",
                                 "]",
                                 "}"}) {
    EXPECT_FALSE(strict_json(text, kDepth)) << text;
    EXPECT_FALSE(by_others(text)) << text;
  }
  EXPECT_FALSE(strict_json(std::string("\"\0\"", 3), kDepth));
  EXPECT_FALSE(strict_json(std::string(400'000, '['), kDepth));
}

// Whatever is done to a text: it is never taken for something that the others would not, and refused only with them or
// for a number too small to be one.
TEST(StrictJson, AgreesOnDamagedTexts) {
  const std::string whole =
      R"({"run_id": "0f", "metrics": [{"key": "a\tb", "value": -1.5e3, "step": 7}, {"key": "é", "value": "NaN"}], "x": [[null, true], {}]})";
  constexpr std::string_view kBytes = "{}[]\",:\\0123456789-+.eEtfnul \n\xc3\xa9\x01";
  size_t taken = 0;
  for (uint32_t i = 0; i < 8'000; ++i) {
    std::string text = whole;
    const auto random = philox({i, 0, 0, 0}, {11, 0});
    text[random[0] % text.size()] = kBytes[random[1] % kBytes.size()];
    if (random[2] % 2) text.erase(random[3] % text.size(), 1);
    if (random[2] % 3 == 0) text.insert(random[3] % text.size(), 1, kBytes[random[0] % kBytes.size()]);
    const auto found = strict_json(text, kDepth), expected = by_others(text);
    ASSERT_EQ(found.has_value(), expected.has_value()) << text;
    if (found) {
      ASSERT_EQ(found->dump(), expected->dump()) << text;
    }
    taken += found.has_value();
  }
  EXPECT_GT(taken, 400);
}

}  // namespace
}  // namespace linac
