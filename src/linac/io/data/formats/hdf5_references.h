#pragma once
// The elements of an HDF5 data set [events] as the bytes that the file has, which the library hands out of chunks only.
// For the sources of this module; under hdf5::Lock.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "linac/io/data/formats/tfrecord.h"
#include "linac/io/hdf5/handle.h"

namespace linac::data {

class StoredElements {
 public:
  /// Of `element_bytes` each. `set` and `file` stay. Data error that begins with `where` for a layout that has no
  /// such bytes.
  StoredElements(hid_t set, const FileSource& file, size_t element_bytes, std::string where);

  int64_t events() const { return static_cast<int64_t>(extent_); }
  /// Of the elements [first, first + count); zeros where none were written.
  std::vector<std::byte> read(int64_t first, int64_t count);

 private:
  [[noreturn]] void fail(const std::string& what) const;
  void read_chunk(hsize_t number);
  std::vector<std::byte> unpacked(const std::vector<std::byte>& stored, unsigned left_out);

  const hid_t set_;
  const FileSource& file_;
  const size_t element_bytes_;
  const std::string where_;
  hsize_t extent_ = 0, chunk_ = 0;  // chunk_: its elements; 0: all lie together
  haddr_t begin_ = HADDR_UNDEF;     // of those
  bool is_packed_ = false;
  hdf5::Handle memory_, unpacking_;  // a file in memory, and a data set in it, that unpack chunks
  unsigned left_out_ = 0;            // filters that it has not
  std::vector<std::byte> block_;     // the chunk read last
  hsize_t block_number_ = ~hsize_t{0};
};

}  // namespace linac::data
