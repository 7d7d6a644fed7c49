#include "linac/base/stacks/process_stacks.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/thread_facts.h"
#include "linac/base/stacks/test_threads.h"

namespace linac::stacks {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// The lines about the thread with this name, "" if there are none.
std::string about(const std::string& text, const std::string& name) {
  const size_t quoted = text.find("\"" + name + "\"");
  if (quoted == std::string::npos) return "";
  const size_t first = text.rfind("thread ", quoted);
  return text.substr(first, text.find("\nthread ", quoted) - first);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(OwnStacks, TellWhereAThreadReadsAndLetItReadOn) {
  if (kThreadSanitizer) GTEST_SKIP();
  const Pipe pipe;
  char byte = 0;
  ssize_t size = 0;
  NamedThread reader("pipe reader", [&] { size = wait_in_read(pipe.ends[0], &byte); });
  EXPECT_TRUE(eventually([&] { return is_in(::getpid(), reader.id(), SYS_read); }));
  const std::string file = proc_link("/proc/self/fd/" + std::to_string(pipe.ends[0]));
  for (int i = 0; i < 3; ++i) {
    const std::string lines = about(own_stacks(), "pipe reader");
    EXPECT_TRUE(has(lines, "thread " + std::to_string(reader.id()))) << lines;
    EXPECT_TRUE(has(lines, "sleeping, blocked in read of " + file)) << lines;
    EXPECT_TRUE(has(lines, "wait_in_read")) << lines;
    EXPECT_FALSE(has(lines, "on_signal")) << lines;
    EXPECT_FALSE(has(lines, "backtrace")) << lines;
  }
  pipe.write_x();
  reader.join();
  EXPECT_EQ(size, 1);
  EXPECT_EQ(byte, 'x');
}

TEST(OwnStacks, TellTheFunctionOfABusyThreadAndOfTheCaller) {
  if (kThreadSanitizer) GTEST_SKIP();
  std::atomic<bool> stop{false};
  NamedThread busy("busy", [&] { count_until(stop); });
  const std::string text = own_stacks();
  stop = true;
  EXPECT_TRUE(has(about(text, "busy"), ": running")) << text;
  EXPECT_TRUE(has(about(text, "busy"), "count_until")) << text;
  EXPECT_TRUE(has(text, "TellTheFunctionOfABusyThreadAndOfTheCaller")) << text;
}

TEST(OwnStacks, ListAThreadThatBlocksSignals) {
  const Pipe pipe;
  char byte = 0;
  NamedThread deaf("deaf", [&] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    wait_in_read(pipe.ends[0], &byte);
  });
  EXPECT_TRUE(eventually([&] { return is_in(::getpid(), deaf.id(), SYS_read); }));
  const std::string lines = about(own_stacks(), "deaf");
  pipe.write_x();
  EXPECT_TRUE(has(lines, "blocked in read of pipe:")) << lines;
  EXPECT_TRUE(has(lines, "no stack: it blocks signals")) << lines;
}

TEST(OwnStacks, DisturbNoThreadThatWaitsForSignals) {
  int received = 0;
  NamedThread waiter("waiter", [&] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    sigwait(&all, &received);
  });
  EXPECT_TRUE(eventually([&] { return is_in(::getpid(), waiter.id(), SYS_rt_sigtimedwait); }));
  const std::string lines = about(own_stacks(), "waiter");
  EXPECT_TRUE(has(lines, "no stack: it ")) << lines;
  EXPECT_TRUE(is_in(::getpid(), waiter.id(), SYS_rt_sigtimedwait));
  pthread_kill(waiter.handle(), SIGUSR2);
  waiter.join();
  EXPECT_EQ(received, SIGUSR2);
}

TEST(OwnStacks, ListAThreadThatWaitsForADevice) {
  if (kThreadSanitizer) GTEST_SKIP();
  const Pipe pipe;
  NamedThread waiter("waiter", [&] { wait_as_for_a_device(pipe); });
  EXPECT_TRUE(eventually([&] { return state_of(::getpid(), waiter.id()) == 'D'; }));
  const std::string first = about(own_stacks(), "waiter"), second = about(own_stacks(), "waiter");
  pipe.write_x();
  waiter.join();
  EXPECT_TRUE(has(first, ": waiting for a device (D)")) << first;
  EXPECT_TRUE(has(first, "no stack: it did not answer")) << first;
  EXPECT_TRUE(has(second, "no stack: it has not answered an earlier question")) << second;
}

TEST(OwnStacks, OfManyThreadsAskedForByTwoAtOnce) {
  if (kThreadSanitizer) GTEST_SKIP();
  const Pipe pipe;
  std::vector<char> bytes(8);
  {
    std::vector<std::unique_ptr<NamedThread>> readers;
    for (char& byte : bytes) {
      readers.push_back(std::make_unique<NamedThread>("reader", [&] { wait_in_read(pipe.ends[0], &byte); }));
      EXPECT_TRUE(eventually([&] { return is_in(::getpid(), readers.back()->id(), SYS_read); }));
    }
    const pid_t first =
        std::min_element(readers.begin(), readers.end(), [](const auto& a, const auto& b) { return a->id() < b->id(); })
            ->get()
            ->id();
    const std::string same = "the same stack as thread " + std::to_string(first);
    own_stacks();  // the first call reads files that may not be in memory
    const auto start = Clock::now();
    std::string texts[2];
    std::thread other([&] { texts[1] = own_stacks(); });
    texts[0] = own_stacks();
    other.join();
    EXPECT_LT(Clock::now() - start, 2s);
    for (const std::string& text : texts) {
      EXPECT_EQ(count(text, "\"reader\": sleeping, blocked in read"), bytes.size()) << text;
      EXPECT_EQ(count(text, "wait_in_read"), 1U) << text;
      EXPECT_EQ(count(text, same), bytes.size() - 1) << text;
    }
    for (size_t i = 0; i < bytes.size(); ++i) pipe.write_x();
  }
  for (const char byte : bytes) EXPECT_EQ(byte, 'x');
}

