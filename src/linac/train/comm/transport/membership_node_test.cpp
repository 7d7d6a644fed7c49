#include "linac/train/comm/transport/membership_node.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "linac/train/comm/meeting/sockets.h"
#include "linac/train/comm/replica_sum.h"
#include "linac/train/comm/transport/tcp_group.h"

namespace linac::comm {
namespace {

using std::literals::chrono_literals::operator""s;
using Clock = std::chrono::steady_clock;

// Members of one process, over the loopback interface. LINAC_TEST_MEMBERS=512 measures more.
int members() {
  const char* const text = std::getenv("LINAC_TEST_MEMBERS");
  return text == nullptr ? 40 : std::atoi(text);
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class MembershipNodes : public ::testing::Test {
 protected:
  void SetUp() override { raise_descriptor_limit(); }

  std::unique_ptr<MembershipNode> node(const std::string& ledger = "") const {
    return std::make_unique<MembershipNode>(MembershipNode::Settings{
        .host = "127.0.0.1", .advertise = "", .links = run_, .ledger = ledger, .stall_timeout = 60s, .on_hang = {}});
  }

  // Of two that share no folder the second, which copies the first view by this ledger as soon as it is installed.
  std::unique_ptr<MembershipNode> copying(Ledger ledger) {
    std::vector<std::unique_ptr<MembershipNode>> nodes;
    for (const char* const folder : {"one", "other"}) nodes.push_back(node(folder));
    const View first = view_of(nlohmann::json::array({members_of(nodes)}));
    nodes[0]->found(first, [](int64_t, const View& next) { return next; });
    nodes[1]->found(first, std::move(ledger));
    EXPECT_EQ(next_size(nodes, 0), 2);
    other_ = std::move(nodes[0]);
    return std::move(nodes[1]);
  }

  // The size of the view after `number` on all, which must be the same.
  static int next_size(std::vector<std::unique_ptr<MembershipNode>>& nodes, int64_t number) {
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

  std::vector<std::unique_ptr<MembershipNode>> listening(int begin, int end) const {
    std::vector<std::unique_ptr<MembershipNode>> nodes;
    for (int i = begin; i < end; ++i) nodes.push_back(node());
    return nodes;
  }

  static nlohmann::json members_of(const std::vector<std::unique_ptr<MembershipNode>>& nodes) {
    nlohmann::json members = nlohmann::json::array();
    for (const auto& one : nodes) members.push_back(one->self());
    return members;
  }

  // The first view, of the members of each process.
  static View view_of(const nlohmann::json& processes) {
    View first{.number = 1, .members = {}};
    for (const auto& members : processes) {
      for (const auto& member : members) {
        first.members.push_back(member.get<Member>());
        first.members.back().seniority = first.next_seniority++;
      }
    }
    return first;
  }

  // The first view, installed by all.
  std::vector<std::unique_ptr<MembershipNode>> founded(int count) const {
    auto nodes = listening(0, count);
    const View first = view_of(nlohmann::json::array({members_of(nodes)}));
    for (const auto& one : nodes) one->found(first, {});
    return nodes;
  }

  const std::shared_ptr<const LinkContext> run_ = std::make_shared<const LinkContext>(RunKey::draw(), "run");
  std::unique_ptr<MembershipNode> other_;
};

// All at once: each takes its leave.
void end(std::vector<std::unique_ptr<MembershipNode>>& nodes) {
  std::vector<std::jthread> threads;
  for (auto& one : nodes) threads.emplace_back([&one] { one.reset(); });
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
  std::fflush(stdout);
  end(nodes);
}

TEST_F(MembershipNodes, ACopyOfAViewIsWholeBeforeItsNodeIsGone) {
  std::atomic<bool> whole = false;
  auto node = copying([&](int64_t, const View& next) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    whole = true;
    return next;
  });
  node.reset();
  EXPECT_TRUE(whole);
}

TEST_F(MembershipNodes, ADiskThatNeverAnswersHoldsNoNode) {
  std::promise<void> answer;
  auto node = copying([after = answer.get_future().share()](int64_t, const View& next) {
    after.wait();
    return next;
  });
  node.reset();
  answer.set_value();
}

// What a member of the group has open, and sends for a sum.
struct Found {
  double first_s = 0, second_s = 0;
  size_t descriptors = 0;
  int64_t messages = 0, bytes = 0;
  bool right = false;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Found, first_s, second_s, descriptors, messages, bytes, right)

// Processes that share out the members, as the descriptors of one are too few for the links of 512. This one is the
// first; the others end with the family.
class Family {
 public:
  explicit Family(int size) {
    for (int i = 1; i < size && number_ == 0; ++i) {
      std::array<int, 2> ends{};
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw std::runtime_error("no pair");
      const pid_t child = fork();
      if (child < 0) throw std::runtime_error("no process");
      if (child == 0) {
        number_ = i;
        others_.clear();
      } else {
        children_.push_back(child);
      }
      others_.push_back(fdopen(ends[child == 0 ? 1 : 0], "r+"));
      close(ends[child == 0 ? 0 : 1]);
    }
  }
  ~Family() {
    for (FILE* const other : others_) fclose(other);
    if (number_ > 0) _exit(0);
    for (const pid_t child : children_) waitpid(child, nullptr, 0);
  }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  int number() const { return number_; }

  // What all have to say, in the order of their numbers.
  nlohmann::json share(const nlohmann::json& said) {
    if (number_ > 0) {
      write(others_.front(), said);
      return read(others_.front());
    }
    nlohmann::json all = nlohmann::json::array({said});
    for (FILE* const other : others_) all.push_back(read(other));
    for (FILE* const other : others_) write(other, all);
    return all;
  }

 private:
  static void write(FILE* to, const nlohmann::json& said) {
    fmt::print(to, "{}\n", said.dump());
    fflush(to);
  }
  static nlohmann::json read(FILE* from) {
    char* line = nullptr;
    size_t room = 0;
    const ssize_t size = getline(&line, &room, from);
    const std::unique_ptr<char, decltype(&free)> owner(line, free);
    if (size < 0) throw std::runtime_error("another process of the test has ended");
    return nlohmann::json::parse(std::string_view(line, static_cast<size_t>(size)));
  }

  int number_ = 0;
  std::vector<FILE*> others_;
  std::vector<pid_t> children_;
};

std::vector<float> replica(int number) {
  constexpr size_t kFloats = 1 << 18;
  std::vector<float> values(kFloats);
  for (size_t i = 0; i < kFloats; ++i)
    values[i] = static_cast<float>((i * 2654435761U + static_cast<size_t>(number) * 40503U) % 100'003) / 977.0F;
  return values;
}

// As the tree has it: whoever adds in another order gets other bits.
std::vector<float> sum_of(int begin, int end) {
  if (end - begin == 1) return replica(begin);
  std::vector<float> sum = sum_of(begin, middle_of(begin, end));
  const std::vector<float> other = sum_of(middle_of(begin, end), end);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
  return sum;
}

TEST_F(MembershipNodes, ManyAddUpWithFewLinksAndMessages) {
  constexpr int kInAProcess = 256;
  const int count = members();
  Family family((count + kInAProcess - 1) / kInAProcess);
  const int begin = family.number() * kInAProcess, end = std::min(count, begin + kInAProcess);
  std::vector<std::unique_ptr<TcpGroup>> groups;
  {
    auto nodes = listening(begin, end);
    const View first = view_of(family.share(members_of(nodes)));
    for (const auto& one : nodes) one->found(first, {});
    for (auto& one : nodes) groups.push_back(std::make_unique<TcpGroup>(std::move(one), 300s));
  }
  const std::vector<float> expected = sum_of(0, count);
  std::vector<Found> found(groups.size());
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < groups.size(); ++i) {
      threads.emplace_back([&, i, rank = begin + static_cast<int>(i)] {
        Found& mine = found[i];
        TcpGroup& group = *groups[i];
        std::vector<float> result(expected.size());
        ReplicaSum sum(group, count);
        for (double* const seconds : {&mine.first_s, &mine.second_s}) {
          std::vector<float> values = replica(rank);
          const std::vector<std::span<float>> replicas{values};
          const Traffic before = group.traffic();
          group.barrier();
          const auto start = Clock::now();
          sum.reduce(replicas, result);
          *seconds = seconds_since(start);
          mine.messages = group.traffic().messages - before.messages;
          mine.bytes = group.traffic().bytes - before.bytes;
        }
        mine.right = std::memcmp(result.data(), expected.data(), expected.size() * sizeof(float)) == 0;
        group.gather_text("what is said at the end of a run");
        group.barrier();
        mine.descriptors = group.all_descriptors();
        group.barrier();
      });
    }
  }
  const nlohmann::json said = found;
  found.clear();
  for (const auto& of_process : family.share(said))
    for (const auto& one : of_process) found.push_back(one.get<Found>());
  Found most;
  for (const Found& one : found) {
    EXPECT_TRUE(one.right);
    most.first_s = std::max(most.first_s, one.first_s);
    most.second_s = std::max(most.second_s, one.second_s);
    most.descriptors = std::max(most.descriptors, one.descriptors);
    most.messages = std::max(most.messages, one.messages);
    most.bytes = std::max(most.bytes, one.bytes);
  }
  // The barrier has messages too.
  const double bound = 4 * std::sqrt(count), barrier = 1 + std::ceil(std::log2(count));
  EXPECT_LE(static_cast<double>(most.messages), bound + barrier);
  EXPECT_LE(most.descriptors, 200U);
  EXPECT_LE(static_cast<double>(most.descriptors), 8 * std::sqrt(count) + 30);
  fmt::print(
      "{} members, a sum of 1 MiB: {:.2f} s for the first one, {:.3f} s for the second; of the busiest member {} "
      "descriptors, {} messages and {:.2f} MiB sent\n",
      count, most.first_s, most.second_s, most.descriptors, most.messages, static_cast<double>(most.bytes) / (1 << 20));
}

}  // namespace
}  // namespace linac::comm
