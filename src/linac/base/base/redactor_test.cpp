#include "linac/base/base/redactor.h"

#include <gtest/gtest.h>

#include <random>

namespace linac {
namespace {

using Secrets = std::vector<std::pair<std::string, std::string>>;

TEST(Redactor, NamesWhatItReplaces) {
  const Redactor redactor(Secrets{{"KEY", "hunter22"}, {"TOKEN", "abc/def+ghi="}, {"SHORT", "12345"}});
  EXPECT_EQ(redactor.redacted("key=hunter22, hunter2 12345 <abc/def+ghi=>"),
            "key=[secret KEY], hunter2 12345 <[secret TOKEN]>");
  EXPECT_EQ(redactor.redacted("hunter22hunter22"), "[secret KEY][secret KEY]");
  EXPECT_EQ(redactor.redacted(""), "");
  EXPECT_TRUE(Redactor(Secrets{{"SHORT", "12345"}}).empty());
  EXPECT_EQ(Redactor().redacted("hunter22"), "hunter22");
}

TEST(Redactor, LinesOfAFileAndWhatSurroundsThem) {
  const Redactor redactor(Secrets{{"PROXY", "-----BEGIN\r\n  MIIabcdef  \nxyz\n"}});
  EXPECT_EQ(redactor.redacted("> MIIabcdef\n-----BEGIN xyz"), "> [secret PROXY]\n[secret PROXY] xyz");
  EXPECT_EQ(redactor.redacted("-----BEGIN\n  MIIabcdef  \nxyz\n"), "[secret PROXY]\n  [secret PROXY]  \nxyz\n");
}

TEST(Redactor, OfTwoThatBeginAlikeTheLongerIsNamed) {
  const Redactor redactor(Secrets{{"A", "secret"}, {"B", "secret-longer"}, {"C", "longer-still"}});
  EXPECT_EQ(redactor.redacted("secret"), "[secret A]");
  EXPECT_EQ(redactor.redacted("secret-longer"), "[secret B]");
  EXPECT_EQ(redactor.redacted("secret-longer-still."), "[secret B].");
  EXPECT_EQ(redactor.redacted("secret-lon"), "[secret A]-lon");
}

TEST(Redactor, WhatMayBecomeAValueIsHeldBack) {
  const Redactor redactor(Secrets{{"KEY", "hunter22"}, {"NEXT", "22-and-more"}});
  RedactedStream stream(redactor);
  EXPECT_EQ(stream.take("a hun"), "a ");
  EXPECT_EQ(stream.take("t"), "");
  EXPECT_EQ(stream.take("ing"), "hunting");
  EXPECT_EQ(stream.take(" hunter22"), " ");  // NEXT may have begun
  EXPECT_EQ(stream.take("-and-mor"), "");
  EXPECT_EQ(stream.take("e!"), "[secret KEY]!");
  EXPECT_EQ(stream.take("hunter2"), "");
  EXPECT_EQ(stream.end(), "hunter2");
}

// Against the plain way, over texts of two letters in which values overlap in all ways.
TEST(Redactor, NothingOfAValueIsLeftHoweverTextIsCut) {
  std::mt19937 random(7);
  const auto word = [&](size_t size) {
    std::string text(size, 'a');
    for (char& c : text) c = random() % 2 == 0 ? 'a' : 'b';
    return text;
  };
  for (int round = 0; round < 2000; ++round) {
    Secrets secrets;
    for (size_t i = 0; i <= random() % 4; ++i) secrets.emplace_back("N", word(kRedactedMin + random() % 5));
    const Redactor redactor(secrets);
    const std::string text = word(random() % 120);
    std::string hidden = text;
    for (const auto& [name, value] : secrets)
      for (size_t at = text.find(value); at != std::string::npos; at = text.find(value, at + 1))
        for (size_t i = 0; i < value.size(); ++i) hidden[at + i] = '*';
    std::string kept;
    for (const char c : hidden)
      if (c != '*') kept += c;
    const std::string whole = redactor.redacted(text);
    std::string left = whole;
    for (size_t at; (at = left.find("[secret N]")) != std::string::npos;) left.erase(at, 10);
    ASSERT_EQ(left, kept) << text;
    RedactedStream stream(redactor);
    std::string pieces;
    for (size_t from = 0; from < text.size();) {
      const size_t size = 1 + random() % 7;
      pieces += stream.take(std::string_view(text).substr(from, size));
      from += size;
    }
    ASSERT_EQ(pieces + stream.end(), whole) << text;
  }
}

}  // namespace
}  // namespace linac
