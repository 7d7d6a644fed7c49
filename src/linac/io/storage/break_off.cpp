#include "linac/io/storage/break_off.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "linac/base/base/error.h"

namespace linac::storage {
namespace {

constexpr std::chrono::milliseconds kLook{100};

std::atomic<bool (*)()> asked_to_stop = nullptr;

}  // namespace

void break_off_when(bool (*asked)()) {
  asked_to_stop = asked;
}

bool need_to_go_on() {
  bool (*const asked)() = asked_to_stop;
  if (asked != nullptr && asked()) throw Error(ErrorCode::kPreempted, "[storage] stopped by a signal; run it again");
  return true;
}

void wait_for_store(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  for (;;) {
    need_to_go_on();
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= left.zero()) return;
    std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(left, kLook));
  }
}

}  // namespace linac::storage
