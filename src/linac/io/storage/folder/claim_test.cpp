#include "linac/io/storage/folder/claim.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/io/storage/folder/manifest.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kOften{20};

class ClaimTest : public ::testing::Test {
 protected:
  fs::path object() const { return root / "run" / kClaimName; }
  std::string refusal() const {
    return message_of(ErrorCode::kUser, [&] { const Claim claim(url, TakeOver::kIfLeft); });
  }
  /// Of another host, seen so long ago.
  void put_foreign(int64_t age_s) const {
    const nlohmann::json claim{{"token", "t"},
                               {"host", "elsewhere"},
                               {"since", "then"},
                               {"process_numbers", "pid:[1]"},
                               {"process", {{"pid", 12}, {"start_ticks", 5}, {"boot", "b"}}}};
    make_folder(object().parent_path());
    write_file_atomically(object(), claim.dump());
    fs::last_write_time(object(), fs::file_time_type::clock::now() - std::chrono::seconds(age_s));
  }
  static void wait_until(const std::function<bool()>& holds) {
    for (int i = 0; i < 500 && !holds(); ++i) std::this_thread::sleep_for(kOften);
    EXPECT_TRUE(holds());
  }

  const TemporaryFolder root;
  const std::string url = (root / "run").string();
};

TEST_F(ClaimTest, OneAtATime) {
  {
    const Claim claim(url, TakeOver::kIfLeft);
    const std::string message = refusal();
    EXPECT_NE(message.find(std::to_string(::getpid())), std::string::npos) << message;
    EXPECT_NE(message.find("--take-over"), std::string::npos) << message;
    claim.check();
  }
  EXPECT_FALSE(fs::exists(object()));
  const Claim another(url, TakeOver::kIfLeft);
}

TEST_F(ClaimTest, OfManyAtOnceOneHasIt) {
  std::atomic<int> have = 0, refused = 0;
  std::vector<std::unique_ptr<Claim>> claims(8);
  std::vector<std::thread> threads;
  for (auto& claim : claims) {
    threads.emplace_back([&] {
      try {
        claim = std::make_unique<Claim>(url, TakeOver::kIfLeft);
        ++have;
      } catch (const Error&) {
        ++refused;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(have, 1);
  EXPECT_EQ(refused, 7);
}

TEST_F(ClaimTest, OfAProcessThatHasEndedItIsTakenOver) {
  const pid_t child = ::fork();
  if (child == 0) {
    new Claim(url, TakeOver::kIfLeft);
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(fs::exists(object()));
  const Claim claim(url, TakeOver::kIfLeft);
}

TEST_F(ClaimTest, OfAnotherHostItIsTakenOverWhenNobodyHasSeenItForLong) {
  put_foreign(static_cast<int64_t>(kClaimLeft_s) / 2);
  const std::string message = refusal();
  EXPECT_NE(message.find("elsewhere"), std::string::npos) << message;
  put_foreign(static_cast<int64_t>(kClaimLeft_s) + 5);
  const Claim claim(url, TakeOver::kIfLeft);
  EXPECT_NE(read_file(object()).find(std::to_string(::getpid())), std::string::npos);
}

TEST_F(ClaimTest, WhatIsNoClaimStandsAsLong) {
  put_foreign(0);
  write_file_atomically(object(), "\x1b[31m no claim");
  refusal();
  const Claim claim(url, TakeOver::kAtOnce);
}

TEST_F(ClaimTest, RenewalKeepsItFresh) {
  const Claim claim(url, TakeOver::kIfLeft, kOften);
  const std::string first = read_file(object());
  wait_until([&] { return read_file(object()) != first; });
  claim.check();
}

TEST_F(ClaimTest, WhoLosesItIsTold) {
  std::atomic<int> told = 0;
  auto first = std::make_unique<Claim>(url, TakeOver::kIfLeft, kOften);
  first->on_loss([&] { ++told; });
  first->look();
  const Claim second(url, TakeOver::kAtOnce);
  message_of(ErrorCode::kUser, [&] { first->look(); });
  wait_until([&] { return told > 0; });
  EXPECT_EQ(told, 1);
  message_of(ErrorCode::kUser, [&] { first->check(); });
  first.reset();
  EXPECT_TRUE(fs::exists(object())) << "the other one's claim stays";
  second.check();
}

TEST_F(ClaimTest, WhoRemovesItByHandDoesNotEndIt) {
  const Claim claim(url, TakeOver::kIfLeft, kOften);
  fs::remove(object());
  wait_until([&] { return fs::exists(object()); });
  claim.check();
}

}  // namespace
}  // namespace linac::storage
