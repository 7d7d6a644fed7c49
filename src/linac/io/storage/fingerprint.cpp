#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/io/storage/cache.h"
#include "linac/io/storage/storage.h"

namespace linac::storage {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;
constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;

[[noreturn]] void fail(const std::filesystem::path& path) {
  throw environment_error(fmt::format("[storage] {}: cannot be read ({}); check that it is still there and readable",
                                      path.string(), std::strerror(errno)));
}

std::string hex(const XXH128_hash_t& hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

Fingerprint quick_fingerprint(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) fail(path);
  const auto ns = [](const timespec& time) {
    return static_cast<int64_t>(time.tv_sec) * kNanosecondsPerSecond + time.tv_nsec;
  };
  return {.size = static_cast<int64_t>(status.st_size),
          .mtime_ns = ns(status.st_mtim),
          .inode = static_cast<uint64_t>(status.st_ino),
          .ctime_ns = lies_in_cache(path) ? 0 : ns(status.st_ctim)};
}

bool Fingerprint::is_state_of(const Fingerprint& other) const {
  return size == other.size && mtime_ns == other.mtime_ns && inode == other.inode && ctime_ns == other.ctime_ns;
}

std::string Fingerprint::state() const {
  return fmt::format("{}:{}:{}:{}", size, mtime_ns, inode, ctime_ns);
}

bool is_still(const std::filesystem::path& path, const std::string& content, Fingerprint& known) {
  const Fingerprint now = quick_fingerprint(path);
  if (now.is_state_of(known)) return true;
  if (now.size != known.size || now.mtime_ns != known.mtime_ns || fingerprint(path).content != content) return false;
  known = now;
  return true;
}

Fingerprint fingerprint(const std::filesystem::path& path) {
  Fingerprint result = quick_fingerprint(path);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(path);
  const std::unique_ptr<const int, void (*)(const int*)> closer(&descriptor, [](const int* fd) { ::close(*fd); });
  ContentHash hash;
  std::vector<std::byte> buffer(kReadBytes);
  for (;;) {
    const ssize_t size = ::read(descriptor, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) fail(path);
    if (size == 0) break;
    hash.add(std::span(buffer).first(static_cast<size_t>(size)));
    piece_is_done();
  }
  result.content = hash.text();
  return result;
}

ContentHash::ContentHash()
    : state_(XXH3_createState(), [](void* state) { XXH3_freeState(static_cast<XXH3_state_t*>(state)); }) {
  LINAC_CHECK(state_ && XXH3_128bits_reset(static_cast<XXH3_state_t*>(state_.get())) == XXH_OK);
}

void ContentHash::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state_.get()), bytes.data(), bytes.size());
}

std::string ContentHash::text() const {
  return hex(XXH3_128bits_digest(static_cast<const XXH3_state_t*>(state_.get())));
}

std::string content_hash(std::string_view text) {
  return hex(XXH3_128bits(text.data(), text.size()));
}

uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace linac::storage
