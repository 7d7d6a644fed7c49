#include "linac/io/storage/read_width.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

namespace linac::storage {
namespace {

/// A link that carries as much as `most` requests ask of it, and no more.
double rate_of(const Width& width, int most) {
  return static_cast<double>(std::min(width.files * width.reads, most));
}

TEST(WidthSearch, DoublesWhileMoreComesAndStopsWhereTheLinkIsFull) {
  WidthSearch search;
  EXPECT_EQ(search.now(), kWidthFirst);
  for (int i = 0; i < 8; ++i) search.saw(rate_of(search.now(), 32));
  EXPECT_EQ(search.now(), (Width{8, 4}));

  WidthSearch full;
  for (int i = 0; i < 4; ++i) full.saw(rate_of(full.now(), 8));
  EXPECT_EQ(full.now(), kWidthFirst) << "what brings nothing is taken back";
}

TEST(WidthSearch, TriesAgainAfterARestAsTheLinkMayBeAnotherOne) {
  WidthSearch search;
  int tries = 0;
  for (int i = 0; i < 40; ++i) {
    search.saw(rate_of(search.now(), 8));
    tries += search.now() != kWidthFirst;
  }
  EXPECT_GE(tries, 4);
  EXPECT_LE(tries, 8) << "and not all the time";
  for (int i = 0; i < 80; ++i) search.saw(rate_of(search.now(), 1000));
  EXPECT_EQ(search.now(), kWidthMax);
}

TEST(WidthSearch, WhatAJobFixesStays) {
  WidthSearch files(3, std::nullopt), reads(std::nullopt, 1), both(1, 16);
  std::set<int> seen;
  for (int i = 0; i < 50; ++i) {
    for (WidthSearch* search : {&files, &reads, &both}) search->saw(rate_of(search->now(), 1000));
    EXPECT_EQ(files.now().files, 3);
    EXPECT_EQ(reads.now().reads, 1);
    EXPECT_EQ(both.now(), (Width{1, 16}));
    seen.insert(files.now().reads);
  }
  EXPECT_TRUE(seen.contains(kWidthMax.reads));
  EXPECT_EQ(reads.now().files, kWidthMax.files);
}

TEST(ReadWidth, NothingIsTriedWhileNobodyWaits) {
  ReadWidth width;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
  while (std::chrono::steady_clock::now() < end) {
    width.came(1 << 20);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(width.now(), kWidthFirst);
  const ReadWidth::Wait wait(width);
  for (int i = 0; i < 400 && width.now() == kWidthFirst; ++i) {
    width.came(1 << 20);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_NE(width.now(), kWidthFirst);
  width.fix(1, 1);
  EXPECT_EQ(width.now(), (Width{1, 1}));
}

}  // namespace
}  // namespace linac::storage
