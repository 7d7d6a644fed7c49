#pragma once
// One open file of showers, whatever its format: HDF5 with raw showers, or TFRecord with samples. Reading is
// thread-safe. Errors name the file and, where there is one, the event.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linac/data/showers.h"

namespace linac::data {

/// What an earlier scan of the same file found, which makes opening it quick.
struct FileIndex {
  std::vector<uint64_t> record_offsets;  // TFRecord only
};

class ShowerFile {
 public:
  virtual ~ShowerFile() = default;
  virtual std::string format() const = 0;  // "hdf5" or "tfrecord"
  virtual int64_t events() const = 0;
  virtual EventShape shape() const = 0;
  virtual Units units() const = 0;
  virtual FileIndex index() const = 0;
  /// Events [first, first + count) as stored. Data error naming the event when its record is damaged; values are not
  /// looked at.
  virtual void read(int64_t first, int64_t count, ShowerBlock& out) const = 0;
};

/// Recognises the format by the content. `name` is what errors call the file; without `index` a TFRecord file is read
/// through once. Data error for a file that is empty, truncated or of another format, or lacks a field.
std::unique_ptr<const ShowerFile> open_shower_file(const std::filesystem::path& path, const std::string& name,
                                                   const Fields& fields, const std::optional<FileIndex>& index);

/// Data error naming file and event unless every cell is finite and not negative, every energy is finite and not
/// negative, and every angle is finite.
void check_values(const ShowerBlock& block, const std::string& name, int64_t first_event);

}  // namespace linac::data
