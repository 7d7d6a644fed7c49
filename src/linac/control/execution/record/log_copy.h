#pragma once
// What an attempt prints where its processes do not write the run's log themselves, copied to that log as it comes. A
// run's attempts print one after the other into the same file; where this one's part begins is kept in the attempt's
// folder, so the copy goes on after a restart where it was. One thread.

#include <cstdint>
#include <filesystem>
#include <string>

namespace linac::execution {

class LogCopy {
 public:
  LogCopy(std::filesystem::path log, std::filesystem::path attempt)
      : log_(std::move(log)), begin_file_(std::move(attempt) / "log-begin") {}

  /// How many bytes of the attempt's output are in the log.
  int64_t copied() const;
  /// Adds the bytes that come next. Environment error if they cannot be written.
  void append(const std::string& bytes);

 private:
  const std::filesystem::path log_, begin_file_;
};

}  // namespace linac::execution
