#include "linac/train/comm/transport/control_links.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>

#include "linac/base/base/descriptor.h"
#include "linac/train/comm/meeting/sockets.h"

namespace linac::comm {
namespace {

using std::literals::chrono_literals::operator""ms;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = 50ms;
constexpr int kWaits = 20;
const auto kRun = std::make_shared<const LinkContext>(RunKey::draw(), "run");

// No descriptor is left for a connection that waits: the thread sleeps, and hears it once there is one.
TEST(ControlLinks, DoesNotSpinWithoutDescriptors) {
  ControlLinks links("127.0.0.1", "", {}, kRun), other("127.0.0.1", "", {}, kRun);
  other.send(links.address(), "hello", 1);
  rlimit all{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &all), 0);
  const Descriptor next(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit few = all;
  few.rlim_cur = static_cast<rlim_t>(next.get());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto begin = Clock::now();
  for (int i = 0; i < kWaits; ++i) EXPECT_TRUE(links.wait(-1, kPatience, {}).messages.empty());
  const auto waited = Clock::now() - begin;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &all), 0);
  EXPECT_GT(waited, kWaits / 4 * kPatience);
  std::vector<std::string> heard;
  for (const auto end = Clock::now() + 5000ms; heard.empty() && Clock::now() < end;) {
    other.wait(-1, 1ms, {});
    heard = links.wait(-1, kPatience, {}).messages;
  }
  EXPECT_EQ(heard, std::vector<std::string>{"hello"});
}

// What `links` hears, while `others` move what they have to say; it is over once something was heard.
std::vector<std::string> heard_by(ControlLinks& links, const std::vector<ControlLinks*>& others,
                                  std::chrono::milliseconds limit) {
  std::vector<std::string> heard;
  for (const auto end = Clock::now() + limit; heard.empty() && Clock::now() < end;) {
    for (ControlLinks* const other : others) other->wait(-1, 1ms, {});
    heard = links.wait(-1, 1ms, {}).messages;
  }
  return heard;
}

// A link that nobody watches goes once it has not been used; the next message opens it again.
TEST(ControlLinks, UnusedLinksAreClosed) {
  ControlLinks links("127.0.0.1", "", {}, kRun), watched("127.0.0.1", "", {}, kRun), other("127.0.0.1", "", {}, kRun);
  const auto play = [&](size_t descriptors, std::chrono::milliseconds limit) {
    std::vector<std::string> heard;
    for (const auto end = Clock::now() + limit; links.descriptors() != descriptors && Clock::now() < end;) {
      links.wait(-1, 1ms, {watched.address()});
      watched.wait(-1, 1ms, {});
      for (auto& one : other.wait(-1, 1ms, {}).messages) heard.push_back(std::move(one));
    }
    return heard;
  };
  links.send(watched.address(), "hello", 1);
  links.send(other.address(), "hello", 1);
  EXPECT_EQ(links.descriptors(), 3U);
  EXPECT_EQ(play(2, ControlLinks::kUnusedTime + 5000ms), std::vector<std::string>{"hello"});
  EXPECT_EQ(links.descriptors(), 2U) << "the one that is watched stays";
  links.send(other.address(), "again", 1);
  EXPECT_EQ(play(0, 200ms), std::vector<std::string>{"again"});
}

// Thousands of strangers who call and say nothing: they give way, and a member is heard.
TEST(ControlLinks, StrangersTakeNoPlace) {
  constexpr int kStrangers = 600;
  rlimit all{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &all), 0);
  if (all.rlim_cur < 3 * kStrangers) GTEST_SKIP() << "few descriptors";
  ControlLinks links("127.0.0.1", "", {}, kRun), other("127.0.0.1", "", {}, kRun);
  std::vector<Descriptor> strangers;
  for (int i = 0; i < kStrangers; ++i) {
    bool refused = false;
    strangers.push_back(begin_connecting(links.address(), refused));
    if (i % 50 == 49) links.wait(-1, 1ms, {});
  }
  other.send(links.address(), "hello", 1);
  EXPECT_EQ(heard_by(links, {&other}, 5000ms), std::vector<std::string>{"hello"});
  const auto let_go = std::count_if(strangers.begin(), strangers.end(), [](const Descriptor& stranger) {
    char byte = 0;
    return recv(stranger.get(), &byte, 1, MSG_DONTWAIT) == 0;
  });
  EXPECT_GE(let_go, kStrangers - 256 - 1);
}

// Carries bytes from one who calls it to another address.
void carry(const Descriptor& from, const Descriptor& to) {
  char bytes[4096];
  const auto size = recv(from.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  if (size > 0) send(to.get(), bytes, static_cast<size_t>(size), MSG_NOSIGNAL);
}

// A stranger has taken the address of a member that has ended, and leads who calls it to another, or to itself.
TEST(ControlLinks, ALinkThatWasLedElsewhereIsClosed) {
  for (const bool to_itself : {false, true}) {
    ControlLinks caller("127.0.0.1", "", {}, kRun), another("127.0.0.1", "", {}, kRun);
    const Descriptor trap(listen_at("127.0.0.1", 0));
    caller.send(host_and_port("127.0.0.1", port_of(trap.get())), "for the dead", 1);
    bool refused = false;
    const Descriptor front(accept4(trap.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    ASSERT_TRUE(front);
    const Descriptor back = begin_connecting(to_itself ? caller.address() : another.address(), refused);
    ASSERT_FALSE(refused);
    std::vector<std::string> heard;
    bool closed = false;
    for (const auto end = Clock::now() + 5000ms; !closed && heard.empty() && Clock::now() < end;) {
      heard = caller.wait(-1, 1ms, {}).messages;
      const auto also = another.wait(-1, 1ms, {}).messages;
      heard.insert(heard.end(), also.begin(), also.end());
      carry(front, back);
      char byte = 0;
      closed = recv(back.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
      carry(back, front);
    }
    EXPECT_TRUE(closed);
    EXPECT_TRUE(heard.empty()) << heard.front();
  }
}

}  // namespace
}  // namespace linac::comm
