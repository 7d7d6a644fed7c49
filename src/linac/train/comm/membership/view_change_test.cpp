#include "linac/train/comm/membership/view_change.h"

#include <gtest/gtest.h>

#include <random>

namespace linac::comm {
namespace {

View some_view(std::mt19937& random) {
  View view{.number = 7, .proposer = 3, .members = {}, .next_seniority = 40, .fruitless = 1, .idle = 2};
  for (int i = 0; i < 40; ++i) {
    if (random() % 4 == 0) continue;
    view.members.push_back({.seniority = i,
                            .key = uint64_t{random()},
                            .address = "10.0.0.1:4000",
                            .host = "a",
                            .pid = i,
                            .moment = {0, 17, 2}});
  }
  return view;
}

TEST(ViewChange, MakesTheSameView) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const View base = some_view(random);
    View next = base;
    next.number = 9;
    next.proposer = 5;
    next.fruitless = 0;
    std::erase_if(next.members, [&](const Member&) { return random() % 5 == 0; });
    for (Member& member : next.members) {
      member.moment.steps += random() % 8 == 0 ? 1 : 5;
      member.share = random() % 8 == 0 ? 2 : 0;
      if (random() % 10 == 0) member.key = random();  // began anew
    }
    for (; next.next_seniority < 40 + i % 3; ++next.next_seniority)
      next.members.push_back({.seniority = next.next_seniority, .key = random(), .address = "10.0.0.2:1"});
    EXPECT_EQ(changed(base, nlohmann::json::parse(change_of(base, next).dump())), next);
  }
}

TEST(ViewChange, IsSmallWhereMostStay) {
  View base{.number = 1, .members = {}, .next_seniority = 512};
  for (int i = 0; i < 512; ++i)
    base.members.push_back({.seniority = i, .key = uint64_t{1} << 60, .address = "10.0.0.1:4000", .host = "node"});
  View next = base;
  next.number = 2;
  next.members.erase(next.members.begin() + 200);
  for (Member& member : next.members) member.moment = {0, 1000, 3};
  EXPECT_LT(change_of(base, next).dump().size(), 300u);
}

TEST(ViewChange, RefusesWhatDoesNotFit) {
  std::mt19937 random(1);
  const View base = some_view(random);
  View other = base;
  other.proposer = 4;
  const auto change = change_of(base, base);
  EXPECT_THROW(changed(other, change), std::exception) << "another base";
  for (const char* const members : {"[[0, 1000000, [0,0,0], 0]]", "[[-1, 2, [0,0,0], 0]]", "[[5, 4, [0,0,0], 0]]",
                                    "[[0, 20, [0,0,0], 0], [0, 20, [0,0,0], 0]]", "[[0, 1]]", "[7]", "[{}]"}) {
    auto wrong = change;
    wrong["members"] = nlohmann::json::parse(members);
    EXPECT_THROW(changed(base, wrong), std::exception) << members;
  }
}

}  // namespace
}  // namespace linac::comm
