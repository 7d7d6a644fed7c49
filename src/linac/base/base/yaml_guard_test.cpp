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

std::string refusal_of(const std::string& text) {
  try {
    parse_text(text, "job");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(YamlGuard, RefusesAKeyThatIsThereTwice) {
  const std::string top = refusal_of("train: {epochs: 1}\n# later\ntrain: {epochs: 3}\n");
  EXPECT_EQ(top.find("[yaml] job:3: the key 'train' is there twice, in line 1 and again in line 3"), 0U) << top;
  for (const char* text : {"a: {x: 1, y: 2, x: 3}", "a:\n  - {b: 1}\n  - {c: [1], d: {e: 1}, c: 2}\n",
                           "{\"a\": 1, 'a': 2}", "a: &m {x: 1}\nb: *m\nb: *m\n", "? a\n: 1\n? a\n: 2\n"})
    EXPECT_NE(refusal_of(text).find("is there twice"), std::string::npos) << text;
  for (const char* text : {"a: {x: 1}\nb: {x: 1, y: x}\n", "a: [x, x]\n", "a: b\nb: a\n", "[a, a]",
                           "? [a]\n: 1\n? [a]\n: b\nb: 1\n", "a: {}\nb: []\nc:\nd: ~\n", "- {a: 1}\n- {a: 1}\n"})
    EXPECT_EQ(refusal_of(text), "") << text;
  YAML::Node root;
  EXPECT_THROW(apply_override(root, "train={epochs: 1, epochs: 2}"), Error);
}

TEST(YamlGuard, EndsWhereNoDocumentDoes) {
  const std::string text = ",\"formahines:\n- {name\xff\xff\xff\x0fn 1\",\xbc \"jo\"{";
  EXPECT_FALSE(refusal_of(text).empty());
  for (const std::string head : {",", "]", "}", "- ]", "{}]", "a: 1\n]"})
    EXPECT_FALSE(refusal_of(head + "{").empty()) << head;
}

TEST(YamlGuard, RefusesASecondDocument) {
  EXPECT_NE(refusal_of("a: 1\n---\nb: 2\n").find("job:3: a second document"), std::string::npos);
  for (const char* text : {"---\na: 1\n", "a: 1\n...\n", "a: 1\n---\n", "# only this\n", ""})
    EXPECT_EQ(refusal_of(text), "") << text;
}

TEST(YamlGuard, SaysWhatATabIs) {
  const std::string tab = refusal_of("train:\n\tepochs: 3\n");
  EXPECT_NE(tab.find("[yaml] job:2: a tab"), std::string::npos) << tab;
  EXPECT_NE(refusal_of("train:\n  epochs: 3\n\tbatch: 4\n").find("job:3: a tab"), std::string::npos);
  EXPECT_EQ(refusal_of("train:\n  epochs: 3\t# three\n"), "");
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
