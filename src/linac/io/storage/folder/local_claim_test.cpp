#include "linac/io/storage/folder/local_claim.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kOften{10};

class LocalClaimTest : public ::testing::Test {
 protected:
  std::string refusal() const {
    return message_of(ErrorCode::kUser, [&] { const LocalClaim claim(folder, TakeOver::kIfLeft); });
  }
  /// A process that claims the folder, says so, and does `then`.
  pid_t claimed_by(const std::function<void(const LocalClaim&)>& then) const {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const LocalClaim claim(folder, TakeOver::kIfLeft, "", LocalClaim::kNoThread);
      [[maybe_unused]] const auto told = ::write(ends[1], "c", 1);
      then(claim);
      ::_exit(0);
    }
    ::close(ends[1]);
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);
    ::close(ends[0]);
    return child;
  }
  static void sleep_for_ever(const LocalClaim&) {
    for (;;) ::pause();
  }
  static void end(pid_t process) {
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  }

  const TemporaryFolder root;
  const fs::path folder = root / "run";
};

TEST_F(LocalClaimTest, OneAtATime) {
  {
    const LocalClaim claim(folder, TakeOver::kIfLeft);
    const std::string message = refusal();
    EXPECT_NE(message.find("process " + std::to_string(::getpid())), std::string::npos) << message;
    EXPECT_NE(message.find("--take-over"), std::string::npos) << message;
    claim.check();
  }
  const LocalClaim next(folder, TakeOver::kIfLeft);
  next.check();
}

TEST_F(LocalClaimTest, TheDeathOfItsProcessEndsIt) {
  const pid_t other = claimed_by(sleep_for_ever);
  refusal();
  end(other);
  const LocalClaim claim(folder, TakeOver::kIfLeft);
}

TEST_F(LocalClaimTest, ItLastsAsLongAsTheChildrenThatShareIt) {
  constexpr useconds_t kOnUs = 300'000;
  const pid_t parent = claimed_by([&](const LocalClaim& claim) {
    claim.share_with_children();
    if (::fork() == 0) {
      ::usleep(kOnUs);
      ::_exit(0);
    }
    sleep_for_ever(claim);
  });
  ::usleep(kOnUs / 10);
  end(parent);
  const auto begin = std::chrono::steady_clock::now();
  const LocalClaim claim(folder, TakeOver::kIfLeft);
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::microseconds(kOnUs / 3))
      << "its child is waited for";
}

TEST_F(LocalClaimTest, OfManyThatBeginAtOnceOneHasIt) {
  for (int round = 0; round < 2; ++round) {
    std::atomic<int> had = 0, refused = 0;
    std::atomic<bool> over = false;
    std::vector<std::thread> all;
    for (int i = 0; i < 6; ++i)
      all.emplace_back([&] {
        try {
          const LocalClaim claim(folder, TakeOver::kIfLeft, "", LocalClaim::kNoThread);
          ++had;
          while (!over) std::this_thread::sleep_for(kOften);
        } catch (const Error&) {
          ++refused;
        }
      });
    while (had + refused < 6) std::this_thread::sleep_for(kOften);
    over = true;
    for (std::thread& one : all) one.join();
    EXPECT_EQ(had, 1);
  }
}

TEST_F(LocalClaimTest, WhoHadItHearsThatItWasTakenOver) {
  std::atomic<int> lost = 0;
  LocalClaim first(folder, TakeOver::kIfLeft, "", kOften);
  first.on_loss([&] { ++lost; });
  const LocalClaim second(folder, TakeOver::kAtOnce);
  second.check();
  for (int i = 0; i < 500 && lost == 0; ++i) std::this_thread::sleep_for(kOften);
  EXPECT_EQ(lost, 1);
  const std::string message = message_of(ErrorCode::kUser, [&] { first.check(); });
  EXPECT_NE(message.find("was taken over by process"), std::string::npos) << message;
  refusal();
}

// It was halted while another one had the folder from the first step to the last.
TEST_F(LocalClaimTest, WhoSleptThroughAnotherOnesWholeTimeFindsOut) {
  const LocalClaim first(folder, TakeOver::kIfLeft, "", LocalClaim::kNoThread);
  { const LocalClaim second(folder, TakeOver::kAtOnce); }
  message_of(ErrorCode::kUser, [&] { first.check(); });
}

TEST_F(LocalClaimTest, WhoSharesItHoldsItOnceItsProcessHasEnded) {
  const std::string token = draw_claim_token();
  {
    const LocalClaim first(folder, TakeOver::kIfLeft, token);
    EXPECT_FALSE(hold_local_claim(folder, token)) << "it is held";
  }
  EXPECT_FALSE(hold_local_claim(folder, "another"));
  const Descriptor held = hold_local_claim(folder, token);
  EXPECT_TRUE(held);
  EXPECT_EQ(local_claim_of(folder).token, token);
  refusal();
}

TEST_F(LocalClaimTest, WhatIsNoClaimIsNobodys) {
  make_folder(folder);
  for (const char* text : {"", "{", "[]", R"({"token": 7})"}) {
    write_file_atomically(folder / kLocalClaimName, text);
    const LocalClaim claim(folder, TakeOver::kIfLeft);
    claim.check();
  }
}

}  // namespace
}  // namespace linac::storage
