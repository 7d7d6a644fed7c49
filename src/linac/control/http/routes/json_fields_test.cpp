#include "linac/control/http/routes/json_fields.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "linac/base/base/refusal.h"
#include "linac/control/http/query.h"

namespace linac::http {
namespace {

using nlohmann::json;

const std::vector<FieldRule> kRules = {
    {"name", FieldType::kText, true, ""},     {"step", FieldType::kInteger, false, ""},
    {"value", FieldType::kNumber, false, ""}, {"deep", FieldType::kBoolean, false, ""},
    {"tags", FieldType::kObjects, false, ""}, {"ids", FieldType::kTexts, false, ""}};

json checked(json object) {
  check_fields(object, kRules);
  return object;
}

TEST(JsonFields, TakesProtobufsWaysOfWriting) {
  const json object = checked({{"name", "a"}, {"step", "12"}, {"value", "NaN"}, {"deep", "true"}, {"more", 1}});
  EXPECT_EQ(object["step"], 12);
  EXPECT_EQ(object["deep"], true);
  EXPECT_TRUE(std::isnan(number_of(object, "value")));
  EXPECT_EQ(number_of({{"value", "-Infinity"}}, "value"), -INFINITY);
  EXPECT_EQ(checked({{"name", "a"}, {"step", 5.0}})["step"], 5);
  EXPECT_EQ(integer_of({{"a", INT64_MIN}}, "a"), INT64_MIN);
  EXPECT_EQ(text_of({{"a", nullptr}}, "a", "other"), "other");
}

TEST(JsonFields, RefusesWhatIsOfAnotherType) {
  for (const json& object : std::vector<json>{{{"step", 1}},
                                              {{"name", 1}},
                                              {{"name", "a"}, {"step", 1.5}},
                                              {{"name", "a"}, {"step", "1x"}},
                                              {{"name", "a"}, {"step", 18446744073709551615u}},
                                              {{"name", "a"}, {"step", 1e300}},
                                              {{"name", "a"}, {"value", "nan"}},
                                              {{"name", "a"}, {"value", json::array()}},
                                              {{"name", "a"}, {"deep", 1}},
                                              {{"name", "a"}, {"tags", {1}}},
                                              {{"name", "a"}, {"ids", {1}}},
                                              {{"name", "a"}, {"ids", "b"}}})
    EXPECT_THROW(checked(object), Refusal) << object;
}

TEST(JsonFields, QueriesGiveListsAndNumbers) {
  const auto query = parse_query("name=a+b%20c&ids=1&step=-7&ids=2&unknown=x&deep=False");
  ASSERT_TRUE(query);
  const auto object = fields_of_query(*query, kRules);
  EXPECT_EQ(*object, (json{{"name", "a b c"}, {"ids", {"1", "2"}}, {"step", -7}, {"deep", false}}));
  EXPECT_FALSE(parse_query("a=%f"));
  EXPECT_FALSE(parse_query("a=%00"));
  EXPECT_FALSE(parse_query("a=%c3%28"));
}

TEST(JsonFields, BodiesAreObjectsOfBoundedDepth) {
  EXPECT_THROW(parse_object(R"({"a": 1, "b": {"c": 1, "c": 2}})"), Refusal);
  EXPECT_EQ((*parse_object(R"({"a": "[[["})"))["a"], "[[[");
  for (const std::string& body :
       {std::string(""), std::string("["), std::string("1"), std::string("[1]"), std::string("{\"a\": \"\\u0000\"}"),
        std::string("{\"a\": \"\xff\"}"), std::string(100000, '['),
        "{\"a\":" + std::string(40, '[') + std::string(40, ']') + "}"})
    EXPECT_THROW(parse_object(body), Refusal) << body.substr(0, 40);
}

}  // namespace
}  // namespace linac::http
