#include "linac/train/workers/line_relay.h"

#include <algorithm>

namespace linac::launch {

std::string LineRelay::feed(std::string_view bytes) {
  std::string lines;
  while (!bytes.empty()) {
    const size_t newline = bytes.find('\n');
    const size_t room = kMaxLineBytes - partial_.size();
    const size_t taken = std::min({newline, room, bytes.size()});
    partial_ += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    const bool complete = taken == newline;
    if (complete) bytes.remove_prefix(1);
    if (complete || partial_.size() == kMaxLineBytes) {
      lines += take_line(partial_);
      partial_.clear();
    }
  }
  return lines;
}

std::string LineRelay::finish() {
  std::string lines;
  if (!partial_.empty()) lines = take_line(partial_);
  partial_.clear();
  return lines;
}

std::string LineRelay::take_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  kept_.emplace_back(line);
  if (kept_.size() > kKeptLines) kept_.pop_front();
  // A line of the worker's own log carries the tag already.
  const bool tagged = line.find(prefix_.substr(0, prefix_.find_last_not_of(' ') + 1)) != std::string_view::npos;
  return (tagged ? "" : prefix_) + std::string(line) + "\n";
}

}  // namespace linac::launch
