#include <limits>

#include "linac/base/base/plural.h"
#include "linac/io/data/formats/inflated_stream.h"
#include "linac/io/data/formats/record_stream.h"
#include "linac/io/data/verify/findings.h"

namespace linac::data {
namespace {

std::unique_ptr<storage::ByteStream> plain_bytes(const SourcePtr& source, Compression compression) {
  auto stream = storage::Source::stream(source);
  if (compression == Compression::kNone) return stream;
  // Nothing is kept of what is unpacked, so it may be any size.
  return inflated(std::move(stream), compression, source->url(), std::numeric_limits<int64_t>::max());
}

}  // namespace

void check_tfrecord(const SourcePtr& source, Findings& findings) {
  const Compression compression = compression_of(*source);
  RecordStream records(plain_bytes(source, compression), source->url());
  std::span<const std::byte> record;
  int64_t seen = source->bytes_read();
  for (bool more = true; more;) {
    bool sound = true;
    try {
      more = records.next(record);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData) throw;
      sound = false;
      more = records.goes_on();
      findings.damaged(fmt::format("record {}", records.number() + (more ? 0 : 1)), error.what());
    }
    if (sound && source->bytes_read() == seen) continue;
    findings.read(source->bytes_read() - seen);
    seen = source->bytes_read();
  }
  const char* const packed = compression == Compression::kGzip   ? "GZIP's checksum, "
                             : compression == Compression::kZlib ? "ZLIB's checksum, "
                                                                 : "";
  findings.checked(fmt::format("{}CRC-32C of {}", packed, plural(records.number() + 1, "record")), true);
}

}  // namespace linac::data
