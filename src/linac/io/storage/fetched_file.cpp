#include "linac/io/storage/fetched_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/file_bytes.h"
#include "linac/base/base/sole_lock.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/storage.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

std::string first_line(const Source& source) {
  const std::string version = source.is_ranged() ? source.version() : source.state().state();
  return nlohmann::json{{"url", net::without_secrets(source.url())}, {"version", version}, {"size", source.size()}}
             .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

/// Without following a link, waiting for a FIFO or touching what another process has.
Descriptor open_part(const fs::path& part) {
  Descriptor file(::open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    throw environment_error(fmt::format("[copy] {}: cannot be written ({}); check folder, permissions and space",
                                        part.string(), std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode))
    throw environment_error(fmt::format("[copy] {}: no regular file, and in the way; remove it", part.string()));
  if (!try_lock_alone(file.get())) {
    throw user_error(fmt::format("[copy] {}: another process is writing it; wait for it, or end it", part.string()));
  }
  return file;
}

}  // namespace

std::string state_of_file(const fs::path& path) {
  const Fingerprint state = quick_fingerprint(path);
  return fmt::format("{}:{}", state.size, state.mtime_ns);
}

int64_t FetchedFile::segments_of(int64_t bytes) {
  return std::max<int64_t>(1, (bytes + kSegmentBytes - 1) / kSegmentBytes);
}

FetchedFile::FetchedFile(std::shared_ptr<const Source> source, fs::path part)
    : source_(std::move(source)),
      part_(std::move(part)),
      journal_(part_.string() + ".journal"),
      said_(first_line(*source_)),
      file_(open_part(part_)),
      segments_(static_cast<size_t>(segments_of(source_->size()))) {
  if (!read_journal()) begin_journal();
  if (::ftruncate(file_.get(), source_->size()) != 0) fail("cannot be made as large as its source");
}

int64_t FetchedFile::bytes_of(int64_t segment) const {
  return std::min(kSegmentBytes, source_->size() - segment * kSegmentBytes);
}

void FetchedFile::fail(const char* what) const {
  throw environment_error(fmt::format("[copy] {}: {} ({}); the same command goes on when there is space and permission",
                                      part_.string(), what, std::strerror(errno)));
}

uint64_t FetchedFile::checksum_on_disk(int64_t segment, std::vector<std::byte>& room) const {
  room.resize(static_cast<size_t>(bytes_of(segment)));
  if (read_at(file_.get(), room, segment * kSegmentBytes)) return checksum(room);
  if (errno != 0) fail("cannot be read back");
  return 0;  // cut: as good as another content
}

bool FetchedFile::read_journal() {
  std::error_code none;
  if (!fs::is_regular_file(fs::symlink_status(journal_, none))) return false;
  std::istringstream lines(read_file(journal_));
  std::string line;
  if (!std::getline(lines, line) || line + "\n" != said_) return false;
  std::vector<std::byte> room;
  while (std::getline(lines, line)) {
    int64_t segment = -1;
    uint64_t sum = 0;
    std::istringstream words(line);
    if (!(words >> segment >> std::hex >> sum) || segment < 0 || segment >= static_cast<int64_t>(segments_.size()))
      continue;  // the last line of a process that was killed
    Segment& one = segments_[static_cast<size_t>(segment)];
    one = {checksum_on_disk(segment, room) == sum, sum};
  }
  journal_file_ = Descriptor(::open(journal_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  return static_cast<bool>(journal_file_);
}

void FetchedFile::begin_journal() {
  segments_.assign(segments_.size(), {});
  ::unlink(journal_.c_str());
  journal_file_ = Descriptor(::open(journal_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666));
  if (!journal_file_ || ::write(journal_file_.get(), said_.data(), said_.size()) != static_cast<ssize_t>(said_.size()))
    fail("its journal cannot be written");
}

int64_t FetchedFile::fetch(int64_t segment) {
  Segment& one = segments_.at(static_cast<size_t>(segment));
  if (one.there) return 0;
  std::vector<std::byte> bytes(static_cast<size_t>(bytes_of(segment)));
  if (!bytes.empty()) source_->read(segment * kSegmentBytes, bytes);
  if (!write_at(file_.get(), bytes, segment * kSegmentBytes)) fail("cannot be written");
  one = {true, checksum(bytes)};
  const std::string line = fmt::format("\n{} {:x}\n", segment, one.checksum);
  const std::scoped_lock lock(mutex_);
  if (::write(journal_file_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    fail("its journal cannot be written");
  return static_cast<int64_t>(bytes.size());
}

void FetchedFile::check() {
  source_->need_unchanged();
  if (::fsync(file_.get()) != 0) fail("cannot be brought onto the disk");
  std::vector<std::byte> room;
  for (size_t i = 0; i < segments_.size(); ++i) {
    LINAC_CHECK(segments_[i].there);
    if (checksum_on_disk(static_cast<int64_t>(i), room) == segments_[i].checksum) continue;
    remove();
    throw data_error(
        fmt::format("[copy] {}: reads back another content than it was given, from byte {} on (a failing disk?); it "
                    "has been removed: copy again",
                    part_.string(), static_cast<int64_t>(i) * kSegmentBytes));
  }
}

std::string FetchedFile::state() const {
  return state_of_file(part_);
}

void FetchedFile::rename_to(const fs::path& path) {
  if (!put_in_place(part_, path)) {
    throw environment_error(fmt::format("[copy] {}: cannot be put in its place ({}); check folder and permissions",
                                        path.string(), std::strerror(errno)));
  }
  ::unlink(journal_.c_str());
}

void FetchedFile::remove() {
  ::unlink(journal_.c_str());
  ::unlink(part_.c_str());
}

}  // namespace linac::storage
