#include "linac/train/workers/worker_error.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace linac::launch {
namespace {

constexpr size_t kMaxMessageBytes = 4096;

// The descriptor of LINAC_ERROR_FD, or -1. A stale variable may name a file of the user's: only a socket will do.
int error_descriptor() {
  const char* const text = std::getenv(kErrorFdVariable);
  if (text == nullptr) return -1;
  int descriptor = -1;
  const char* const end = text + std::strlen(text);
  const auto [stop, status] = std::from_chars(text, end, descriptor);
  struct stat about = {};
  const bool usable = status == std::errc{} && stop == end && descriptor > 2 && fstat(descriptor, &about) == 0 &&
                      S_ISSOCK(about.st_mode);
  return usable ? descriptor : -1;
}

}  // namespace

void report_worker_error(std::string_view what, int exit_code) noexcept {
  const int descriptor = error_descriptor();
  if (descriptor < 0) return;
  char message[kMaxMessageBytes];
  // The number first, so that even an empty text is a message.
  const auto number = std::to_chars(message, message + 16, exit_code);
  *number.ptr = '\n';
  const auto head = static_cast<size_t>(number.ptr + 1 - message);
  const size_t length = std::min(what.size(), kMaxMessageBytes - head);
  std::memcpy(message + head, what.data(), length);
  // Nobody may listen any more; the launcher also learns from the exit status, so failing to send is no matter.
  [[maybe_unused]] const auto sent = send(descriptor, message, head + length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void report_worker_error(const Error& error) noexcept {
  report_worker_error(error.what(), static_cast<int>(error.code()));
}

std::string received_worker_error(int descriptor) {
  char message[kMaxMessageBytes];
  const auto size = recv(descriptor, message, sizeof message, MSG_DONTWAIT);
  if (size <= 0) return "";
  const std::string text(message, static_cast<size_t>(size));
  return text.substr(text.find('\n') + 1);
}

}  // namespace linac::launch
