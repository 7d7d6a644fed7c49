#include "linac/cli/data/batch_link.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <numeric>
#include <string_view>
#include <thread>
#include <vector>

#include "linac/base/base/error.h"

namespace linac::cli {
namespace {

void write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      throw environment_error(
          fmt::format("[batches] nobody takes the batches ({}); start this verb by linac.loader of the Python package",
                      std::strerror(errno)));
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

struct BatchLink::Free {
  std::mutex mutex;
  std::condition_variable some;
  std::vector<int> slots;
  std::vector<bool> is_free;

  void listen() {
    for (std::array<unsigned char, 64> told{};;) {
      const ssize_t count = ::read(STDIN_FILENO, told.data(), told.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) _exit(0);
      const std::scoped_lock lock(mutex);
      for (ssize_t i = 0; i < count; ++i) {
        const size_t slot = told[static_cast<size_t>(i)];
        if (slot >= is_free.size() || is_free[slot]) continue;  // not from linac.loader
        is_free[slot] = true;
        slots.push_back(static_cast<int>(slot));
      }
      some.notify_one();
    }
  }
};

BatchLink::BatchLink(int slots) : free_(std::make_shared<Free>()) {
  free_->slots.resize(static_cast<size_t>(slots));
  std::iota(free_->slots.begin(), free_->slots.end(), 0);
  free_->is_free.assign(static_cast<size_t>(slots), true);
  std::thread([free = free_] { free->listen(); }).detach();
}

void BatchLink::begin(const std::string& header) const {
  write_all(header + "\n");
}

int BatchLink::take_slot() {
  std::unique_lock lock(free_->mutex);
  free_->some.wait(lock, [this] { return !free_->slots.empty(); });
  const int slot = free_->slots.back();
  free_->slots.pop_back();
  free_->is_free[static_cast<size_t>(slot)] = false;
  return slot;
}

void BatchLink::give(uint32_t epoch, uint32_t step, int slot) const {
  const std::array<uint32_t, 4> message{epoch, step, static_cast<uint32_t>(slot), 0};
  write_all({reinterpret_cast<const char*>(message.data()), sizeof(message)});
}

}  // namespace linac::cli
