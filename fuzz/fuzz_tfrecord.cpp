// A file of any bytes: its index and every record are read, in any order and as a stream, packed as a whole or not, or
// refused with linac::Error. Checksums would stop nearly every mutation at the first record, so the input is read once
// as it is and once as the data of a sound frame.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/tfrecord_frame.h"
#include "linac/io/data/formats/example.h"
#include "linac/io/data/formats/inflated_stream.h"
#include "linac/io/data/formats/record_stream.h"
#include "linac/io/data/formats/tfrecord.h"

namespace {

void read_file(std::span<const std::byte> bytes) {
  const linac::data::MemorySource source(bytes);
  try {
    const std::vector<uint64_t> offsets = linac::data::index_records(source, "fuzz");
    std::vector<std::byte> record;
    for (size_t i = 0; i < offsets.size(); ++i) {
      linac::data::read_record(source, offsets[i], i, "fuzz", record);
      linac::data::parse_example({reinterpret_cast<const uint8_t*>(record.data()), record.size()});
    }
  } catch (const linac::Error& error) {
    LINAC_CHECK(error.code() == linac::ErrorCode::kData);
  }
}

constexpr size_t kPieceBytesMax = 1000;  // as a link may hand them over
constexpr int64_t kUnpackedMax = 4 << 20;

class Bytes : public linac::storage::ByteStream {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
  size_t read(std::span<std::byte> room) override {
    const size_t size = std::min({room.size(), bytes_.size(), kPieceBytesMax});
    if (size > 0) std::memcpy(room.data(), bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
    return size;
  }

 private:
  std::span<const std::byte> bytes_;
};

void read_stream(std::unique_ptr<linac::storage::ByteStream> stream) {
  try {
    linac::data::RecordStream records(std::move(stream), "fuzz");
    for (std::span<const std::byte> record; records.next(record);)
      linac::data::parse_example({reinterpret_cast<const uint8_t*>(record.data()), record.size()});
  } catch (const linac::Error& error) {
    LINAC_CHECK(error.code() == linac::ErrorCode::kData);
  }
}

void read_packed(std::span<const std::byte> bytes) {
  for (const auto compression : {linac::data::Compression::kGzip, linac::data::Compression::kZlib})
    read_stream(linac::data::inflated(std::make_unique<Bytes>(bytes), compression, "fuzz", kUnpackedMax));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  read_file(std::as_bytes(std::span(input)));
  read_stream(std::make_unique<Bytes>(std::as_bytes(std::span(input))));
  read_packed(std::as_bytes(std::span(input)));
  const std::string framed = linac::tfrecord_frame(input) + input;
  read_file(std::as_bytes(std::span(framed)));
  read_stream(std::make_unique<Bytes>(std::as_bytes(std::span(framed))));
  return 0;
}
