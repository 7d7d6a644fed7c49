#include "linac/train/workers/line_relay.h"

#include <gtest/gtest.h>

namespace linac::launch {
namespace {

TEST(LineRelay, LinesAreTheSameHoweverTheBytesArrive) {
  const std::string text = "first\n\nthird is longer\r\nlast";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    LineRelay relay("[rank 2] ");
    std::string out;
    for (size_t i = 0; i < text.size(); i += piece) out += relay.feed(text.substr(i, piece));
    EXPECT_EQ(out, "[rank 2] first\n[rank 2] \n[rank 2] third is longer\n");
    EXPECT_EQ(relay.finish(), "[rank 2] last\n");
    EXPECT_EQ(relay.finish(), "");
    EXPECT_EQ(relay.kept().size(), 4u);
    EXPECT_EQ(relay.kept().back(), "last");
  }
}

TEST(LineRelay, KeepsOnlyTheLastLines) {
  LineRelay relay("");
  for (int i = 0; i < 1000; ++i) relay.feed(std::to_string(i) + "\n");
  EXPECT_EQ(relay.kept().size(), LineRelay::kKeptLines);
  EXPECT_EQ(relay.kept().front(), "950");
  EXPECT_EQ(relay.kept().back(), "999");
}

TEST(LineRelay, AnEndlessLineIsCut) {
  LineRelay relay("> ");
  const std::string out = relay.feed(std::string(3 * LineRelay::kMaxLineBytes + 5, 'x'));
  EXPECT_EQ(out.size(), 3 * (LineRelay::kMaxLineBytes + 3));
  EXPECT_EQ(relay.finish(), "> xxxxx\n");
}

}  // namespace
}  // namespace linac::launch