// Of `depth` frames more than another one's, so that no two of them are the same.
__attribute__((noinline)) void wait_deep_in(int depth, std::mutex& mutex) {
  if (depth > 0) {
    wait_deep_in(depth - 1, mutex);
  } else {
    const std::lock_guard lock(mutex);
  }
  asm volatile("");  // not a tail call
}

// As on a host with meters, caches and pools: an error's message keeps a part of such a text.
TEST(OwnStacks, BeginWithWhoWaitsForAFileHoweverManyWaitForWork) {
  if (kThreadSanitizer) GTEST_SKIP();
  const Pipe pipe;
  char byte = 0;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::vector<std::unique_ptr<NamedThread>> idle;
  const auto add_idle = [&] {
    for (int i = 0; i < 12; ++i) {
      const int depth = static_cast<int>(idle.size());
      idle.push_back(std::make_unique<NamedThread>("idle", [&mutex, depth] { wait_deep_in(depth, mutex); }));
      EXPECT_TRUE(eventually([&] { return is_in(::getpid(), idle.back()->id(), SYS_futex); }));
    }
  };
  add_idle();
  NamedThread reader("reader", [&] { wait_in_read(pipe.ends[0], &byte); });
  EXPECT_TRUE(eventually([&] { return is_in(::getpid(), reader.id(), SYS_read); }));
  add_idle();
  const Error hang(ErrorCode::kHang, own_stacks());
  lock.unlock();
  pipe.write_x();
  const std::string said = hang.what();
  EXPECT_TRUE(has(said, "left out")) << said;
  EXPECT_TRUE(has(about(said, "reader"), "blocked in read")) << said;
  EXPECT_TRUE(has(about(said, "reader"), "wait_in_read")) << said;
  EXPECT_LT(said.find("\"reader\""), said.find("\"idle\"")) << said;
}

TEST(ProcessStacks, OfAStoppedChildLeaveItStopped) {
  Child child([] { ::raise(SIGSTOP); });
  EXPECT_TRUE(eventually([&] { return state_of(child.id(), child.id()) == 'T'; }));
  for (int i = 0; i < 2; ++i) {
    const std::string text = process_stacks(child.id());
    EXPECT_TRUE(has(text, "process " + std::to_string(child.id()))) << text;
    EXPECT_TRUE(has(text, ": stopped")) << text;
    EXPECT_TRUE(has(text, "raise") || has(text, "no C++ stacks")) << text;
    EXPECT_TRUE(eventually([&] { return state_of(child.id(), child.id()) == 'T'; }));
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(state_of(child.id(), child.id()), 'T');
  }
  ::kill(child.id(), SIGCONT);
  EXPECT_TRUE(child.ends());
}

TEST(ProcessStacks, TellWhereAChildReadsAndLetItReadOn) {
  const Pipe pipe;
  Child child([&] {
    char byte = 0;
    if (wait_in_read(pipe.ends[0], &byte) != 1) ::pause();
  });
  EXPECT_TRUE(eventually([&] { return is_in(child.id(), child.id(), SYS_read); }));
  const auto start = Clock::now();
  const std::string text = process_stacks(child.id());
  EXPECT_LT(Clock::now() - start, 2500ms);
  EXPECT_TRUE(has(text, "sleeping, blocked in read of pipe:")) << text;
  EXPECT_TRUE(has(text, "wait_in_read") || has(text, "no C++ stacks")) << text;
  EXPECT_TRUE(eventually([&] { return is_in(child.id(), child.id(), SYS_read); }));
  pipe.write_x();
  EXPECT_TRUE(child.ends());
}

TEST(ProcessStacks, LetAChildGoThatCannotBeHalted) {
  if (kThreadSanitizer) GTEST_SKIP();
  const Pipe pipe;
  Child child([&] { wait_as_for_a_device(pipe); });
  EXPECT_TRUE(eventually([&] { return state_of(child.id(), child.id()) == 'D'; }));
  const std::string text = process_stacks(child.id());
  EXPECT_TRUE(has(text, ": waiting for a device (D)")) << text;
  EXPECT_TRUE(has(text, "no stack: it cannot be halted") || has(text, "no C++ stacks")) << text;
  pipe.write_x();
  EXPECT_TRUE(child.ends());
}

TEST(ProcessStacks, OfNoProcessSaySo) {
  pid_t gone = 0;
  {
    const Child child([] {});
    gone = child.id();
  }
  EXPECT_EQ(process_stacks(gone), "process " + std::to_string(gone) + " does not exist\n");
  EXPECT_TRUE(has(process_stacks(-1), "does not exist"));
}

TEST(ProcessStacks, OfThisProcessAreItsOwn) {
  EXPECT_TRUE(has(process_stacks(::getpid()), "OfThisProcessAreItsOwn"));
}

// libunwind has functions of the same names: linked before libgcc it would unwind every exception of the program.
TEST(ProcessStacks, LeaveTheUnwindingOfExceptionsToLibgcc) {
  Dl_info info = {};
  ASSERT_NE(::dladdr(::dlsym(RTLD_DEFAULT, "_Unwind_Resume"), &info), 0);
  EXPECT_FALSE(has(info.dli_fname, "libunwind")) << info.dli_fname;
}

}  // namespace
}  // namespace linac::stacks
