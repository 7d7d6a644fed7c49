// Lists of HDF5's variable length, whatever their elements and heap are, are read as long as they say or refused with
// linac::Error. HDF5 makes the file, in memory, and opens it; what is fuzzed is what linac reads of it by itself. The
// input changes, bit by bit, the elements of a contiguous data set, those of one in chunks, and the heap of both.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/hdf5_variable.h"

namespace {

using namespace linac;
using hdf5::Handle;

constexpr hsize_t kEvents = 12, kChunk = 5;
constexpr size_t kElementBytes = 16, kHeapBytes = 4096;
constexpr const char* kSets[] = {"plain", "chunked"};

/// The file that HDF5 has made, and what of it may change.
class File {
 public:
  File() {
    LINAC_CHECK(descriptor_ >= 0);
    const hdf5::Lock lock;
    const Handle file(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const Handle type(H5Tvlen_create(H5T_NATIVE_FLOAT), H5Tclose),
        space(H5Screate_simple(1, &kEvents, nullptr), H5Sclose);
    std::array<float, kEvents> numbers;
    std::iota(numbers.begin(), numbers.end(), 1.0F);
    std::array<hvl_t, kEvents> lists;
    for (size_t i = 0; i < kEvents; ++i) lists[i] = {i % 4, numbers.data()};
    for (const char* name : kSets) {
      const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
      if (name == kSets[1]) H5Pset_chunk(creation.get(), 1, &kChunk);
      const Handle set(H5Dcreate2(file.get(), name, type.get(), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                       H5Dclose);
      LINAC_CHECK(H5Dwrite(set.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, lists.data()) >= 0);
      H5Fflush(file.get(), H5F_SCOPE_GLOBAL);
      if (name == kSets[0]) parts_.emplace_back(H5Dget_offset(set.get()), kEvents * kElementBytes);
      for (hsize_t first = 0; name == kSets[1] && first < kEvents; first += kChunk) {
        haddr_t address = 0;
        hsize_t size = 0;
        unsigned left_out = 0;
        LINAC_CHECK(H5Dget_chunk_info_by_coord(set.get(), &first, &left_out, &address, &size) >= 0);
        parts_.emplace_back(address, size);
      }
    }
    bytes_.resize(static_cast<size_t>(lseek(descriptor_, 0, SEEK_END)));
    LINAC_CHECK(pread(descriptor_, bytes_.data(), bytes_.size(), 0) == static_cast<ssize_t>(bytes_.size()));
    const size_t at = bytes_.find("GCOL");
    LINAC_CHECK(at != std::string::npos);
    parts_.emplace_back(at, std::min(kHeapBytes, bytes_.size() - at));
  }

  ~File() {
    close(descriptor_);
    unlink(path_.c_str());
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }

  void change(std::span<const uint8_t> input) const {
    std::string bytes = bytes_;
    for (const auto& [at, size] : parts_) {
      for (size_t i = 0; i < std::min(size, input.size()); ++i)
        bytes[at + i] = static_cast<char>(static_cast<uint8_t>(bytes[at + i]) ^ input[i]);
      input = input.subspan(std::min(size, input.size()));
    }
    LINAC_CHECK(pwrite(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  }

 private:
  std::string path_ = "/dev/shm/linac-fuzz-hdf5-lists-XXXXXX";  // HDF5 wants a real path
  const int descriptor_ = mkstemp(path_.data());
  std::string bytes_;
  std::vector<std::pair<size_t, size_t>> parts_;  // where, and how long
};

void read(const std::string& path, const char* name) {
  const data::VariableLists lists(path, "lists.h5", name, [] { return Handle(H5Tcopy(H5T_NATIVE_DOUBLE), H5Tclose); });
  for (const int64_t first : {int64_t{0}, int64_t{7}}) {
    std::vector<uint32_t> rows;
    const std::vector<std::byte> values = lists.read(first, static_cast<int64_t>(kEvents) - first, rows);
    const uint64_t all = std::accumulate(rows.begin(), rows.end(), uint64_t{0});
    LINAC_CHECK(rows.size() == kEvents - static_cast<size_t>(first) && values.size() == all * sizeof(double));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const File file;
  file.change({data, size});
  for (const char* name : kSets) {
    try {
      read(file.path(), name);
    } catch (const Error& error) {
      LINAC_CHECK(error.code() == ErrorCode::kData && size > 0);
    }
  }
  return 0;
}
