#pragma once
// The log of a queued run: what its attempts have printed, one after the other in one file. Thread-safe.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace linac::execution {

/// Whatever a program printed as text: UTF-8, without control characters but those of lines.
std::string as_text(std::string bytes);

struct LogPiece {
  std::string bytes;
  int64_t from = 0, end = 0;  // bytes of the file; `end` is where the next piece begins
};
/// At most `bytes_max` from byte `from` on; a negative `from` counts from the end. Empty if there is no log yet.
LogPiece read_log(const std::filesystem::path& file, int64_t from, int64_t bytes_max);

}  // namespace linac::execution
