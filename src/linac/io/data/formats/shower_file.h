#pragma once
// One open file of showers, whatever its format: HDF5 with raw showers, TFRecord with samples, or these as the cache
// packs them. Reading is thread-safe. Errors name the file and, where there is one, the event.

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/io/data/showers.h"

namespace linac::data {

/// What an earlier scan of the same file found, which makes opening it quick.
struct FileIndex {
  std::vector<uint64_t> record_offsets;  // TFRecord only
};

/// The file from which another one was made, as far as it is known.
struct OriginalFile {
  std::string content;  // XXH3 (storage.h)
  int64_t bytes = 0;
};

/// Places for the numbers of one shower; `image` has room for its cells.
struct ShowerSlot {
  float* image;
  float *energy, *angle, *ecal;
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
  /// The same of one event, with only those cells in `out.image` that are not zero, in their order, as the file keeps
  /// them; false where it keeps all.
  virtual bool read_filled(int64_t event, ShowerBlock& out) const;
  /// Nothing for a file that a user named.
  virtual std::optional<OriginalFile> original() const { return std::nullopt; }
};

/// A file of Units::kSamples, whose events need no conversion on their way into a batch.
class SampleFile : public ShowerFile {
 public:
  Units units() const final { return Units::kSamples; }
  void read(int64_t first, int64_t count, ShowerBlock& out) const final;
  virtual void read_sample(int64_t event, const ShowerSlot& slot) const = 0;
};

/// Recognises the format by the content. `name` is what errors call the file; without `index` a TFRecord file is read
/// through once. Data error for a file that is empty, truncated or of another format, or lacks a field.
std::unique_ptr<const ShowerFile> open_shower_file(const std::filesystem::path& path, const std::string& name,
                                                   const Fields& fields, const std::optional<FileIndex>& index);

/// Whether every cell is finite and not negative.
bool are_energies(std::span<const float> cells);
/// Data error naming the file and the event, `number`, unless the energy of an event of the block is finite and not
/// negative, and its angle finite.
void check_numbers(const ShowerBlock& block, int64_t event, const std::string& name, int64_t number);
/// The same of all events, and unless are_energies() of their cells.
void check_values(const ShowerBlock& block, const std::string& name, int64_t first_event);

}  // namespace linac::data
