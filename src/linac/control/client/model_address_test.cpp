#include "linac/control/client/model_address.h"

#include <gtest/gtest.h>

#include "linac/base/base/error.h"

namespace linac::client {
namespace {

TEST(ModelAddress, NamesAliasesAndVersions) {
  EXPECT_EQ(parse_model_address("catalog://3dgan@champion").name, "3dgan");
  EXPECT_EQ(parse_model_address("catalog://3dgan@champion").alias, "champion");
  EXPECT_EQ(parse_model_address("catalog://top tagger/12").version, 12);
  EXPECT_EQ(parse_model_address("catalog://top tagger/12").name, "top tagger");
  const ModelAddress newest = parse_model_address("catalog://3dgan");
  EXPECT_TRUE(newest.alias.empty());
  EXPECT_EQ(newest.version, 0);
  EXPECT_EQ(parse_model_address(fixed_address("3dgan", 7)).version, 7);
  EXPECT_FALSE(is_model_address("/data/catalog://x"));
}

TEST(ModelAddress, RefusesWithTheFormsThereAre) {
  for (const char* text : {"3dgan", "catalog://", "catalog://@x", "catalog://a@", "catalog://a/", "catalog://a/0",
                           "catalog://a/-1", "catalog://a/1x", "catalog://a@b/c", "catalog://a/99999999999999999999"}) {
    try {
      parse_model_address(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUser);
      EXPECT_NE(std::string(error.what()).find("catalog://NAME@ALIAS"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace linac::client
