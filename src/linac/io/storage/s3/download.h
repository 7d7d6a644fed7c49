#pragma once
// Objects into the cache.

#include <filesystem>

#include "linac/io/storage/s3/object.h"

namespace linac::storage::s3 {

/// The file in the folder "s3" of the cache `root` with the object's content; as download() of http.h: fetched once by
/// however many processes, confirmed by its ETag on every later use. Large objects come in several ranges side by side.
/// Thread-safe.
std::filesystem::path download(const Access& access, const Address& address, const std::filesystem::path& root,
                               const Patience& patience = {});

}  // namespace linac::storage::s3
