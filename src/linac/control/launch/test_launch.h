#pragma once
// For tests of attempts: a folder, a launcher with the supervisor alone as its program, shells as commands. Every wait
// is bounded.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/control/launch/attempt_folder.h"
#include "linac/control/launch/local_launcher.h"

namespace linac::launch {

using namespace std::chrono_literals;

inline bool within(std::chrono::milliseconds limit, const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

class Launch : public testing::Test {
 protected:
  Command shell(const std::string& script) const {
    Command command;
    command.argv = {"/bin/sh", "-c", script};
    command.directory = folder_.path().string();
    command.log = (folder_ / "log.txt").string();
    command.stop_grace_s = 1;
    return command;
  }
  std::filesystem::path attempt() const { return folder_ / "attempt"; }
  AttemptKey key() const { return {"attempt", attempt()}; }
  void start(const Command& command, const Demand& demand = {}) {
    launcher_.prepare(key(), demand);
    launcher_.start(key(), command);
  }
  std::string log() const {
    const auto path = folder_ / "log.txt";
    return std::filesystem::exists(path) ? read_file(path) : "";
  }
  AttemptState state() { return launcher_.status(key()).state; }
  bool ended_within(std::chrono::milliseconds limit) {
    return within(limit, [&] { return state() == AttemptState::kEnded || state() == AttemptState::kLost; });
  }
  pid_t supervisor_pid() {
    EXPECT_TRUE(within(10s, [&] { return AttemptFolder(attempt()).process().has_value(); }));
    return AttemptFolder(attempt()).supervisor()->pid;
  }

  TemporaryFolder folder_;
  LocalLauncher launcher_{{LINAC_TEST_SUPERVISOR}, Slots({0, 1}, 4096, {}), ControlGroups::of_host()};
};

}  // namespace linac::launch
