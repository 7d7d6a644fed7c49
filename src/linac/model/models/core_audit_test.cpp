#include "linac/model/models/core_audit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "linac/base/base/cores.h"
#include "linac/base/base/error.h"
#include "linac/base/base/rng.h"
#include "linac/base/base/turned_bit.h"

namespace linac::models {
namespace {

using Words = std::map<uint64_t, int64_t>;

// What each core has said of one piece.
std::vector<CoreFinding> judged(std::optional<uint64_t> known, const std::vector<Words>& words) {
  std::vector<CoreSayings> cores;
  for (const Words& one : words) {
    cores.push_back({static_cast<int>(cores.size()), 0, {one}});
    for (const auto& [digest, count] : one) cores.back().passes += count;
  }
  return judge_cores({{"piece", known}}, cores);
}

void expect_found(const std::vector<CoreFinding>& findings, const std::map<int, int64_t>& wrong,
                  const std::vector<int>& suspects, bool alike = false) {
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].wrong, wrong);
  EXPECT_EQ(findings[0].suspects, suspects);
  EXPECT_EQ(findings[0].alike, alike);
}

TEST(CoreAudit, ByWhatIsKnown) {
  EXPECT_TRUE(judged(7, {{{7, 4}}, {{7, 2}}}).empty());
  expect_found(judged(7, {{{7, 4}}, {{7, 1}, {8, 3}}}), {{1, 3}}, {});
  expect_found(judged(7, {{{8, 4}}}), {{0, 4}}, {});
  expect_found(judged(7, {{{8, 4}}, {{8, 4}}, {{7, 4}}}), {{0, 4}, {1, 4}}, {});
  expect_found(judged(7, {{{8, 4}}, {{8, 3}}}), {{0, 4}, {1, 3}}, {}, true);
  expect_found(judged(7, {{{8, 4}}, {{9, 3}}}), {{0, 4}, {1, 3}}, {});
}

TEST(CoreAudit, ByWhatMostCoresSay) {
  EXPECT_TRUE(judged({}, {{{7, 4}}, {{7, 2}}}).empty());
  expect_found(judged({}, {{{7, 4}}, {{7, 4}}, {{8, 400}}}), {{2, 400}}, {});
  expect_found(judged({}, {{{7, 4}}, {{7, 3}, {8, 1}}}), {{1, 1}}, {});
  expect_found(judged({}, {{{7, 1}, {8, 3}}}), {{0, 1}}, {});
  expect_found(judged({}, {{{7, 4}}, {{8, 4}}}), {}, {0, 1});
  expect_found(judged({}, {{{7, 4}}, {{8, 4}}, {{7, 2}, {9, 2}}}), {{2, 2}}, {0, 1});
  expect_found(judged({}, {{{7, 1}, {8, 3}}, {{7, 3}, {9, 1}}}), {{0, 1}, {1, 1}}, {});
}

TEST(CoreAudit, TheCoresOfThisHostAreRight) {
  std::atomic<int64_t> told = 0;
  const CoreAudit audit{.cores = allowed_cores(), .seconds = 0, .tell = [&](double, int64_t passes) { told = passes; }};
  const std::vector<CoreSayings> cores = ask_cores(audit);
  ASSERT_EQ(cores.size(), audit.cores.size());
  for (const CoreSayings& one : cores) EXPECT_EQ(one.passes, 2);
  EXPECT_EQ(told, 2 * std::ssize(cores)) << "the last word has all";
  EXPECT_TRUE(judge_cores(core_pieces(), cores).empty());
}

// A core that turns a bit over now and then: drawn by `seed`, in one result of its second pass.
TEST(CoreAudit, ACoreThatErrsOnceIsNamed) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    std::vector<int> cores = allowed_cores();
    cores.resize(std::min<size_t>(cores.size(), 2));
    const int liar = cores[seed % cores.size()];
    std::atomic<uint32_t> number = 0;  // of the results of that pass
    std::array<uint32_t, 1> drawn{};
    fill_bits({.seed = seed, .stream = Stream::kAudit}, 0, drawn);
    const auto spoil = [&](int core, int64_t pass, std::span<float> results) {
      if (core != liar || pass != 1 || number++ != drawn[0] % 60) return;
      turn_a_bit(std::as_writable_bytes(results), {.seed = seed, .stream = Stream::kAudit});
    };
    const auto findings = judge_cores(core_pieces(), ask_cores({.cores = cores, .seconds = 0, .spoil = spoil}));
    EXPECT_GT(number, drawn[0] % 60) << "it was done";
    expect_found(findings, {{liar, 1}}, {});
  }
}

// In any piece, LibTorch's too.
TEST(CoreAudit, ACoreThatErrsInAllIsNamedForEachPiece) {
  const std::vector<int> cores = allowed_cores();
  const int liar = cores.back();
  const auto spoil = [&](int core, int64_t pass, std::span<float> results) {
    if (core == liar) results.front() += static_cast<float>(pass + 1);
  };
  const std::vector<CorePiece> pieces = core_pieces();
  const auto findings = judge_cores(pieces, ask_cores({.cores = cores, .seconds = 0, .spoil = spoil}));
  ASSERT_EQ(findings.size(), pieces.size());
  for (const CoreFinding& finding : findings) {
    EXPECT_EQ(finding.wrong.size(), 1U) << finding.piece;
    EXPECT_TRUE(finding.wrong.contains(liar)) << finding.piece;
    EXPECT_TRUE(finding.suspects.empty()) << finding.piece;
  }
}

TEST(CoreAudit, ACoreThatIsNotThereIsNamed) {
  try {
    ask_cores({.cores = {allowed_cores().front(), 4095}, .seconds = 1e9});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kEnvironment);
    EXPECT_NE(std::string(error.what()).find("core 4095 takes no thread"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace linac::models
