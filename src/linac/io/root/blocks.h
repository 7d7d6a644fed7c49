#pragma once
// Compressed records: blocks of at most 16 MiB, each with nine bytes that name its method and its two sizes. Methods
// are zlib (ZL), the older deflation (CS), LZMA (XZ), LZ4 with a checksum (L4) and Zstandard (ZS). Thread-safe.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace linac::root {

/// A record may unpack to this; ROOT writes baskets and pages of some MiB.
inline constexpr size_t kUnpackedBytesMax = size_t{1} << 28;

/// The `bytes` that `packed` unpacks to, in `room` (whose memory is used again); `packed` itself where the sizes agree.
/// `room` grows block by block, so memory is bounded by what really unpacks. Data error that begins with `what` for
/// damaged blocks and for more than kUnpackedBytesMax.
std::span<const std::byte> unpacked(std::span<const std::byte> packed, size_t bytes, std::vector<std::byte>& room,
                                    const std::string& what);

/// What packed() does, as ROOT counts methods: zlib (100) of level 1, its own default.
inline constexpr uint32_t kPackedAs = 101;
/// `bytes` as zlib's blocks; empty where one of them becomes no smaller, as these are stored as they are.
std::vector<std::byte> packed(std::span<const std::byte> bytes);

}  // namespace linac::root
