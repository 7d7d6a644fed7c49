#include "linac/http/files/multipart.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"
#include "linac/base/refusal.h"
#include "linac/base/safe_path.h"
#include "linac/base/secure_random.h"

namespace linac::http {
namespace {

namespace fs = std::filesystem;

constexpr size_t kIdDigits = 32;
constexpr const char* kTarget = "target";

fs::path folder_of(const fs::path& uploads, const std::string& id) {
  const bool hexadecimal = id.size() == kIdDigits && std::all_of(id.begin(), id.end(), [](char c) {
                             return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                           });
  if (!hexadecimal || !fs::is_directory(uploads / ("parts-" + id)))
    throw Refusal(RefusalKind::kNotFound, "[files] no such upload; it may have been completed or aborted");
  return uploads / ("parts-" + id);
}

void append(int to, const fs::path& part) {
  const Descriptor from(::open(part.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat about {};
  if (!from || ::fstat(from.get(), &about) != 0)
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[files] part {} of the upload is missing; send it first", part.filename().string()));
  for (off_t done = 0; done < about.st_size;) {
    const ssize_t sent = ::sendfile(to, from.get(), &done, static_cast<size_t>(about.st_size - done));
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0)
      throw environment_error(fmt::format("[files] the parts cannot be put together ({})", std::strerror(errno)));
  }
}

}  // namespace

std::string begin_multipart(const fs::path& uploads, const std::string& target, int64_t parts) {
  if (parts < 1 || parts > kPartsMax)
    throw Refusal(RefusalKind::kInvalid, fmt::format("[files] 'num_parts' is {} (wanted: 1 to {})", parts, kPartsMax));
  const std::string path = harmless_path(target), id = random_hex(kIdDigits);
  make_folder(uploads / ("parts-" + id));
  write_file_atomically(uploads / ("parts-" + id) / kTarget, path);
  return id;
}

std::string put_part(const fs::path& uploads, const std::string& id, int64_t number, const fs::path& file) {
  const fs::path folder = folder_of(uploads, id);
  if (number < 1 || number > kPartsMax)
    throw Refusal(RefusalKind::kInvalid, fmt::format("[files] part {} (wanted: 1 to {})", number, kPartsMax));
  const auto bytes = fs::file_size(file);
  std::error_code error;
  fs::rename(file, folder / std::to_string(number), error);
  if (error) throw environment_error(fmt::format("[files] a part cannot be written ({})", error.message()));
  return fmt::format("\"{}-{}\"", number, bytes);
}

void complete_multipart(const fs::path& uploads, const fs::path& artifacts, const std::string& id,
                        const std::string& target, const std::vector<int64_t>& parts) {
  const fs::path folder = folder_of(uploads, id);
  if (read_file(folder / kTarget) != harmless_path(target))
    throw Refusal(RefusalKind::kInvalid, "[files] the upload was begun for another path");
  if (parts.empty() || parts.size() > static_cast<size_t>(kPartsMax))
    throw Refusal(RefusalKind::kInvalid, fmt::format("[files] {} parts (wanted: 1 to {})", parts.size(), kPartsMax));
  const fs::path whole = folder / "whole";
  {
    const Descriptor file(::open(whole.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0640));
    if (!file)
      throw environment_error(fmt::format("[files] the parts cannot be put together ({})", std::strerror(errno)));
    for (const int64_t part : parts) append(file.get(), folder / std::to_string(part));
  }
  place_below(artifacts, target, whole);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

void abort_multipart(const fs::path& uploads, const std::string& id) {
  std::error_code ignored;
  fs::remove_all(folder_of(uploads, id), ignored);
}

void clear_uploads(const fs::path& uploads) {
  const auto day_ago = fs::file_time_type::clock::now() - std::chrono::hours(24);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(uploads, ignored))
    if (!entry.is_directory(ignored) || entry.last_write_time(ignored) < day_ago) fs::remove_all(entry.path(), ignored);
}

}  // namespace linac::http
