#pragma once
// Turns the bytes of one worker into whole lines "[rank 2] ..." and remembers the last of them. One thread.

#include <deque>
#include <string>
#include <string_view>

namespace linac::launch {

class LineRelay {
 public:
  static constexpr size_t kKeptLines = 50;
  static constexpr size_t kMaxLineBytes = 8192;  // longer lines are cut into pieces of this size

  explicit LineRelay(std::string prefix) : prefix_(std::move(prefix)) {}

  /// The prefixed lines that `bytes` completes, each with its newline; the rest waits for more bytes.
  std::string feed(std::string_view bytes);
  /// What waited, as a line of its own: for the end of the worker.
  std::string finish();
  /// The last lines without prefix, oldest first.
  const std::deque<std::string>& kept() const { return kept_; }

 private:
  std::string take_line(std::string_view line);

  std::string prefix_;
  std::string partial_;
  std::deque<std::string> kept_;
};

}  // namespace linac::launch
