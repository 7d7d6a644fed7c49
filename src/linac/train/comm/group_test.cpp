#include "linac/train/comm/group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/train/comm/test_in_process_group.h"

namespace linac::comm {
namespace {

using std::literals::chrono_literals::operator""s;
using std::literals::chrono_literals::operator""ms;

void on_all_ranks(int size, const std::function<void(Group&)>& work, std::chrono::milliseconds timeout = 10s) {
  auto groups = make_in_process_groups(size, timeout);
  std::vector<std::jthread> threads;
  for (auto& group : groups) threads.emplace_back([&work, &group] { work(*group); });
}

std::string lost_peer_message(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kPeerLost);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(Group, ALoneGroupNeedsNoPeer) {
  const auto group = make_lone_group();
  std::vector<float> data{1, 2};
  group->broadcast(data, 0);
  group->barrier();
  EXPECT_EQ(data, (std::vector<float>{1, 2}));
  EXPECT_EQ(group->gather_text("me"), std::vector<std::string>{"me"});
  EXPECT_EQ(group->traffic().messages, 0);
}

TEST(Group, BroadcastAmongSomeLeavesTheOthersAlone) {
  for (const std::vector<int>& some : {std::vector{1}, {3, 0}, {2, 4, 1}, {4, 3, 2, 1, 0}}) {
    on_all_ranks(5, [&](Group& group) {
      if (std::find(some.begin(), some.end(), group.rank()) == some.end()) return;
      std::vector<std::byte> data(3 << 20, std::byte{static_cast<unsigned char>(group.rank())});  // several pieces
      group.broadcast_among(some, data);
      EXPECT_EQ(data.front(), std::byte{static_cast<unsigned char>(some.front())});
      EXPECT_EQ(data.back(), data.front());
    });
  }
}

TEST(Group, BroadcastFromEveryRoot) {
  for (int size = 1; size <= 9; ++size) {
    for (int root = 0; root < size; ++root) {
      on_all_ranks(size, [&](Group& group) {
        std::vector<float> data(700'000);  // several pieces
        std::iota(data.begin(), data.end(), group.rank() == root ? 0.0f : 1e6f);
        group.broadcast(data, root);
        EXPECT_EQ(data.front(), 0.0f);
        EXPECT_EQ(data.back(), 699'999.0f);
      });
      if (size > 4) root += 2;  // enough for the larger ones
    }
  }
}

TEST(Group, GatherTextKeepsTheOrderOfRanks) {
  on_all_ranks(5, [](Group& group) {
    const auto texts = group.gather_text(group.rank() == 3 ? "" : std::string(group.rank() + 1, 'x'));
    if (group.rank() == 0) {
      EXPECT_EQ(texts, (std::vector<std::string>{"x", "xx", "xxx", "", "xxxxx"}));
    } else {
      EXPECT_TRUE(texts.empty());
    }
  });
}

TEST(Group, NobodyPassesABarrierBeforeTheLastArrives) {
  for (const int size : {2, 3, 4, 7, 8}) {
    std::atomic<int> arrived{0};
    on_all_ranks(size, [&](Group& group) {
      for (int round = 1; round <= 20; ++round) {
        ++arrived;
        group.barrier();
        EXPECT_GE(arrived.load(), round * group.size());
        group.barrier();
      }
    });
  }
}

// Of another tag, or of another size: as over TCP (tcp_group_test.cpp, mismatch).
TEST(Group, AMessageThatIsNotDueIsRefused) {
  for (const auto& [size, tag] : {std::pair(1, 11), std::pair(2, 10)}) {
    on_all_ranks(2, [&, size = size, tag = tag](Group& group) {
      std::vector<float> a{1}, b{2};
      if (group.rank() == 0) {
        group.send(a, 1, 10);
        group.send(b, 1, 10);
        EXPECT_EQ(group.traffic().bytes, 8);
        EXPECT_EQ(group.traffic().messages, 2);
        return;
      }
      std::vector<float> got(1), other(static_cast<size_t>(size));
      group.receive(got, 0, 10);
      EXPECT_EQ(got[0], 1);
      EXPECT_GT(group.traffic().seconds, 0);
      try {
        group.receive(other, 0, tag);
        ADD_FAILURE() << "taken";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kPeerLost);
        EXPECT_NE(std::string(error.what()).find("not the one that is due"), std::string::npos) << error.what();
      }
    });
  }
}

TEST(Group, EverybodyExchangesWithEverybody) {
  constexpr int kSize = 4;
  on_all_ranks(kSize, [](Group& group) {
    const int me = group.rank();
    for (int round = 0; round < 3; ++round) {
      // Each pair has a length of its own.
      const auto length = [&](int from, int to) { return static_cast<size_t>(1 + 1000 * from + 10 * to + round); };
      std::vector<std::vector<std::byte>> out(kSize), in(kSize);
      std::vector<Group::Outward> sends;
      std::vector<Group::Inward> receives;
      for (int peer = 0; peer < kSize; ++peer) {
        if (peer == me) continue;
        out[peer].assign(length(me, peer), static_cast<std::byte>(16 * me + peer));
        in[peer].resize(length(peer, me));
        sends.push_back({peer, out[peer]});
        receives.push_back({peer, in[peer]});
      }
      group.exchange(sends, receives, 7);
      for (int peer = 0; peer < kSize; ++peer) {
        if (peer == me) continue;
        EXPECT_EQ(in[peer], std::vector<std::byte>(length(peer, me), static_cast<std::byte>(16 * peer + me)));
      }
    }
    EXPECT_EQ(group.traffic().messages, 3 * (kSize - 1));
  });
}

TEST(Group, ALostPeerIsNamedAndEndsTheGroup) {
  auto groups = make_in_process_groups(3, 10s);
  groups[2].reset();
  std::jthread bystander([&] {
    // Rank 1 waits for rank 0, which has lost rank 2: it must not wait for its timeout.
    std::vector<float> data(1);
    const auto start = std::chrono::steady_clock::now();
    const auto message = lost_peer_message([&] { groups[1]->receive(data, 0, 0); });
    EXPECT_NE(message.find("rank 1: receive: rank 0"), std::string::npos) << message;
    EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
  });
  std::vector<float> data(1);
  const auto message = lost_peer_message([&] { groups[0]->receive(data, 2, 0); });
  EXPECT_NE(message.find("rank 0: receive: rank 2"), std::string::npos) << message;
  EXPECT_NE(lost_peer_message([&] { groups[0]->barrier(); }).find("ended earlier"), std::string::npos);
}

TEST(Group, AWaitEndsAtTheTimeout) {
  auto groups = make_in_process_groups(2, 50ms);
  std::vector<float> data(1);
  const auto message = lost_peer_message([&] { groups[0]->receive(data, 1, 0); });
  EXPECT_NE(message.find("timed out"), std::string::npos) << message;
}

// Threads of one rank, which a channel each use.
std::vector<std::jthread> side_by_side(std::vector<std::function<void()>> works) {
  std::vector<std::jthread> threads;
  for (auto& work : works) threads.emplace_back(std::move(work));
  return threads;
}

TEST(Parts, HaveTheirOwnRanksInTheOrderOfTheKeys) {
  on_all_ranks(5, [](Group& group) {
    const auto part = group.split(group.rank() % 2, -group.rank(), "parity");
    ASSERT_NE(part, nullptr);
    const auto texts = part->gather_text(std::to_string(group.rank()));
    if (part->rank() == 0) {
      const bool even = group.rank() % 2 == 0;
      EXPECT_EQ(texts, even ? (std::vector<std::string>{"4", "2", "0"}) : (std::vector<std::string>{"3", "1"}));
    }
    const auto none = group.split(group.rank() == 3 ? 0 : Group::kNoColour, 0, "some");
    EXPECT_EQ(none != nullptr, group.rank() == 3);
    if (none) none->barrier();
  });
  const auto alone = make_lone_group()->split(3, 0, "alone");
  EXPECT_EQ(alone->size(), 1);
  alone->barrier();
}

TEST(Parts, ExchangeAtTheSameTimeWithoutMixing) {
  on_all_ranks(4, [](Group& group) {
    const auto half = group.split(group.rank() / 2, 0, "half"), other = group.channel("other");
    const auto busy = [](Group& one, float unit) {
      for (int round = 0; round < 50; ++round) {
        // The same tag on each of them.
        std::vector<float> out{unit + static_cast<float>(one.rank())}, in(1);
        const int to = (one.rank() + 1) % one.size(), from = (one.rank() + one.size() - 1) % one.size();
        const Group::Outward send{to, std::as_bytes(std::span(out))};
        const Group::Inward receive{from, std::as_writable_bytes(std::span(in))};
        one.exchange({&send, 1}, {&receive, 1}, 3);
        EXPECT_EQ(in[0], unit + static_cast<float>(from));
        one.barrier();
      }
    };
    side_by_side({[&] { busy(group, 10); }, [&] { busy(*half, 20); }, [&] { busy(*other, 30); }});
    EXPECT_GT(half->traffic().messages, 50);
  });
}

TEST(Parts, WhoOpensAnotherChannelIsRefused) {
  on_all_ranks(3, [](Group& group) {
    const auto message = lost_peer_message([&] { group.channel(group.rank() == 2 ? "theirs" : "ours"); });
    EXPECT_NE(message.find("opens another channel than"), std::string::npos) << message;
  });
}

TEST(Parts, AChannelThatIsNotAnsweredTimesOutByName) {
  on_all_ranks(
      2,
      [](Group& group) {
        const auto part = group.channel("work");
        std::vector<float> data(1);
        if (group.rank() == 0) {
          const auto message = lost_peer_message([&] { part->receive(data, 1, 0); });
          EXPECT_NE(message.find("rank 0: receive in 'work': rank 1"), std::string::npos) << message;
        }
        // The whole group is as it was.
        std::this_thread::sleep_for(100ms);
      },
      50ms);
}

TEST(Parts, ALostRankEndsAllWaitsOnAllChannels) {
  auto groups = make_in_process_groups(3, 10s);
  std::vector<std::unique_ptr<Group>> parts(3), channels(3);
  {
    std::vector<std::function<void()>> makers;
    for (size_t i = 0; i < 3; ++i) {
      makers.emplace_back([&, i] {
        parts[i] = groups[i]->split(0, -static_cast<int>(i), "part");
        channels[i] = groups[i]->channel("other");
      });
    }
    side_by_side(std::move(makers));
  }
  const auto start = std::chrono::steady_clock::now();
  std::atomic<int> ended{0};
  {
    std::vector<std::function<void()>> waits;
    for (const size_t i : {0, 1}) {
      waits.emplace_back([&, i] {
        std::vector<float> data(1);
        EXPECT_NE(lost_peer_message([&] { parts[i]->receive(data, 0, 0); }).find("rank 2"), std::string::npos);
        ++ended;
      });
      waits.emplace_back([&, i] {
        std::vector<float> data(1);
        const auto message = lost_peer_message([&] { channels[i]->receive(data, 2, 0); });
        EXPECT_NE(message.find("receive in 'other': rank 2"), std::string::npos) << message;
        ++ended;
      });
      waits.emplace_back([&, i] {
        std::vector<float> data(1);
        lost_peer_message([&] { groups[i]->receive(data, 2, 0); });
        ++ended;
      });
    }
    const auto threads = side_by_side(std::move(waits));
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(ended, 0);
    groups[2].reset();
  }
  EXPECT_EQ(ended, 6);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

TEST(Group, AnOverlongTextIsRefused) {
  auto groups = make_in_process_groups(1, 1s);
  EXPECT_THROW(groups[0]->gather_text(std::string(Group::kMaxTextBytes + 1, 'x')), Error);
}

}  // namespace
}  // namespace linac::comm
