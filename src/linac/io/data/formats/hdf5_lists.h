#pragma once
// Lists of numbers, or of rows of numbers, of any length an event in an HDF5 file: the data set NAME [rows, ...] has
// the rows of one event after the other, and event_rows/NAME [events] how many each event has. (HDF5's own types of
// variable length are neither packed nor checked, and its library writes beyond its memory where the length in a file
// is a wrong one.) Used by one thread at a time.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "linac/io/hdf5/handle.h"

namespace linac::data {

/// The group of the data sets that tell how many rows each event has.
inline constexpr char kEventRows[] = "event_rows";

/// The data sets in the file's root that hold such lists. Data error when it cannot be opened.
std::vector<std::string> list_names(const std::filesystem::path& path);

class EventLists {
 public:
  /// One of list_names(); `file` is what messages call the file. Data error when it cannot be opened, and
  /// where the events have more or fewer rows than are there.
  EventLists(const std::filesystem::path& path, const std::string& file, const std::string& name);
  ~EventLists();
  EventLists(const EventLists&) = delete;
  EventLists& operator=(const EventLists&) = delete;

  int64_t events() const;
  /// Of a row, the outermost first; none: a row is a number.
  const std::vector<int64_t>& row_extents() const;
  int64_t row_values() const;
  bool holds_integers() const;
  bool holds_booleans() const;
  /// Of a number, as it is stored; owned by this object.
  hid_t stored_type() const;

  /// The rows of each of the events [first, first + count), and the bytes of their numbers, one after the other, as the
  /// type `memory` has them; booleans as bytes 0 and 1. Data error when they cannot be read.
  std::vector<std::byte> read(int64_t first, int64_t count, hid_t memory, std::vector<uint32_t>& rows) const;
  /// The same as float or double; integers may be rounded, booleans are 0 and 1.
  template <class T>
  std::vector<T> read(int64_t first, int64_t count, std::vector<uint32_t>& rows) const;

 private:
  class File;
  std::unique_ptr<File> file_;
};

}  // namespace linac::data
