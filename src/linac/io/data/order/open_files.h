#pragma once
// The files of a data set, opened when they are needed; only so many stay open. Thread-safe.

#include <memory>
#include <mutex>
#include <vector>

#include "linac/io/data/cache/scan.h"
#include "linac/io/data/formats/shower_file.h"

namespace linac::data {

class OpenFiles {
 public:
  explicit OpenFiles(Fields fields) : fields_(std::move(fields)) {}

  /// Adds a scanned file; call before sharing the object.
  void add(std::filesystem::path path, const ScannedFile& scanned);
  /// File number `i`; it stays open while the caller holds it. Data error if it has changed since the scan.
  std::shared_ptr<const ShowerFile> get(size_t i) const;

 private:
  struct Entry {
    std::filesystem::path path;
    std::string name;
    storage::Fingerprint state;
    std::string content;  // XXH3
    FileIndex index;
    std::shared_ptr<const ShowerFile> file;
    uint64_t last_use = 0;
  };

  Fields fields_;
  mutable std::mutex mutex_;
  mutable std::vector<Entry> entries_;
  mutable uint64_t uses_ = 0;
  mutable size_t open_ = 0;
};

}  // namespace linac::data
