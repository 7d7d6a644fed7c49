// One member's state machine by itself; membership_simulation_test.cpp plays many of them against faults.
#include "linac/train/comm/membership/membership.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace linac::comm {
namespace {

using Type = Message::Type;

constexpr MembershipSettings kSettings{};

Member member(int seniority) {
  return {.seniority = seniority,
          .key = static_cast<uint64_t>(seniority) + 1,
          .address = "127.0.0.1:" + std::to_string(4000 + seniority),
          .host = "here",
          .pid = 100 + seniority};
}

View view_of(int64_t number, int size) {
  View view{.number = number, .members = {}, .next_seniority = size};
  for (int i = 0; i < size; ++i) view.members.push_back(member(i));
  return view;
}

Message from(int seniority, Type type, int64_t installed) {
  Message message = plain(type);
  message.from = member(seniority).key;
  message.from_address = member(seniority).address;
  message.report.installed = installed;
  return message;
}

// The coordinator of a view that has just begun.
Membership coordinator(int64_t number, int size) {
  Membership membership(member(0), kSettings, [] { return uint64_t{99}; });
  membership.found(view_of(number, size), 0);
  return membership;
}

std::vector<Membership::Outgoing> sent(Membership& membership, Type type) {
  auto all = membership.take_outgoing();
  std::erase_if(all, [&](const auto& one) { return one.message.type != type; });
  return all;
}

Message request_of(int seniority) {
  Message request = request_to_join(member(seniority));
  request.from = member(seniority).key;
  request.from_address = member(seniority).address;
  return request;
}

// It was member `seniority` in another life, and looks for the first two of the run at their addresses.
Membership newcomer(int seniority) {
  Membership membership(member(seniority), kSettings, [] { return uint64_t{99}; });
  membership.join({member(0).address, member(1).address, member(seniority).address}, 0);
  return membership;
}

TEST(Membership, ANewcomerGivesUpWhereNoMemberAnswers) {
  Membership membership = newcomer(9);
  for (int64_t ms = 0; ms <= kSettings.answer_ms; ms += 50) {
    membership.on_tick(ms);
    ASSERT_EQ(membership.phase(), Membership::Phase::kJoining);
    for (const auto& one : membership.take_outgoing()) EXPECT_NE(one.to, member(9).address) << "that is itself";
    membership.on_message(request_of(8), ms);  // one that wants to be let in, too
  }
  membership.on_tick(kSettings.answer_ms + 50);
  EXPECT_EQ(membership.phase(), Membership::Phase::kEnded);
  EXPECT_EQ(membership.ending().code, static_cast<int>(ErrorCode::kPeerLost));
  EXPECT_NE(membership.ending().text.find("has the run ended"), std::string::npos) << membership.ending().text;
}

TEST(Membership, ANewcomerGivesUpWhereNobodyListensThoughOthersWaitWithIt) {
  Membership membership = newcomer(9);
  for (int64_t ms = 0; ms <= kSettings.silence_ms + 100; ms += 50) {
    membership.on_tick(ms);
    for (const int one : {0, 1}) membership.on_refused(member(one).address, ms);
    membership.on_message(request_of(8), ms);
  }
  EXPECT_EQ(membership.phase(), Membership::Phase::kEnded);
  EXPECT_NE(membership.ending().text.find("nobody listens"), std::string::npos) << membership.ending().text;
}

TEST(Membership, ANewcomerIsAnsweredWhileAStepGoesOn) {
  Membership asked = coordinator(1, 2), membership = newcomer(9);
  for (int64_t ms = 0; ms <= kSettings.quorum_ms; ms += 50) {
    membership.on_tick(ms);
    ASSERT_EQ(membership.phase(), Membership::Phase::kJoining) << membership.ending().text;
    for (const auto& one : membership.take_outgoing())
      if (one.to == member(0).address) asked.on_message(one.message, ms);
    for (const auto& one : asked.take_outgoing())
      if (one.to == member(9).address) membership.on_message(one.message, ms);
  }
  membership.on_tick(kSettings.quorum_ms + 50);
  EXPECT_EQ(membership.phase(), Membership::Phase::kEnded) << "it waits without end";
}

// Hundreds of reports from the view before had been answered with as many whole views.
TEST(Membership, WhoIsLateIsToldOnceInAWhile) {
  Membership membership = coordinator(2, 3);
  membership.take_outgoing();
  for (int64_t ms = 1; ms < kSettings.retry_ms; ++ms) membership.on_message(from(1, Type::kReport, 1), ms);
  EXPECT_EQ(sent(membership, Type::kInstall).size(), 1u);
  for (int64_t ms = kSettings.retry_ms; ms < 10 * kSettings.retry_ms; ++ms)
    membership.on_message(from(1, Type::kReport, 1), ms);
  const auto again = sent(membership, Type::kInstall);
  EXPECT_GE(again.size(), 8u) << "an answer may be lost with its connection";
  EXPECT_LE(again.size(), 10u);
  EXPECT_EQ(again.front().message.view->size(), 3) << "it has accepted nothing";
}

TEST(Membership, WhoIsLateAndHasAcceptedTheViewIsToldItsName) {
  Membership membership = coordinator(2, 3);
  membership.take_outgoing();
  Message late = from(1, Type::kReport, 1);
  late.report.accepted = name_of(membership.view());
  membership.on_message(late, 1);
  const auto told = sent(membership, Type::kInstall);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told.front().message.view->members.empty());
}

