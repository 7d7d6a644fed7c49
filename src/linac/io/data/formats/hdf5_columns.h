#pragma once
// The columns of an HDF5 file. A data set [events, ...] is the column NAME, or GROUP/NAME in a group; a field of
// records (compound types, as h5py, PyTables and ATLAS's dumpers write them) is NAME.FIELD; lists are those of
// hdf5_lists.h and hdf5_variable.h. For the sources of this module only: needs Arrow's headers. Call it under
// hdf5::Lock.

#include <arrow/api.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linac/io/hdf5/handle.h"

namespace linac::data {

struct Hdf5Column {
  enum class Kind { kNumbers, kTexts, kLists };

  std::string name, set;            // set: the path of its data set
  std::vector<std::string> fields;  // within a record, the outermost first
  Kind kind = Kind::kNumbers;
  bool is_variable = false;      // lists of HDF5's own variable length
  std::vector<int64_t> extents;  // of an event, or of a row where they are lists
  int64_t events = 0;
  std::shared_ptr<arrow::DataType> number;  // as it is stored; null: one that Arrow has not
  bool is_coded = false;                    // an enumeration or a bit field, of which HDF5 makes no other numbers
  std::string refused;                      // why it is not read; empty: it is

  int64_t event_values() const;  // 1 where they are lists
  /// "[801, 19]", "one number", "lists of rows [3]".
  std::string words() const;
  /// For people: "jets.pt [500, 14]".
  std::string described() const;
};

/// All of the file, those that are not read among them.
std::vector<Hdf5Column> hdf5_columns(hid_t file);
/// The one of this name.
std::optional<Hdf5Column> hdf5_column(hid_t file, const std::string& name);

/// Events of as many columns of one data set as lie in the same records: read at once, for whichever of them asks
/// first.
class Hdf5Set {
 public:
  Hdf5Set(hid_t file, const Hdf5Column& column);
  /// Whether add() may be called: another field of the same records.
  bool takes(const Hdf5Column& column) const;

  /// Adds a column that it holds, of numbers as `type` has them (its own where they are coded), or of texts of fixed
  /// length. The place of it in read().
  size_t add(const Hdf5Column& column, const std::shared_ptr<arrow::DataType>& type);
  int64_t event_bytes() const;
  /// Events in a chunk; 1 where there are none.
  int64_t chunk_events() const;

  /// The bytes of column `place` in the events [first, first + count): values one after the other. False if HDF5 fails.
  bool read(size_t place, int64_t first, int64_t count, std::vector<std::byte>& bytes);
  /// The same bytes as texts.
  std::vector<std::string> texts_in(size_t place, const std::vector<std::byte>& bytes) const;

 private:
  struct Part {
    hdf5::Handle memory;
    std::vector<std::string> fields;
    size_t bytes, offset;
  };
  void describe();

  std::string path_;
  bool nested_;                // one column alone
  hdf5::Handle set_, record_;  // record_: what an element is in memory
  std::vector<hsize_t> shape_;
  std::vector<Part> parts_;
  size_t element_bytes_ = 0;
  std::vector<std::byte> block_;
  int64_t first_ = 0, count_ = 0;  // what block_ holds
};

}  // namespace linac::data
