#include "linac/io/data/cache/cache_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/thread_pool.h"
#include "linac/io/data/cache/pack_check.h"
#include "linac/io/data/cache/scan.h"
#include "linac/io/data/formats/tfrecord.h"
#include "linac/io/storage/copy_note.h"
#include "linac/io/storage/storage.h"

namespace linac::data {
namespace {

namespace fs = std::filesystem;
using storage::Cached;
using storage::CacheKind;
using Read = std::function<void(int64_t bytes)>;

struct Stop {};

/// Looking at a copy is no use of it.
class KeepsAccessTime {
 public:
  explicit KeepsAccessTime(fs::path file) : file_(std::move(file)), known_(::stat(file_.c_str(), &status_) == 0) {}
  ~KeepsAccessTime() {
    const timespec times[2] = {status_.st_atim, {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
    if (known_) ::utimensat(AT_FDCWD, file_.c_str(), times, 0);
  }
  KeepsAccessTime(const KeepsAccessTime&) = delete;
  KeepsAccessTime& operator=(const KeepsAccessTime&) = delete;

 private:
  const fs::path file_;
  struct stat status_ {};
  const bool known_;
};

void read_all(const fs::path& path, const Read& read, storage::PieceSummer& sums) {
  constexpr uint64_t kReadBytes = uint64_t{1} << 20;
  const FileSource file(path);
  std::vector<std::byte> room;
  for (uint64_t at = 0; at < file.size(); at += room.size()) {
    room.resize(std::min(kReadBytes, file.size() - at));
    file.read(at, room);
    sums.add(room);
    read(static_cast<int64_t>(room.size()));
  }
}

struct Verdict {
  CopyState state;
  std::string what{};
};

Verdict verdict_of(std::string damage) {
  if (damage.empty()) return {CopyState::kSound};
  return {CopyState::kDamaged, std::move(damage)};
}

/// Of a copy with a note.
Verdict noted(const Cached& copy, const Read& read) {
  const auto note = storage::read_note(copy.file);
  storage::PieceSummer summer;
  read_all(copy.file, read, summer);
  if (!note) return {CopyState::kUnchecked};
  if (note->said.size != copy.bytes) {
    return {CopyState::kDamaged, fmt::format("has {}, its note says {}", plural(copy.bytes, "byte"), note->said.size)};
  }
  if (!note->sums) return {CopyState::kUnchecked};
  const storage::PieceSums sums = summer.finish();
  const auto [here, there] = std::ranges::mismatch(sums, *note->sums);
  if (here == sums.end() && there == note->sums->end()) return {CopyState::kSound};
  const int64_t begin = (here - sums.begin()) * storage::kSummedBytes;
  return {CopyState::kDamaged, fmt::format("does not match its checksum between byte {} and {}", begin,
                                           std::min(begin + storage::kSummedBytes, copy.bytes))};
}

Verdict verdict_of(const Cached& copy, const Read& read) {
  switch (copy.kind) {
    case CacheKind::kTable:
      return verdict_of(damage_of_pack(copy.file, read));
    case CacheKind::kScan: {
      read(copy.bytes);
      return verdict_of(is_sound_scan(copy.file) ? "" : "does not match its checksum");
    }
    case CacheKind::kCopyNote: {
      read(copy.bytes);
      return verdict_of(nlohmann::json::accept(read_file(copy.file)) ? "" : "is no JSON");
    }
    case CacheKind::kPart: {
      storage::PieceSummer none;
      read_all(copy.file, read, none);
      return {CopyState::kUnchecked};
    }
    default:
      return noted(copy, read);
  }
}

CheckedCopy check(const fs::path& root, const Cached& copy, const CacheCheckOptions& options, const Read& read) {
  CheckedCopy row{.copy = copy};
  try {
    const KeepsAccessTime same_time(copy.file);
    Verdict verdict = verdict_of(copy, read);
    row.state = verdict.state;
    row.what = std::move(verdict.what);
  } catch (const Stop&) {
    return row;
  } catch (const Error& error) {
    row.state = CopyState::kUnread;
    row.what = error.what();
  }
  const bool bad = row.state == CopyState::kDamaged || row.state == CopyState::kUnread;
  if (bad && !storage::is_as_found(copy)) row.state = CopyState::kGone;
  if (row.state == CopyState::kDamaged && !options.keep)
    row.removed = !storage::remove_cached(root, {copy}).removed.empty();
  return row;
}

}  // namespace

const char* to_string(CopyState state) {
  switch (state) {
    case CopyState::kSound:
      return "sound";
    case CopyState::kUnchecked:
      return "without a checksum";
    case CopyState::kDamaged:
      return "damaged";
    case CopyState::kGone:
      return "gone meanwhile";
    case CopyState::kUnread:
      return "not readable";
    case CopyState::kStopped:
      return "not looked at";
  }
  return "";
}

std::vector<Cached> described_cache(const fs::path& root) {
  std::vector<Cached> contents = storage::cache_contents(root);
  for (Cached& copy : contents) {
    const KeepsAccessTime same_time(copy.file);
    if (copy.kind == CacheKind::kTable) copy.source = original_of_pack(copy.file);
    if (copy.kind == CacheKind::kScan) copy.source = original_of_scan(copy.file);
  }
  return contents;
}

std::vector<CheckedCopy> check_cache(const fs::path& root, const std::vector<Cached>& copies,
                                     const CacheCheckOptions& options) {
  int64_t all = 0;
  for (const Cached& copy : copies) all += copy.bytes;
  std::atomic<int64_t> done = 0;
  const auto stopped = [&] { return options.stop && options.stop(); };
  const Read read = [&](int64_t bytes) {
    if (stopped()) throw Stop{};
    done += bytes;
    if (options.progress) options.progress(done, all);
  };
  std::vector<CheckedCopy> rows(copies.size());
  ThreadPool pool(std::max(1, options.jobs));
  pool.run(static_cast<int>(copies.size()), [&](int i) {
    const auto place = static_cast<size_t>(i);
    rows[place].copy = copies[place];
    if (!stopped()) rows[place] = check(root, copies[place], options, read);
  });
  return rows;
}

}  // namespace linac::data