// The most senior one has died and the next is halted: whoever notices first must not take the third, to which nobody
// has spoken yet, for silent too.
TEST(Membership, WhoComesNextAfterASilentOneGetsTimeToAnswer) {
  Membership membership(member(3), kSettings, [] { return uint64_t{99}; });
  membership.found(view_of(1, 4), 0);
  membership.on_refused(member(0).address, 100);
  ASSERT_EQ(membership.phase(), Membership::Phase::kRegrouping);
  std::vector<std::string> lost;
  int64_t first_lost_at = 0, second_lost_at = 0;
  for (int64_t ms = 100; ms <= 100 + 2 * kSettings.silence_ms; ms += 10) {
    membership.on_tick(ms);
    for (const auto& event : membership.take_events()) {
      if (event.kind != MembershipEvent::Kind::kLost) continue;
      lost.push_back(event.text);
      if (lost.size() == 2) first_lost_at = ms;
      if (lost.size() == 3) second_lost_at = ms;
    }
  }
  ASSERT_EQ(lost.size(), 3u);
  EXPECT_NE(lost[1].find("rank 1"), std::string::npos) << lost[1];
  EXPECT_NE(lost[2].find("rank 2"), std::string::npos) << lost[2];
  EXPECT_GE(first_lost_at, 100 + kSettings.silence_ms);
  EXPECT_GE(second_lost_at, first_lost_at + kSettings.silence_ms / 8);
}

// It may not see that it errs, and goes on reporting itself; or it was the one to propose.
TEST(Membership, WhoComputesWronglyIsInNoFurtherView) {
  const Failure why{static_cast<int>(ErrorCode::kWrong), "[audit] rank 1 computes wrongly"};
  for (const bool others_know_first : {false, true}) {
    Membership membership = coordinator(1, 4);
    if (others_know_first) membership.on_message(from(2, Type::kReport, 1), 1);
    membership.shut_out(member(1).key, why, 2);
    EXPECT_EQ(membership.phase(), Membership::Phase::kRegrouping);
    const auto told = sent(membership, Type::kExcluded);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].to, member(1).address);
    EXPECT_EQ(told[0].message.failure, why);
    for (int i = 1; i < 4; ++i) membership.on_message(from(i, Type::kReport, 1), 3);
    membership.on_tick(4);
    auto all = membership.take_outgoing();
    EXPECT_TRUE(std::ranges::any_of(all, [&](const auto& one) {
      return one.message.type == Type::kExcluded && one.to == member(1).address && one.message.failure == why;
    })) << "told again";
    std::erase_if(all, [](const auto& one) { return one.message.type != Type::kPropose; });
    ASSERT_EQ(all.size(), 2u);
    for (const auto& one : all) EXPECT_EQ(one.message.view->rank_of(member(1).key), -1);
  }
  Membership next(member(1), kSettings, [] { return uint64_t{99}; });
  next.found(view_of(1, 3), 0);
  next.shut_out(member(0).key, why, 1);
  EXPECT_TRUE(next.leads()) << "who was to propose is shut out";
  Membership itself = coordinator(1, 3);
  itself.shut_out(member(0).key, why, 1);
  EXPECT_EQ(itself.ending(), why);
  Membership unknown = coordinator(1, 3);
  unknown.shut_out(12345, why, 1);
  EXPECT_TRUE(unknown.running());
}

TEST(Membership, ProposesWhatChangesToWhoHasTheView) {
  Membership membership = coordinator(1, 4);
  membership.on_message(request_of(9), 1);
  membership.leave_view("a newcomer waits", 1);
  for (int i = 1; i < 4; ++i) membership.on_message(from(i, Type::kReport, 1), 2);
  membership.on_tick(3);
  const auto first = sent(membership, Type::kPropose);
  ASSERT_EQ(first.size(), 4u);
  for (const auto& one : first) {
    EXPECT_EQ(one.knows_view, one.to != member(9).address) << one.to;
    EXPECT_EQ(one.message.view->size(), 5);
  }
  // Whoever could not read that gets it whole.
  for (int64_t ms = 4; ms < 20 * kSettings.retry_ms; ms += 20) membership.on_tick(ms);
  const auto again = sent(membership, Type::kPropose);
  ASSERT_GE(again.size(), 4u);
  EXPECT_TRUE(std::none_of(again.begin(), again.end(), [](const auto& one) { return one.knows_view; }));
}

}  // namespace
}  // namespace linac::comm
