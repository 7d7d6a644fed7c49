#include "linac/io/data/formats/hdf5_references.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "linac/base/base/error.h"

namespace linac::data {
namespace {

using hdf5::Handle;

constexpr hsize_t kChunkElementsMax = hsize_t{1} << 24;

/// Another data set's filters, but for those whose bit is set in `left_out`.
bool copy_filters(hid_t from, unsigned left_out, hid_t to) {
  for (int i = 0; i < H5Pget_nfilters(from); ++i) {
    unsigned flags = 0, config = 0;
    std::array<unsigned, 64> values{};
    size_t count = values.size();
    const H5Z_filter_t filter =
        H5Pget_filter2(from, static_cast<unsigned>(i), &flags, &count, values.data(), 0, nullptr, &config);
    if (filter < 0 || count > values.size()) return false;
    if (((left_out >> i) & 1U) == 0 && H5Pset_filter(to, filter, flags, count, values.data()) < 0) return false;
  }
  return true;
}

}  // namespace

StoredElements::StoredElements(hid_t set, const FileSource& file, size_t element_bytes, std::string where)
    : set_(set), file_(file), element_bytes_(element_bytes), where_(std::move(where)) {
  const std::vector<hsize_t> shape = hdf5::shape_of(set);
  LINAC_CHECK(shape.size() == 1);
  extent_ = shape[0];
  const Handle properties(H5Dget_create_plist(set), H5Pclose);
  switch (H5Pget_layout(properties.get())) {
    case H5D_CONTIGUOUS:
      if (H5Pget_external_count(properties.get()) != 0) fail("its values lie in another file");
      begin_ = H5Dget_offset(set);
      return;
    case H5D_CHUNKED:
      break;
    default:
      fail("its layout is neither contiguous nor chunked");
  }
  if (H5Pget_chunk(properties.get(), 1, &chunk_) < 0 || chunk_ < 1 || chunk_ > kChunkElementsMax)
    fail("its chunks are too large");
  is_packed_ = H5Pget_nfilters(properties.get()) > 0;
}

void StoredElements::fail(const std::string& what) const {
  throw data_error(fmt::format("{}: {}; copy or write the file again", where_, what));
}

std::vector<std::byte> StoredElements::read(int64_t first, int64_t count) {
  const auto begin = static_cast<hsize_t>(first), end = begin + static_cast<hsize_t>(count);
  LINAC_CHECK(first >= 0 && count >= 0 && end <= extent_);
  std::vector<std::byte> bytes((end - begin) * element_bytes_);
  if (chunk_ == 0) {
    if (begin_ == HADDR_UNDEF) return bytes;
    if (begin_ > file_.size() || end > (file_.size() - begin_) / element_bytes_)
      fail("its values lie beyond the end of the file");
    file_.read(begin_ + begin * element_bytes_, bytes);
    return bytes;
  }
  for (hsize_t at = begin; at < end;) {
    const hsize_t number = at / chunk_, stop = std::min(end, (number + 1) * chunk_);
    if (number != block_number_) read_chunk(number);
    std::copy_n(block_.begin() + static_cast<std::ptrdiff_t>((at - number * chunk_) * element_bytes_),
                (stop - at) * element_bytes_,
                bytes.begin() + static_cast<std::ptrdiff_t>((at - begin) * element_bytes_));
    at = stop;
  }
  return bytes;
}

void StoredElements::read_chunk(hsize_t number) {
  const hsize_t offset = number * chunk_;
  unsigned left_out = 0;
  haddr_t address = HADDR_UNDEF;
  hsize_t size = 0;
  block_number_ = ~hsize_t{0};
  if (H5Dget_chunk_info_by_coord(set_, &offset, &left_out, &address, &size) < 0)
    fail(fmt::format("the place of its chunk {} cannot be read ({})", number, hdf5::last_error()));
  if (address == HADDR_UNDEF) {
    block_.assign(chunk_ * element_bytes_, std::byte{0});
  } else {
    if (size > file_.size()) fail(fmt::format("its chunk {} is larger than the file", number));
    block_.resize(size);
    uint32_t filters = 0;
    if (H5Dread_chunk(set_, H5P_DEFAULT, &offset, &filters, block_.data()) < 0)
      fail(fmt::format("its chunk {} cannot be read ({})", number, hdf5::last_error()));
    if (is_packed_) block_ = unpacked(block_, filters);
    if (block_.size() < chunk_ * element_bytes_) fail(fmt::format("its chunk {} is cut", number));
  }
  block_number_ = number;
}

// HDF5 unpacks what is written as it is into a data set with the same filters. (It runs a filter that the chunk has
// left out over such a one, so each choice of them has a data set of its own.)
std::vector<std::byte> StoredElements::unpacked(const std::vector<std::byte>& stored, unsigned left_out) {
  const Handle element(H5Tcreate(H5T_OPAQUE, element_bytes_), H5Tclose);
  if (!unpacking_ || left_out != left_out_) {
    const Handle properties(H5Dget_create_plist(set_), H5Pclose), creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const Handle access = hdf5::memory_access(), space(H5Screate_simple(1, &chunk_, nullptr), H5Sclose);
    unpacking_.close();
    memory_.close();
    memory_ = Handle(H5Fcreate(hdf5::memory_file().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
    if (memory_ && H5Pset_chunk(creation.get(), 1, &chunk_) >= 0 &&
        copy_filters(properties.get(), left_out, creation.get()))
      unpacking_ = Handle(
          H5Dcreate2(memory_.get(), "chunk", element.get(), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
          H5Dclose);
    if (!unpacking_) fail(fmt::format("its filters cannot be set up ({})", hdf5::last_error()));
    left_out_ = left_out;
  }
  const hsize_t begin = 0;
  std::vector<std::byte> bytes(chunk_ * element_bytes_);
  if (H5Dwrite_chunk(unpacking_.get(), H5P_DEFAULT, 0, &begin, stored.size(), stored.data()) < 0 ||
      H5Dread(unpacking_.get(), element.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0)
    fail(fmt::format("a chunk cannot be unpacked ({})", hdf5::last_error()));
  return bytes;
}

}  // namespace linac::data
