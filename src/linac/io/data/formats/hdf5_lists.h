#pragma once
// Lists of numbers, or of rows of numbers, of any length an event in an HDF5 file: the data set NAME [rows, ...] has
// the rows of one event after the other, and event_rows/NAME [events] how many each event has. (HDF5's own types of
// variable length, hdf5_variable.h, are neither packed nor checked.) Used by one thread at a time.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "linac/io/hdf5/handle.h"

namespace linac::data {

/// The group of the data sets that tell how many rows each event has.
inline constexpr char kEventRows[] = "event_rows";

/// Lists of the events of a file.
class ListSource {
 public:
  virtual ~ListSource() = default;
  /// The rows of each of the events [first, first + count), which are there, and the bytes of their numbers, one after
  /// the other, in the type of memory that the source was made with. Data error when they cannot be read.
  virtual std::vector<std::byte> read(int64_t first, int64_t count, std::vector<uint32_t>& rows) const = 0;
};

class EventLists : public ListSource {
 public:
  /// `name`: the path of the data set; `memory` makes, under a Lock, the type that its numbers are read as; `file` is
  /// what messages call the file. Data error when it cannot be opened, and where the events have more or fewer rows
  /// than are there.
  EventLists(const std::filesystem::path& path, const std::string& file, const std::string& name,
             const std::function<hdf5::Handle()>& memory);
  ~EventLists() override;
  EventLists(const EventLists&) = delete;
  EventLists& operator=(const EventLists&) = delete;

  std::vector<std::byte> read(int64_t first, int64_t count, std::vector<uint32_t>& rows) const override;

 private:
  class File;
  std::unique_ptr<File> file_;
};

}  // namespace linac::data
