#include "linac/data/shower_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <vector>

#include "linac/base/descriptor.h"
#include "linac/base/error.h"
#include "linac/base/log.h"
#include "linac/base/piece_of_work.h"
#include "linac/data/file_format.h"
#include "linac/data/inflated_stream.h"
#include "linac/net/http_client.h"
#include "linac/storage/cache.h"
#include "linac/storage/cached_copy.h"

namespace linac::data {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

storage::CachedCopy copy_of(const std::string& url) {
  std::error_code error;
  const std::string place = storage::is_remote(url) ? url : std::filesystem::weakly_canonical(url, error).string();
  return {storage::cache_folder(), "tables", "unpacked " + place, url};
}

/// Where the disk is full, other copies go.
void write_all(int file, std::span<const std::byte> bytes, const storage::CachedCopy& copy) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == ENOSPC &&
        storage::free_bytes(storage::cache_folder(), static_cast<int64_t>(64 * kPieceBytes)) > 0)
      continue;
    if (n <= 0) copy.fail_to_write();
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

std::filesystem::path unpacked(const std::shared_ptr<const storage::Source>& source) {
  storage::CachedCopy copy = copy_of(source->url());
  const std::string version =
      source->is_ranged() ? source->version() : fmt::format("{} {}", source->size(), source->state().mtime_ns);
  if (copy.known() && copy.known()->etag == version) return copy.file();
  log::info(fmt::format("[data] unpacking {} ({:.0f} MB) once", net::without_secrets(source->url()),
                        static_cast<double>(source->size()) / 1e6));
  const Descriptor part(::open(copy.part().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!part) copy.fail_to_write();
  const auto stream = unpacked_stream(source);
  std::vector<std::byte> room(kPieceBytes);
  storage::PieceSummer sums;
  while (const size_t got = stream->read(room)) {
    write_all(part.get(), std::span(room).first(got), copy);
    sums.add(std::span(room).first(got));
    piece_is_done();
  }
  source->need_unchanged();
  if (::fsync(part.get()) != 0) copy.fail_to_write();
  copy.put_in_place({.etag = version, .modified = {}, .size = sums.bytes()}, sums.finish());
  return copy.file();
}

}  // namespace

std::filesystem::path shower_copy(const std::string& url) {
  try {
    const auto source = storage::Source::open(url);
    const bool packed = format_of(*source) == FileFormat::kTfrecord && compression_of(*source) != Compression::kNone;
    return packed ? unpacked(source) : source->local();
  } catch (const storage::Unreachable&) {
    const storage::CachedCopy copy = copy_of(url);
    if (!copy.known()) return storage::fetch(url);
    log::warn(fmt::format("[data] {}: the server cannot be reached; what was unpacked before is used",
                          net::without_secrets(url)));
    return copy.file();
  }
}

}  // namespace linac::data
