#include "linac/io/data/formats/inflated_stream.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/tfrecord_frame.h"
#include "linac/io/storage/cache.h"

namespace linac::data {
namespace {

constexpr size_t kPackedBytes = size_t{64} << 10;
// zlib's: the window's size, and what the stream begins and ends with.
constexpr int kZlibFormat = 15;
constexpr int kGzipFormat = 15 + 16;

/// A sound header of a record says more than two bytes of another format.
bool begins_a_record(const std::string& start) {
  if (start.size() < kTfrecordHeaderBytes) return false;
  try {
    tfrecord_length(std::as_bytes(std::span(start)).first(kTfrecordHeaderBytes));
    return true;
  } catch (const Error&) {
    return false;
  }
}

// RFC 1952: two bytes of identification, the method "deflate".
bool begins_gzip(const std::string& start) {
  return start.starts_with(std::string_view("\x1f\x8b\x08", 3));
}

// RFC 1950: the method "deflate" with a window of at most 32 KiB; both bytes are a multiple of 31; no dictionary.
bool begins_zlib(const std::string& start) {
  if (start.size() < 2) return false;
  const auto method = static_cast<unsigned char>(start[0]), flags = static_cast<unsigned char>(start[1]);
  return (method & 0x0f) == 8 && method >> 4 <= 7 && (method * 256 + flags) % 31 == 0 && (flags & 0x20) == 0;
}

class InflatedStream : public storage::ByteStream {
 public:
  InflatedStream(std::unique_ptr<storage::ByteStream> packed, Compression compression, std::string name,
                 int64_t bytes_max)
      : packed_(std::move(packed)),
        compression_(compression),
        name_(std::move(name)),
        bytes_max_(bytes_max),
        room_(kPackedBytes) {
    LINAC_CHECK(compression != Compression::kNone);
    if (inflateInit2(&zlib_, compression == Compression::kGzip ? kGzipFormat : kZlibFormat) != Z_OK)
      throw environment_error("[data] zlib cannot start: no memory");
  }
  ~InflatedStream() override { inflateEnd(&zlib_); }
  InflatedStream(const InflatedStream&) = delete;
  InflatedStream& operator=(const InflatedStream&) = delete;

  size_t read(std::span<std::byte> bytes) override {
    if (error_) std::rethrow_exception(error_);
    bytes = bytes.first(std::min<size_t>(bytes.size(), std::numeric_limits<uInt>::max()));
    zlib_.next_out = reinterpret_cast<Bytef*>(bytes.data());
    zlib_.avail_out = static_cast<uInt>(bytes.size());
    try {
      while (zlib_.avail_out > 0 && has_more()) inflate_some();
    } catch (...) {
      // What came before is sound, and says how far it goes.
      error_ = std::current_exception();
      if (zlib_.avail_out == bytes.size()) throw;
    }
    const size_t got = bytes.size() - zlib_.avail_out;
    unpacked_ += static_cast<int64_t>(got);
    if (unpacked_ > bytes_max_) {
      throw data_error(
          fmt::format("[tfrecord] {}: its {} packed bytes become more than {}; if that is meant, raise "
                      "LINAC_CACHE_SIZE, or unpack the file",
                      name_, taken_ - zlib_.avail_in, bytes_max_));
    }
    return got;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw data_error(fmt::format("[tfrecord] {}: its compression {} near byte {}; copy or write the file again", name_,
                                 what, taken_ - zlib_.avail_in));
  }

  /// Whether something is left to unpack; false after the end. Bytes after it are another member, or an error.
  bool has_more() {
    if (zlib_.avail_in == 0) {
      const size_t got = packed_->read(room_);
      zlib_.next_in = reinterpret_cast<Bytef*>(room_.data());
      zlib_.avail_in = static_cast<uInt>(got);
      taken_ += static_cast<int64_t>(got);
    }
    if (!ended_) {
      if (zlib_.avail_in == 0) fail("is cut");
      return true;
    }
    if (zlib_.avail_in == 0) return false;
    if (compression_ == Compression::kZlib) fail("ends, and more follows");
    ended_ = false;
    if (inflateReset(&zlib_) != Z_OK) fail("cannot be begun again");
    return true;
  }

  void inflate_some() {
    const int result = inflate(&zlib_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      ended_ = true;
    } else if (result == Z_MEM_ERROR) {
      throw environment_error(fmt::format("[tfrecord] {}: no memory to unpack it", name_));
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      fail("is damaged");
    }
  }

  std::unique_ptr<storage::ByteStream> packed_;
  const Compression compression_;
  const std::string name_;
  const int64_t bytes_max_;
  std::vector<std::byte> room_;
  z_stream zlib_{};
  int64_t taken_ = 0, unpacked_ = 0;
  bool ended_ = false;  // of a member
  std::exception_ptr error_;
};

}  // namespace

Compression compression_of(const storage::Source& source) {
  const std::string& start = source.head();
  if (begins_a_record(start)) return Compression::kNone;
  if (begins_gzip(start)) return Compression::kGzip;
  return begins_zlib(start) ? Compression::kZlib : Compression::kNone;
}

std::unique_ptr<storage::ByteStream> inflated(std::unique_ptr<storage::ByteStream> packed, Compression compression,
                                              const std::string& name, int64_t bytes_max) {
  return std::make_unique<InflatedStream>(std::move(packed), compression, name, bytes_max);
}

std::unique_ptr<storage::ByteStream> unpacked_stream(const std::shared_ptr<const storage::Source>& source) {
  const Compression compression = compression_of(*source);
  auto stream = storage::Source::stream(source);
  if (compression == Compression::kNone) return stream;
  return inflated(std::move(stream), compression, source->url(), storage::cache_bytes_max());
}

}  // namespace linac::data
