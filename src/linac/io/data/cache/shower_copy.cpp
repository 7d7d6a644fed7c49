#include "linac/io/data/cache/shower_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <span>
#include <vector>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/io/data/cache/packed_showers.h"
#include "linac/io/data/formats/inflated_stream.h"
#include "linac/io/data/formats/record_stream.h"
#include "linac/io/data/formats/shower_record.h"
#include "linac/io/data/formats/table.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/cache.h"
#include "linac/io/storage/cached_copy.h"

namespace linac::data {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

storage::CachedCopy copy_of(const std::string& url) {
  std::error_code error;
  const std::string place = storage::is_remote(url) ? url : std::filesystem::weakly_canonical(url, error).string();
  return {storage::cache_folder(), "tables", "packed showers 1 " + place, url};
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

/// Takes the bytes of a file in the cache: in large pieces, with the checksums for its note. Data error for more than
/// the cache may hold: a few compressed bytes can claim to be very many.
class Output {
 public:
  Output(const storage::CachedCopy& copy, const std::string& name)
      : copy_(copy), name_(name), file_(::open(copy.part().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (!file_) copy.fail_to_write();
  }
  void write(std::span<const std::byte> bytes) {
    waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
    if (waiting_.size() >= kPieceBytes) flush();
  }
  /// Onto the disk.
  storage::PieceSummer& finish() {
    flush();
    if (::fsync(file_.get()) != 0) copy_.fail_to_write();
    return sums_;
  }

 private:
  void flush() {
    sums_.add(waiting_);
    if (sums_.bytes() > bytes_max_) {
      throw data_error(
          fmt::format("[data] {}: its showers, packed, become more than the {} bytes of the whole cache; "
                      "raise LINAC_CACHE_SIZE, or name smaller files",
                      name_, bytes_max_));
    }
    write_all(file_.get(), waiting_, copy_);
    waiting_.clear();
  }

  const storage::CachedCopy& copy_;
  const std::string& name_;
  const Descriptor file_;
  const int64_t bytes_max_ = storage::cache_bytes_max();
  std::vector<std::byte> waiting_;
  storage::PieceSummer sums_;
};

/// The bytes of another stream, and the hash of those that were read.
class HashedStream : public storage::ByteStream {
 public:
  HashedStream(std::unique_ptr<storage::ByteStream> bytes, storage::ContentHash& hash)
      : bytes_(std::move(bytes)), hash_(hash) {}
  size_t read(std::span<std::byte> bytes) override {
    const size_t got = bytes_->read(bytes);
    hash_.add(bytes.first(got));
    return got;
  }

 private:
  const std::unique_ptr<storage::ByteStream> bytes_;
  storage::ContentHash& hash_;
};

/// All records of the file through `packer`. Returns what they were made from, without compression.
OriginalFile pack(const std::shared_ptr<const storage::Source>& source, ShowerPacker& packer) {
  const std::string& name = source->url();
  const Compression compression = compression_of(*source);
  const bool was_compressed = compression != Compression::kNone;
  storage::ContentHash hash;
  auto bytes = storage::Source::stream(source);
  if (was_compressed) {
    // It may be any size: Output bounds what is kept of it.
    bytes = inflated(std::move(bytes), compression, name, std::numeric_limits<int64_t>::max());
    bytes = std::make_unique<HashedStream>(std::move(bytes), hash);
  }
  RecordStream records(std::move(bytes), name);
  ShowerRecordParser parser(name);
  std::span<const std::byte> record;
  while (records.next(record)) {
    packer.add(packer.showers() == 0 ? parser.parse(record, 0)
                                     : parser.parse(record, records.number(), packer.shape()));
    piece_is_done();
  }
  if (packer.showers() == 0)
    throw data_error(fmt::format("[tfrecord] {}: no record in it; write the file again", name));
  source->need_unchanged();
  return {was_compressed ? hash.text() : source->streamed_content(), records.place().offset};
}

std::filesystem::path packed(const std::shared_ptr<const storage::Source>& source) {
  storage::CachedCopy copy = copy_of(source->url());
  const std::string version = source->is_ranged() ? source->version() : source->state().state();
  if (copy.known() && copy.known()->etag == version) return copy.file();
  log::info(fmt::format("[data] packing {} ({:.0f} MB) once", net::without_secrets(source->url()),
                        static_cast<double>(source->size()) / 1e6));
  Output output(copy, source->url());
  ShowerPacker packer([&](std::span<const std::byte> bytes) { output.write(bytes); });
  packer.finish(pack(source, packer));
  storage::PieceSummer& sums = output.finish();
  const int64_t bytes = sums.bytes();
  copy.put_in_place({.etag = version, .modified = {}, .size = bytes}, sums.finish());
  return copy.file();
}

}  // namespace

std::filesystem::path shower_copy(const std::string& url) {
  try {
    const auto source = storage::Source::open(url);
    const bool as_it_is = !source->is_ranged() && compression_of(*source) == Compression::kNone;
    return format_of(*source).access == Access::kStream && !as_it_is ? packed(source) : source->local();
  } catch (const storage::Unreachable&) {
    const storage::CachedCopy copy = copy_of(url);
    if (!copy.known()) return storage::fetch(url);
    log::warn(fmt::format("[data] {}: the server cannot be reached; what was packed before is used",
                          net::without_secrets(url)));
    return copy.file();
  }
}

}  // namespace linac::data
