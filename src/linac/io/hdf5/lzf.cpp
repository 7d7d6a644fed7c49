#include "linac/io/hdf5/lzf.h"

#include <hdf5.h>

#include <cstring>

namespace linac::hdf5 {
namespace {

constexpr H5Z_filter_t kFilter = 32000;  // as the HDF Group lists it, and h5py writes it

// HDF5 hands over a chunk, and frees what is given back as it frees its own.
size_t unpack_chunk(unsigned flags, size_t, const unsigned*, size_t bytes, size_t* room, void** chunk) {
  if ((flags & H5Z_FLAG_REVERSE) == 0) return 0;  // nothing is packed here
  const auto unpacked = unpack_lzf({static_cast<const std::byte*>(*chunk), bytes});
  if (!unpacked || unpacked->empty()) return 0;
  void* const given = H5allocate_memory(unpacked->size(), false);
  if (given == nullptr) return 0;
  std::memcpy(given, unpacked->data(), unpacked->size());
  H5free_memory(*chunk);
  *chunk = given;
  return *room = unpacked->size();
}

}  // namespace

// The format is that of M. Lehmann's LibLZF (oldhome.schmorp.de/marc/liblzf.html). A byte below 32 says how many bytes
// follow as they are, less 1. Else its upper three bits, with a further byte where they are all set, say how many bytes
// come again, less 2, and its lower five with the next byte how far back they begin, less 1.
std::optional<std::vector<std::byte>> unpack_lzf(std::span<const std::byte> packed) {
  std::vector<std::byte> out;
  size_t at = 0;
  const auto next = [&] { return std::to_integer<size_t>(packed[at++]); };
  while (at < packed.size()) {
    const size_t head = next();
    if (head < 32) {
      if (packed.size() - at < head + 1) return std::nullopt;
      const auto plain = packed.subspan(at, head + 1);
      out.insert(out.end(), plain.begin(), plain.end());
      at += head + 1;
      continue;
    }
    size_t count = (head >> 5) + 2;
    if (packed.size() - at < (count == 9 ? 2 : 1)) return std::nullopt;
    if (count == 9) count += next();
    const size_t back = ((head & 31) << 8) + next() + 1;
    if (back > out.size()) return std::nullopt;
    for (size_t i = 0; i < count; ++i) out.push_back(out[out.size() - back]);  // they may overlap
  }
  return out;
}

void register_lzf() {
  // Without an encoder HDF5 makes no data set to unpack chunks in. One that is written holds them as they are.
  static const H5Z_class2_t lzf{.version = H5Z_CLASS_T_VERS,
                                .id = kFilter,
                                .encoder_present = 1,
                                .decoder_present = 1,
                                .name = "lzf",
                                .can_apply = nullptr,
                                .set_local = nullptr,
                                .filter = unpack_chunk};
  H5Zregister(&lzf);
}

}  // namespace linac::hdf5
