#include "linac/control/catalog/write_turns.h"

#include <gtest/gtest.h>

namespace linac::catalog {
namespace {

using std::chrono::milliseconds;

class Turns : public testing::Test {
 protected:
  void add(const std::string& who, int count = 1) {
    for (int i = 0; i < count; ++i) turns_.add({who, {}, {}});
  }
  /// Carries the next one out, in so much time.
  std::string next(milliseconds taken = milliseconds(1)) {
    WaitingWrite write = turns_.next();
    write.taken = taken;
    turns_.charge(write);
    return write.who;
  }
  std::string next(int count, milliseconds taken = milliseconds(1)) {
    std::string order;
    while (count-- > 0) order += next(taken);
    return order;
  }
  WriteTurns turns_;
};

TEST_F(Turns, EqualsTakeTurns) {
  add("a", 4);
  add("b", 2);
  add("c", 1);
  EXPECT_EQ(turns_.size(), 7u);
  EXPECT_EQ(next(7), "abcabaa");
  EXPECT_EQ(turns_.size(), 0u);
}

TEST_F(Turns, WhoHasLongOnesWaitingKeepsNobodyWaitingForTwo) {
  add("e", 8);
  WaitingWrite long_one = turns_.next();
  add("b");  // comes while it is carried out
  long_one.taken = milliseconds(200);
  turns_.charge(long_one);
  EXPECT_EQ(next(), "b");
  EXPECT_EQ(turns_.expected(), milliseconds(200));
  // For one long one of another he has as much time in short ones.
  add("b", 300);
  EXPECT_EQ(next(), "b");
  EXPECT_EQ(next(150), std::string(150, 'b'));
}

TEST_F(Turns, WhoWasAwayHasNothingSavedUp) {
  add("e", 1000);
  next(500);
  add("b", 10);
  EXPECT_EQ(next(8), "bebebebe");
}

TEST_F(Turns, WhatIsGivenBackIsTheNextAndInItsOrder) {
  add("a", 2);
  add("b", 2);
  WaitingWrite one = turns_.next(), two = turns_.next(), three = turns_.next();
  EXPECT_EQ(one.who + two.who + three.who, "aba");
  one.taken = milliseconds(1);
  turns_.charge(one);
  turns_.give_back(std::move(three));
  turns_.give_back(std::move(two));
  EXPECT_EQ(turns_.size(), 3u);
  EXPECT_EQ(next(3), "bab");  // a has had one, which took longer than it was expected to
}

TEST_F(Turns, ManyWhoCameOnceAreForgotten) {
  for (int i = 0; i < 5000; ++i) {
    add(std::to_string(i));
    next();
  }
  add("a");
  EXPECT_EQ(next(), "a");
}

}  // namespace
}  // namespace linac::catalog
