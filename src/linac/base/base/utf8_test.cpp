#include "linac/base/base/utf8.h"

#include <gtest/gtest.h>

namespace linac {
namespace {

TEST(Texts, ValidUtf8IsToldFromOthers) {
  for (const char* text : {"", "a", "ä€😀", "\xf4\x8f\xbf\xbf"}) EXPECT_TRUE(valid_text(text)) << text;
  for (const char* text :
       {"\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"})
    EXPECT_FALSE(valid_text(text)) << printable(text);
  EXPECT_FALSE(valid_text(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace linac
