#pragma once
// Bytes that were compressed as a whole (GZIP, ZLIB), unpacked as they are read. One thread.

#include <cstdint>
#include <memory>
#include <string>

#include "linac/io/storage/source.h"

namespace linac::data {

/// How a file is packed as a whole.
enum class Compression { kNone, kGzip, kZlib };

/// Of a TFRecord file, as TensorFlow writes them. By the content: a first record that is sound is not compressed.
Compression compression_of(const storage::Source& source);

/// `name` is what messages call the file. Data error for bytes that are damaged or cut, for what follows their end
/// (further members of a gzip file are read), and for more than `bytes_max` unpacked ones: a few bytes can claim to be
/// very many. Constant memory.
std::unique_ptr<storage::ByteStream> inflated(std::unique_ptr<storage::ByteStream> packed, Compression compression,
                                              const std::string& name, int64_t bytes_max);

/// The bytes of a TFRecord file as they were before it was compressed, if it was; at most as many as the cache may hold
/// (io/storage/cache.h).
std::unique_ptr<storage::ByteStream> unpacked_stream(const std::shared_ptr<const storage::Source>& source);

}  // namespace linac::data
