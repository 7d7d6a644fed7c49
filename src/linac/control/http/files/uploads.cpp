#include "linac/control/http/files/uploads.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/clock.h"
#include "linac/base/base/error.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/safe_path.h"
#include "linac/base/base/secure_random.h"

namespace linac::http {
namespace {

namespace fs = std::filesystem;

constexpr size_t kIdDigits = 32;

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

Uploads::Uploads(fs::path folder, UploadLimits limits) : folder_(std::move(folder)), limits_(limits) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) fs::remove_all(entry.path(), ignored);
}

Uploads::Map::const_iterator Uploads::found(const std::string& id) const {
  const auto at = uploads_.find(id);
  if (at == uploads_.end() || at->second.completing)
    throw Refusal(RefusalKind::kNotFound,
                  "[files] no such upload; it may have been completed, aborted or forgotten after a while");
  return at;
}

Uploads::Map::iterator Uploads::found(const std::string& id) {
  return uploads_.find(std::as_const(*this).found(id)->first);
}

int64_t Uploads::bytes_of(const std::string& user) const {
  int64_t bytes = 0;
  for (const auto& [id, upload] : uploads_) {
    if (upload.user != user) continue;
    bytes += upload.expected;
    for (const auto& [number, size] : upload.bytes) bytes += size;
  }
  return bytes;
}

std::string Uploads::begin(const std::string& user, const std::string& target, int64_t parts,
                           const std::string& token_hash) {
  if (parts < 1 || parts > kPartsMax)
    throw Refusal(RefusalKind::kInvalid, fmt::format("[files] 'num_parts' is {} (wanted: 1 to {})", parts, kPartsMax));
  Upload upload{.user = user, .target = harmless_path(target), .token_hash = token_hash, .parts = parts};
  upload.begun_ms = upload.last_ms = now_ms();
  const std::string id = random_hex(kIdDigits);
  {
    const std::lock_guard lock(mutex_);
    const auto his =
        std::count_if(uploads_.begin(), uploads_.end(), [&](const auto& item) { return item.second.user == user; });
    if (static_cast<size_t>(his) >= limits_.uploads_max)
      throw Refusal(RefusalKind::kLimit,
                    fmt::format("[files] '{}' has {} unfinished uploads (at most {}); complete or abort some, or wait: "
                                "they are forgotten {} minutes after their last part",
                                user, his, limits_.uploads_max, limits_.quiet_ms_max / 60'000));
    uploads_.emplace(id, std::move(upload));
  }
  try {
    make_folder(folder_of(id));
  } catch (...) {
    remove(id);
    throw;
  }
  return id;
}

std::string Uploads::owner(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return found(id)->second.user;
}

std::string Uploads::token_hash(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return found(id)->second.token_hash;
}

std::shared_ptr<void> Uploads::expect(const std::string& id, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  Upload& upload = found(id)->second;
  const int64_t before = bytes_of(upload.user);
  if (bytes < 0 || bytes > limits_.bytes_max - before)
    throw Refusal(
        RefusalKind::kLimit,
        fmt::format("[files] the unfinished uploads of '{}' have {} bytes (at most {}); complete or abort some",
                    upload.user, before, limits_.bytes_max));
  upload.expected += bytes;
  return {nullptr, [this, id, bytes](void*) {
            const std::lock_guard relock(mutex_);
            if (const auto at = uploads_.find(id); at != uploads_.end()) at->second.expected -= bytes;
          }};
}

std::string Uploads::put_part(const std::string& id, int64_t number, const fs::path& file) {
  const auto bytes = static_cast<int64_t>(fs::file_size(file));
  const std::lock_guard lock(mutex_);
  Upload& upload = found(id)->second;
  if (number < 1 || number > upload.parts)
    throw Refusal(RefusalKind::kInvalid, fmt::format("[files] part {} (wanted: 1 to {})", number, upload.parts));
  std::error_code error;
  fs::rename(file, folder_of(id) / std::to_string(number), error);
  if (error) throw environment_error(fmt::format("[files] a part cannot be written ({})", error.message()));
  upload.bytes[number] = bytes;
  upload.last_ms = now_ms();
  return fmt::format("\"{}-{}\"", number, bytes);
}

void Uploads::complete(const fs::path& artifacts, const std::string& id, const std::string& target,
                       const std::vector<int64_t>& parts) {
  const fs::path folder = folder_of(id);
  {
    const std::lock_guard lock(mutex_);
    Upload& upload = found(id)->second;
    if (upload.target != harmless_path(target))
      throw Refusal(RefusalKind::kInvalid, "[files] the upload was begun for another path");
    if (parts.empty() || parts.size() > static_cast<size_t>(upload.parts))
      throw Refusal(RefusalKind::kInvalid,
                    fmt::format("[files] {} parts (wanted: 1 to {})", parts.size(), upload.parts));
    if (std::set<int64_t>(parts.begin(), parts.end()).size() != parts.size())  // a file may not grow on the way
      throw Refusal(RefusalKind::kInvalid, "[files] a part is named twice; name each once");
    upload.completing = true;  // nobody else adds to it, or takes it away
  }
  const fs::path whole = folder / "whole";
  try {
    {
      const Descriptor file(::open(whole.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0640));
      if (!file)
        throw environment_error(fmt::format("[files] the parts cannot be put together ({})", std::strerror(errno)));
      for (const int64_t part : parts) {
        const fs::path piece = folder / std::to_string(part);
        append(file.get(), piece);
      }
    }
    place_below(artifacts, target, whole);
  } catch (...) {
    std::error_code ignored;
    fs::remove(whole, ignored);
    const std::lock_guard lock(mutex_);
    if (const auto at = uploads_.find(id); at != uploads_.end()) at->second.completing = false;
    throw;
  }
  remove(id);
}

void Uploads::abort(const std::string& id) {
  {
    const std::lock_guard lock(mutex_);
    found(id)->second.completing = true;
  }
  remove(id);
}

void Uploads::remove(const std::string& id) {
  std::error_code ignored;
  fs::remove_all(folder_of(id), ignored);
  const std::lock_guard lock(mutex_);
  uploads_.erase(id);
}

void Uploads::sweep() {
  std::vector<std::string> over;
  {
    const std::lock_guard lock(mutex_);
    const int64_t now = now_ms();
    for (auto& [id, upload] : uploads_) {
      if (upload.completing) continue;
      if (now - upload.last_ms <= limits_.quiet_ms_max && now - upload.begun_ms <= limits_.lifetime_ms_max) continue;
      upload.completing = true;
      over.push_back(id);
    }
  }
  for (const std::string& id : over) remove(id);
}

}  // namespace linac::http
