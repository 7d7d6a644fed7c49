#include "linac/base/base/yaml_guard.h"

#include <gtest/gtest.h>

#include <chrono>

#include "linac/base/base/config.h"
#include "linac/base/base/error.h"

namespace linac::config {
namespace {

std::string laughs(int levels, int each) {
  std::string text = "a0: &a0 x\n";
  for (int i = 1; i <= levels; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < each; ++j) text += "*a" + std::to_string(i - 1) + ",";
    text += "]\n";
  }
  return text;
}

TEST(YamlGuard, LetsThroughWhatPeopleWrite) {
  EXPECT_NO_THROW(need_bounded_yaml("base: &base {lr: 1}\ntrain: *base\ntest: [*base, *base]\n", "job"));
  EXPECT_NO_THROW(need_bounded_yaml("", "job"));
  EXPECT_EQ(parse_text("a: &x 3\nb: *x\n", "job")["b"].as<int>(), 3);
}

TEST(YamlGuard, CountsWhatAliasesStandFor) {
  EXPECT_NO_THROW(need_bounded_yaml(laughs(2, 10), "job"));
  EXPECT_THROW(parse_text(laughs(15, 12), "job"), Error);
  EXPECT_THROW(parse_text(laughs(60, 1) + laughs(10, 3), "job"), Error);
  EXPECT_THROW(parse_text("a: &a [*a]\n", "job"), Error);
}

TEST(YamlGuard, RefusesDepth) {
  for (const char* open : {"[", "{a: ", "- ", "? "}) {
    std::string text;
    for (int i = 0; i < 20000; ++i) text += open;
    EXPECT_THROW(parse_text(text, "job"), Error) << open;
  }
  EXPECT_THROW(parse_text(laughs(80, 1), "job"), Error);
  YAML::Node root;
  std::string key = "a";
  for (int i = 0; i < 100000; ++i) key += ".a";
  EXPECT_THROW(apply_override(root, key + "=1"), Error);
}

TEST(YamlGuard, IsSoonDoneWithAMegabyte) {
  const auto begin = std::chrono::steady_clock::now();
  const auto megabyte_of = [](const std::string& piece) {
    std::string text;
    while (text.size() < 1 << 20) text += piece;
    return text;
  };
  for (const char* piece : {"- a\n", "a: 1\n", "[", "x", "'", "# \n", "&a a\n", "!!a ", "? ", "\t", "a: |\n  b\n"}) {
    try {
      need_bounded_yaml(megabyte_of(piece), "job");
    } catch (const std::exception&) {  // YAML or not
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

}  // namespace
}  // namespace linac::config
