#include "linac/base/signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace linac {
namespace {

std::atomic<int> requested{0};
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int signal) {
  int none = 0;
  const bool first = requested.compare_exchange_strong(none, signal);
  if (!first && signal == SIGINT) _exit(128 + SIGINT);
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
