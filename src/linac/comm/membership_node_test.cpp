#include "linac/comm/membership_node.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <thread>

#include "linac/comm/replica_sum.h"
#include "linac/comm/sockets.h"
#include "linac/comm/tcp_group.h"

namespace linac::comm {
namespace {

using std::literals::chrono_literals::operator""s;
using Clock = std::chrono::steady_clock;

// Members of one process, over the loopback interface. LINAC_TEST_MEMBERS=512 measures more.
int members() {
  const char* const text = std::getenv("LINAC_TEST_MEMBERS");
  return text == nullptr ? 24 : std::atoi(text);
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class MembershipNodes : public ::testing::Test {
 protected:
  void SetUp() override { raise_descriptor_limit(); }

  std::unique_ptr<MembershipNode> node() const {
    return std::make_unique<MembershipNode>(MembershipNode::Settings{
        .host = "127.0.0.1", .advertise = "", .links = run_, .stall_timeout = 60s, .on_hang = {}});
  }

  // The first view, installed by all.
  std::vector<std::unique_ptr<MembershipNode>> founded(int count) const {
    std::vector<std::unique_ptr<MembershipNode>> nodes;
    View first{.number = 1, .members = {}, .next_seniority = count};
    for (int i = 0; i < count; ++i) {
      nodes.push_back(node());
      first.members.push_back(nodes.back()->self());
      first.members.back().seniority = i;
    }
    for (const auto& one : nodes) one->found(first, {});
    return nodes;
  }

  const std::shared_ptr<const LinkContext> run_ = std::make_shared<const LinkContext>(RunKey::draw(), "run");
};

// The size of the view after `number` on all, which must be the same.
int next_size(std::vector<std::unique_ptr<MembershipNode>>& nodes, int64_t number) {
  int size = 0;
  for (const auto& one : nodes) {
    if (!one) continue;
    const auto place = one->await_view(number);
    EXPECT_TRUE(place.has_value());
    if (!place) continue;
    EXPECT_TRUE(size == 0 || size == place->view.size()) << size << " and " << place->view.size();
    size = place->view.size();
  }
  return size;
}

TEST_F(MembershipNodes, ManyLoseOneAndLetOneIn) {
  const int count = members();
  auto begin = Clock::now();
  auto nodes = founded(count);
  EXPECT_EQ(next_size(nodes, 0), count);
  const double founding_s = seconds_since(begin);

  begin = Clock::now();
  nodes[static_cast<size_t>(count) / 2].reset();
  EXPECT_EQ(next_size(nodes, 1), count - 1);
  const double loss_s = seconds_since(begin);

  begin = Clock::now();
  nodes.push_back(node());
  nodes.back()->join({nodes.front()->self().address}, {});
  while (!nodes.front()->wants_next_view()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  nodes.front()->leave_view("a newcomer waits");
  EXPECT_EQ(next_size(nodes, 2), count);
  fmt::print("{} members: {:.2f} s to found, {:.2f} s until one is lost for all, {:.2f} s until one is let in\n", count,
             founding_s, loss_s, seconds_since(begin));
}

TEST_F(MembershipNodes, ManyAddUp) {
  const int count = members();
  constexpr size_t kFloats = 10'000;
  auto nodes = founded(count);
  std::vector<std::vector<float>> sums(static_cast<size_t>(count), std::vector<float>(kFloats));
  std::vector<double> first_s(sums.size()), second_s(sums.size());
  std::vector<std::unique_ptr<TcpGroup>> groups;
  for (auto& one : nodes) groups.push_back(std::make_unique<TcpGroup>(std::move(one), 60s));
  {
    std::vector<std::jthread> threads;
    for (size_t rank = 0; rank < sums.size(); ++rank) {
      threads.emplace_back([&, rank] {
        std::vector<float> mine(kFloats);
        std::iota(mine.begin(), mine.end(), static_cast<float>(rank));
        const std::vector<std::span<float>> replicas{mine};
        ReplicaSum sum(*groups[rank], count);
        for (double* const seconds : {&first_s[rank], &second_s[rank]}) {
          std::iota(mine.begin(), mine.end(), static_cast<float>(rank));
          const auto begin = Clock::now();
          sum.reduce(replicas, sums[rank]);
          *seconds = seconds_since(begin);
        }
      });
    }
  }
  const float expected = static_cast<float>(count * (count - 1)) / 2;
  for (const auto& sum : sums) EXPECT_EQ(sum[0], expected);
  fmt::print("{} members: {:.2f} s for the first sum, with {} links to open, {:.3f} s for the second one\n", count,
             *std::max_element(first_s.begin(), first_s.end()), count * (count - 1),
             *std::max_element(second_s.begin(), second_s.end()));
}

}  // namespace
}  // namespace linac::comm
