#include "linac/control/execution/record/run_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/utf8.h"

namespace linac::execution {

std::string as_text(std::string bytes) {
  for (char& c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t' && c != '\r') || byte == 0x7f) c = ' ';
  }
  if (!valid_text(bytes))
    for (char& c : bytes)
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return bytes;
}

LogPiece read_log(const std::filesystem::path& file, int64_t from, int64_t bytes_max) {
  const Descriptor log(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat about {};
  if (!log || ::fstat(log.get(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  const int64_t size = about.st_size;
  LogPiece piece;
  piece.from = std::clamp<int64_t>(from < 0 ? size + from : from, 0, size);
  piece.bytes.resize(static_cast<size_t>(std::min(bytes_max, size - piece.from)));
  const ssize_t got = ::pread(log.get(), piece.bytes.data(), piece.bytes.size(), piece.from);
  piece.bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  piece.end = piece.from + static_cast<int64_t>(piece.bytes.size());
  return piece;
}

}  // namespace linac::execution
