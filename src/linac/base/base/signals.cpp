#include "linac/base/base/signals.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <string_view>

#include "linac/base/base/error.h"

namespace linac {
namespace {

constexpr std::array kStopSignals{SIGINT, SIGTERM, SIGUSR1};
constexpr std::string_view kNothingToSave =
    "linac: stopped by a signal while there was nothing to save; the same command begins anew\n";

std::atomic<int> requested{0};
static_assert(std::atomic<int>::is_always_lock_free);

// A terminal and a launcher may both pass on the same Ctrl-C: a second one within this time is no second one.
constexpr int64_t kSameRequest_ms = 500;
std::atomic<int64_t> requested_ms{0};

int64_t now_ms() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

void on_signal(int signal) {
  int none = 0;
  if (requested.compare_exchange_strong(none, signal)) {
    requested_ms = now_ms();
  } else if (signal == SIGINT && now_ms() - requested_ms > kSameRequest_ms) {
    _exit(128 + SIGINT);
  }
}

void end_at_once(int) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kNothingToSave.data(), kNothingToSave.size());
  ::_exit(static_cast<int>(ErrorCode::kPreempted));
}

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kStopSignals) sigaddset(&set, signal);
  return set;
}

}  // namespace

void release_stop_signals() {
  const sigset_t set = stop_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

namespace {

void handle_with(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int signal : kStopSignals) sigaction(signal, &action, nullptr);
  release_stop_signals();
}

}  // namespace

HeldStopSignals::HeldStopSignals() {
  const sigset_t set = stop_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, &former_);
}

HeldStopSignals::~HeldStopSignals() {
  ::pthread_sigmask(SIG_SETMASK, &former_, nullptr);
}

void end_at_stop_signals() {
  handle_with(end_at_once);
}

void catch_stop_signals() {
  handle_with(on_signal);
}

int stop_signal() {
  return requested.load();
}

}  // namespace linac
