#include "linac/io/storage/neighbours/range_share.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/io/storage/source.h"
#include "linac/io/storage/test_server.h"

namespace linac::storage {
namespace {

constexpr int64_t kRange = 8 << 10;
constexpr int kRanges = 240;  // so many that each process has its share of them, whatever the hashes are

std::string pattern(size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>((i * 2654435761U) >> 13);
  return text;
}

/// The way to the others in one process, which a test may spoil.
struct Ways : RangeLinks {
  std::map<std::string, RangeShare*> shares;
  std::map<std::string, int> asked;
  std::function<void(const std::string& name, std::span<std::byte> bytes)> spoil;
  std::set<std::string> silent;

  bool ask(const std::string& name, const FileRange& range, std::span<std::byte> bytes, uint64_t& checksum) override {
    ++asked[name];
    if (silent.contains(name)) return false;
    const auto held = shares.at(name)->give(range);
    if (!held) return false;
    std::ranges::copy(held->content(), bytes.begin());
    checksum = held->checksum;
    if (spoil) spoil(name, bytes);
    return true;
  }
};

class Shares : public ::testing::Test {
 protected:
  Shares() {
    ranges_.body = pattern(kRange * kRanges);
    server_.emplace([this](const std::string& request) { return ranges_(request); });
    source_ = Source::open(server_->url("events.parquet"));
  }

  void open(int processes, RangeShare::Settings settings = {}) {
    settings.folder = folder_.path();
    for (int i = 0; i < processes; ++i) {
      shares_.push_back(std::make_unique<RangeShare>(settings));
      names_.push_back("10.0.0." + std::to_string(i) + ":1");
      ways_->shares[names_.back()] = shares_.back().get();
    }
    for (int i = 0; i < processes; ++i)
      shares_[static_cast<size_t>(i)]->set_neighbours(names_[static_cast<size_t>(i)], names_, ways_);
  }
  void TearDown() override {
    for (const auto& share : shares_) share->set_neighbours("", {}, nullptr);
  }

  FileRange range(int i) const { return {source_->url(), source_->version(), source_->size(), i * kRange, kRange}; }
  std::string read(size_t process, int i) {
    std::string text(kRange, '\0');
    shares_[process]->read(range(i), std::as_writable_bytes(std::span(text)),
                           [&](std::span<std::byte> bytes) { source_->read_at_store(i * kRange, bytes); });
    return text;
  }
  std::string right(int i) const { return ranges_.body.substr(static_cast<size_t>(i * kRange), kRange); }
  /// All ranges, in all processes.
  void read_all() {
    for (int i = 0; i < kRanges; ++i)
      for (size_t process = 0; process < shares_.size(); ++process) ASSERT_EQ(read(process, i), right(i)) << i;
  }
  int64_t sent() const { return ranges_.sent; }

