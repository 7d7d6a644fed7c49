#include "linac/io/storage/neighbours/range_spill.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "linac/base/base/file_bytes.h"
#include "linac/base/base/log.h"
#include "linac/io/storage/storage.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

// What stays free of the disk for others: a twentieth, and no more than this of a large one.
constexpr int64_t kFreeShare = 20;
constexpr int64_t kFreeMax = int64_t{2} << 30;

// Without a name: whoever is killed leaves nothing behind.
Descriptor nameless_file(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  std::string name = (folder / ".ranges-XXXXXX").string();
  Descriptor file(mkostemp(name.data(), O_CLOEXEC));
  if (file) unlink(name.c_str());
  return file;
}

}  // namespace

RangeSpill::RangeSpill(fs::path folder, int64_t bytes_max) : folder_(std::move(folder)), bytes_max_(bytes_max) {}

bool RangeSpill::is_room_for(int64_t bytes) {
  if (failed_ || bytes > bytes_max_ - end_) return false;
  if (!file_) {
    file_ = nameless_file(folder_);
    failed_ = !file_;
    if (failed_) return false;
  }
  struct statvfs disk {};
  if (fstatvfs(file_.get(), &disk) != 0) return false;
  const auto free = static_cast<int64_t>(disk.f_bavail * disk.f_frsize);
  const auto all = static_cast<int64_t>(disk.f_blocks * disk.f_frsize);
  return free - bytes > std::min(all / kFreeShare, kFreeMax);
}

void RangeSpill::add(const FileRange& range, std::span<const std::byte> content, uint64_t checksum) {
  int64_t offset = 0;
  int file = -1;
  {
    const std::scoped_lock lock(mutex_);
    if (places_.contains(range) || !is_room_for(std::ssize(content))) return;
    offset = std::exchange(end_, end_ + std::ssize(content));
    file = file_.get();
  }
  const bool written = write_at(file, content, offset);
  const std::scoped_lock lock(mutex_);
  if (written) {
    places_[range] = {offset, checksum};
  } else if (!std::exchange(failed_, true)) {
    log::debug(fmt::format("[storage] {}: no more is kept there for other workers ({})", folder_.string(),
                           std::strerror(errno)));
  }
}

std::optional<uint64_t> RangeSpill::read(const FileRange& range, std::span<std::byte> content) {
  Place place;
  int file = -1;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = places_.find(range);
    if (found == places_.end()) return std::nullopt;
    place = found->second;
    file = file_.get();
  }
  if (read_at(file, content, place.offset) && checksum(content) == place.checksum) return place.checksum;
  const std::scoped_lock lock(mutex_);
  places_.erase(range);
  if (!std::exchange(failed_, true))
    log::warn(
        fmt::format("[storage] {}: bytes that are kept there for other workers are damaged: the store is asked "
                    "again, and no more is kept there; look at the disk of this host",
                    folder_.string()));
  return std::nullopt;
}

void RangeSpill::clear() {
  const std::scoped_lock lock(mutex_);
  places_.clear();
  end_ = 0;
  if (file_) [[maybe_unused]]
    const int cut = ftruncate(file_.get(), 0);
}

}  // namespace linac::storage
