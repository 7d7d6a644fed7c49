#include "linac/io/storage/s3/download.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/file_bytes.h"
#include "linac/base/base/log.h"
#include "linac/io/storage/cache.h"
#include "linac/io/storage/cached_copy.h"
#include "linac/io/storage/neighbours/range_share.h"
#include "linac/io/storage/storage.h"

namespace linac::storage::s3 {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRangeBytes = kSummedBytes;  // so that each range has its checksum
constexpr int64_t kSideBySideMax = 4;
constexpr int kChangesMax = 3;  // so often an object may be replaced while it is fetched

/// Room for the whole object before its first byte comes; where the disk is full, other copies go.
void reserve(const CachedCopy& copy, int file, int64_t size, const fs::path& root) {
  if (size == 0) return;
  try {
    make_room(root, cache_bytes_max(), size);
  } catch (const Error& error) {
    log::warn(fmt::format("[storage] {}: {}", root.string(), error.what()));
  }
  int failed = ::posix_fallocate(file, 0, size);
  if (failed == ENOSPC && free_bytes(root, size) > 0) failed = ::posix_fallocate(file, 0, size);
  if (failed == ENOSPC || failed == EFBIG) copy.fail_to_write();  // others are of file systems that cannot reserve
}

/// Fills the file and returns its checksums; the first error of any of the threads is thrown when all have ended.
PieceSums fetch_ranges(const CachedCopy& copy, int file, const Access& access, const Address& address,
                       const ObjectState& state, const Patience& patience) {
  const int64_t ranges = (state.size + kRangeBytes - 1) / kRangeBytes;
  PieceSums sums(static_cast<size_t>(ranges));
  std::atomic<int64_t> next = 0;
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&] {
    try {
      ObjectReader reader(access, address, state, patience);
      std::vector<std::byte> room;
      for (int64_t range = next++; range < ranges; range = next++) {
        room.resize(static_cast<size_t>(std::min(kRangeBytes, state.size - range * kRangeBytes)));
        const int64_t offset = range * kRangeBytes;
        read_shared({address.url(), reader.version(), state.size, offset, std::ssize(room)}, room,
                    [&](std::span<std::byte> bytes) { reader.read(offset, bytes); });
        if (!write_at(file, room, offset)) copy.fail_to_write();
        sums[static_cast<size_t>(range)] = checksum(room);
      }
    } catch (...) {
      const std::scoped_lock lock(mutex);
      if (!error) error = std::current_exception();
      next = ranges;
    }
  };
  std::vector<std::jthread> others;
  for (int64_t i = 1; i < std::min(ranges, kSideBySideMax); ++i) others.emplace_back(work);
  work();
  others.clear();
  if (error) std::rethrow_exception(error);
  return sums;
}

}  // namespace

fs::path download(const Access& access, const Address& address, const fs::path& root, const Patience& patience) {
  Session session(access, patience);
  CachedCopy copy(root, "s3", access.endpoint + " " + address.url(), address.url());
  for (int changes = 0;; ++changes) {
    std::optional<ObjectState> found;
    try {
      found = look(session, address);
    } catch (const Unreachable& error) {
      if (!copy.known()) throw;
      log::warn(fmt::format("[s3] {}: the server cannot be reached; the cached copy is used", address.url()));
      return copy.file();
    }
    const Validators said{found->etag, found->modified, found->size};
    if (copy.known() && names_version(said) && same_content(*copy.known(), said)) return copy.file();
    const Descriptor part(::open(copy.part().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!part) copy.fail_to_write();
    PieceSums sums;
    try {
      reserve(copy, part.get(), found->size, root);
      sums = fetch_ranges(copy, part.get(), access, address, *found, patience);
    } catch (const Changed& error) {
      if (changes == kChangesMax) throw;
      log::warn(fmt::format("[s3] {}: changed while it was fetched; from its beginning", address.url()));
      continue;
    }
    if (::ftruncate(part.get(), found->size) != 0 || ::fsync(part.get()) != 0) copy.fail_to_write();
    copy.put_in_place(said, sums);
    return copy.file();
  }
}

}  // namespace linac::storage::s3