  TemporaryFolder folder_;
  test::Ranges ranges_;
  std::optional<test::Server> server_;
  std::shared_ptr<const Source> source_;
  std::shared_ptr<Ways> ways_ = std::make_shared<Ways>();
  std::vector<std::unique_ptr<RangeShare>> shares_;
  std::vector<std::string> names_;
};

TEST_F(Shares, EachByteLeavesTheStoreOnce) {
  open(3);
  const int64_t before = sent();
  read_all();
  // The first byte of the file tells each process its size.
  EXPECT_LE(sent() - before, kRange * kRanges + 3);
  for (size_t process = 0; process < 3; ++process) {
    const auto counts = shares_[process]->counts();
    EXPECT_GT(counts.from_stores, 0);
    EXPECT_LT(counts.from_stores, kRange * kRanges * 2 / 3) << "the ranges are divided about evenly";
    EXPECT_GT(counts.from_others, 0);
    EXPECT_EQ(counts.failed + counts.damaged, 0);
  }
}

TEST_F(Shares, WhoIsAloneReadsAtTheStore) {
  open(1);
  read_all();
  EXPECT_EQ(shares_[0]->counts().from_stores, kRange * kRanges);
  EXPECT_TRUE(ways_->asked.empty());
}

TEST_F(Shares, AWorkerOfTheSameHostAsksItsFirst) {
  open(2);
  RangeShare second({.folder = folder_.path()});
  second.set_neighbours("", names_, ways_);
  shares_.push_back(std::make_unique<RangeShare>(RangeShare::Settings{.folder = folder_.path()}));
  shares_.back()->set_neighbours("", names_, ways_);
  const int64_t before = sent();
  read_all();
  EXPECT_LE(sent() - before, kRange * kRanges + 2);
  EXPECT_EQ(shares_.back()->counts().from_stores, 0);
}

TEST_F(Shares, DamagedBytesAreReadAtTheStoreAndTheirSenderIsAskedNoMore) {
  open(2);
  ways_->spoil = [](const std::string&, std::span<std::byte> bytes) { bytes[777] ^= std::byte{4}; };
  read_all();
  for (const auto& share : shares_) EXPECT_EQ(share->counts().damaged, 1);
  EXPECT_EQ(ways_->asked[names_[0]], 1);
  EXPECT_EQ(ways_->asked[names_[1]], 1);
}

TEST_F(Shares, WhatIsDamagedInTheOwnMemoryIsReadAtTheStore) {
  open(2);
  read_all();
  for (int i = 0; i < kRanges; ++i)
    for (const auto& share : shares_) share->give(range(i))->content()[5] ^= std::byte{1};
  read_all();
  const int64_t before = sent();
  for (int i = 0; i < kRanges; ++i) ASSERT_EQ(read(0, i), right(i));
  EXPECT_LT(sent() - before, kRange * kRanges * 2 / 3) << "what belongs to it is kept again";
}

TEST_F(Shares, WhoDoesNotAnswerRestsAndIsNotMissed) {
  open(3);
  ways_->silent = {names_[1]};
  const int64_t before = sent();
  read_all();
  EXPECT_EQ(ways_->asked[names_[1]], 2) << "once by each of the others";
  // What belongs to who is lost belongs to all others; it reads itself what they have.
  EXPECT_LE(sent() - before, kRange * kRanges + kRange * kRanges / 2 + 3 * kRange);
}

TEST_F(Shares, ARangeThatIsAskedForOnceMoreComesFromTheStore) {
  open(2);
  int others = 0;  // a range that belongs to the second process
  while (ways_->asked.empty()) read(0, others++);
  --others;
  std::promise<void> entered, leave;
  ways_->spoil = [&, left = leave.get_future().share()](const std::string&, std::span<std::byte>) {
    entered.set_value();
    left.wait();
  };
  auto slow = std::async(std::launch::async, [&] { return read(0, others); });
  entered.get_future().wait();
  EXPECT_EQ(read(0, others), right(others));
  leave.set_value();
  EXPECT_EQ(slow.get(), right(others));
  ways_->spoil = {};
  const auto asked = ways_->asked;
  for (int i = 0; i < kRanges; ++i) EXPECT_EQ(read(0, i), right(i));
  EXPECT_EQ(ways_->asked, asked) << "who is slow rests";
}

TEST_F(Shares, WhatMemoryCannotHoldLiesOnTheDisk) {
  open(2, {.memory_bytes = 2 * kRange, .disk_bytes = kRange * kRanges});
  read_all();
  const int64_t before = sent();
  read_all();
  EXPECT_EQ(sent(), before) << "free on the disk: " << std::filesystem::space(folder_.path()).available;
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "it has no name";
}

TEST_F(Shares, ADamagedDiskIsReadAnew) {
  open(2, {.memory_bytes = kRange, .disk_bytes = kRange * kRanges});
  read_all();
  int damaged = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (std::filesystem::read_symlink(entry.path(), error).string().find("/.ranges-") == std::string::npos) continue;
    const int file = std::stoi(entry.path().filename());
    for (int64_t at = 100; at < kRange * kRanges; at += kRange) damaged += pwrite(file, "\1\2\3", 3, at) == 3 ? 1 : 0;
  }
  ASSERT_GT(damaged, 0);
  const int64_t before = sent();
  read_all();
  EXPECT_GT(sent(), before);
}

TEST_F(Shares, AFullDiskOnlyCostsTheStore) {
  open(2, {.memory_bytes = kRange, .disk_bytes = 0});
  read_all();
  read_all();
  for (const auto& share : shares_) EXPECT_EQ(share->counts().failed, 0);
}

TEST_F(Shares, OfAnotherVersionNothingIsGiven) {
  open(2);
  EXPECT_NE(shares_[0]->give(range(0)), nullptr);
  FileRange other = range(1);
  other.version = "\"v0\"";
  EXPECT_EQ(shares_[0]->give(other), nullptr);
}

TEST_F(Shares, WhoAsksForNonsenseOrForFilesOfTheHostGetsNothing) {
  open(2);
  const auto with = [&](auto change) {
    FileRange one = range(0);
    change(one);
    return one;
  };
  const std::string file = folder_ / "secret";
  std::ofstream(file) << pattern(kRange);
  const auto of_host = [&](const std::string& url) {
    return with([&](FileRange& one) { one.url = url, one.size = kRange; });
  };
  for (const FileRange& one :
       {of_host(file), of_host("file://" + file), of_host("nonsense://a/b"),
        with([](FileRange& bad) { bad.offset = -1; }), with([](FileRange& bad) { bad.offset = bad.size - 1; }),
        with([](FileRange& bad) { bad.offset = INT64_MAX - 1; }), with([](FileRange& bad) { bad.bytes = -1; }),
        with([](FileRange& bad) { bad.bytes = 0; }),
        with([](FileRange& bad) { bad.bytes = bad.size = int64_t{1} << 40; })})
    EXPECT_EQ(shares_[0]->give(one), nullptr) << one.url << ' ' << one.offset << ' ' << one.bytes;
}

TEST_F(Shares, WhatTheStoreRefusesIsToldToEachWhoReads) {
  open(2);
  server_->stop();
  for (size_t process = 0; process < 2; ++process) {
    std::vector<std::byte> bytes(kRange);
    const auto refuse = [](std::span<std::byte>) { throw environment_error("the store is gone"); };
    EXPECT_THROW(shares_[process]->read(range(0), bytes, refuse), Error);
    EXPECT_THROW(shares_[process]->read(range(0), bytes, refuse), Error);
  }
}

TEST_F(Shares, WhatIsClearedIsReadAnew) {
  open(2, {.memory_bytes = 4 * kRange, .disk_bytes = kRange * kRanges});
  read_all();
  for (const auto& share : shares_) share->clear();
  const int64_t before = sent();
  read_all();
  EXPECT_GE(sent() - before, kRange * kRanges);
}

}  // namespace
}  // namespace linac::storage
