// A file of any bytes: its index and every record are read, or refused with linac::Error. Checksums would stop nearly
// every mutation at the first record, so the input is read once as it is and once as the data of a sound frame.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "linac/base/error.h"
#include "linac/base/tfrecord_frame.h"
#include "linac/data/example.h"
#include "linac/data/tfrecord.h"

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  read_file(std::as_bytes(std::span(input)));
  const std::string framed = linac::tfrecord_frame(input) + input;
  read_file(std::as_bytes(std::span(framed)));
  return 0;
}
