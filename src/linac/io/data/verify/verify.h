#pragma once
// Files of events read to their last byte and compared with every checksum that they have: CRC-32C of TFRecords and
// what GZIP and ZLIB end with, page checksums of Parquet, filters of HDF5, checksums and compressed blocks of ROOT.
// What has no checksum is decoded. What is damaged is named by record, column or events, and the rest is read as far as
// the format lets one go on. Several files at a time, each in bounded memory. Thread-safe.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace linac::data {

struct Damage {
  std::string where;  // "record 12", "column 'x', events 200 to 299"
  std::string what;   // why, as the reader says it
};

enum class VerifyResult { kSound, kDamaged, kFailed, kStopped };
const char* to_string(VerifyResult result);  // "sound"

struct VerifiedFile {
  std::string url, format;
  int64_t bytes = 0;
  std::string checked;          // what was compared: "CRC-32C of 1200 records"
  bool has_checksums = false;   // whether it has any
  std::vector<Damage> damages;  // the first kDamagesShown
  int64_t damages_in_all = 0;
  VerifyResult result = VerifyResult::kStopped;
  std::string error{};  // of kFailed: it could not be read
  int error_code = 0;   // an ErrorCode
};
inline constexpr size_t kDamagesShown = 100;

struct VerifyOptions {
  int jobs = 4;  // files at a time
  /// Bytes of files that are done, of all. Called from several threads.
  std::function<void(int64_t done, int64_t all)> progress{};
  /// Looked at between pieces.
  std::function<bool()> stop{};
};

/// `urls`: of expand()'s results. One row each; a file that is damaged leaves the others alone.
std::vector<VerifiedFile> verify_files(const std::vector<std::string>& urls, const VerifyOptions& options);

}  // namespace linac::data
