#include "linac/base/base/signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace linac {
namespace {

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

}  // namespace

void catch_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaction(signal, &action, nullptr);
}

int stop_signal() {
  return requested.load();
}

}  // namespace linac
