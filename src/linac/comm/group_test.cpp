#include "linac/comm/group.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <numeric>
#include <thread>

#include "linac/base/error.h"
#include "linac/comm/in_process_group.h"

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
  const auto group = make_group(Rendezvous{}, {});
  std::vector<float> data{1, 2};
  group->broadcast(data, 0);
  group->barrier();
  EXPECT_EQ(data, (std::vector<float>{1, 2}));
  EXPECT_EQ(group->gather_text("me"), std::vector<std::string>{"me"});
  EXPECT_EQ(group->traffic().messages, 0);
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

TEST(Group, TagsKeepExchangesApart) {
  on_all_ranks(2, [](Group& group) {
    std::vector<float> a{1}, b{2};
    if (group.rank() == 0) {
      group.send(a, 1, 10);
      group.send(b, 1, 11);
      EXPECT_EQ(group.traffic().bytes, 8);
      EXPECT_EQ(group.traffic().messages, 2);
    } else {
      std::vector<float> got(1);
      group.receive(got, 0, 11);
      EXPECT_EQ(got[0], 2);
      group.receive(got, 0, 10);
      EXPECT_EQ(got[0], 1);
      EXPECT_GT(group.traffic().seconds, 0);
    }
  });
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

TEST(Group, AnOverlongTextIsRefused) {
  auto groups = make_in_process_groups(1, 1s);
  EXPECT_THROW(groups[0]->gather_text(std::string(Group::kMaxTextBytes + 1, 'x')), Error);
}

}  // namespace
}  // namespace linac::comm
