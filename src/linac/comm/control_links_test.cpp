#include "linac/comm/control_links.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "linac/base/descriptor.h"

namespace linac::comm {
namespace {

using std::literals::chrono_literals::operator""ms;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = 50ms;
constexpr int kWaits = 20;

// No descriptor is left for a connection that waits: the thread sleeps, and hears it once there is one.
TEST(ControlLinks, DoesNotSpinWithoutDescriptors) {
  ControlLinks links("127.0.0.1", "", {}, "run"), other("127.0.0.1", "", {}, "run");
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

}  // namespace
}  // namespace linac::comm
