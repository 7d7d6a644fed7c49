#pragma once
// Lists of numbers of HDF5's own variable length (H5T_VLEN, h5py's vlen_dtype): an element of the data set [events] is
// a length and the place of its values in one of the file's global heaps ("HDF5 File Format Specification 3.0", III.E
// and IV.B). HDF5's library copies as many bytes as the heap has into memory of the size that the length says; so linac
// reads lengths and heaps itself and compares them. Used by one thread at a time.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "linac/io/data/formats/hdf5_lists.h"
#include "linac/io/hdf5/handle.h"

namespace linac::data {

class VariableLists : public ListSource {
 public:
  /// As EventLists. Data error also for a layout that HDF5's library alone can read.
  VariableLists(const std::filesystem::path& path, const std::string& file, const std::string& name,
                const std::function<hdf5::Handle()>& memory);
  ~VariableLists() override;
  VariableLists(const VariableLists&) = delete;
  VariableLists& operator=(const VariableLists&) = delete;

  std::vector<std::byte> read(int64_t first, int64_t count, std::vector<uint32_t>& rows) const override;

 private:
  class File;
  std::unique_ptr<File> file_;
};

}  // namespace linac::data
