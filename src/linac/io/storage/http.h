#pragma once
// Downloads over http(s) into a cache. Used through the store of http (stores.h); on its own for tests.

#include <filesystem>
#include <memory>
#include <string>

#include "linac/io/storage/store.h"

namespace linac::storage {

/// The file in the folder "http" of the cache `root` with the content of `url`; it stays there while this process
/// lives, and others go where the cache would become too large, or the disk is full (cache.h). A copy from an earlier
/// call is used again when the server confirms it (ETag, else date and size) or, with a warning, when the server cannot
/// be reached or the folder cannot be written. A transfer that breaks is tried again a bounded number of times, from
/// where it stopped if the server has ETags. The file appears whole or not at all. Data error for 4xx answers,
/// environment error for everything else. Thread-safe; processes take turns.
std::filesystem::path download(const std::string& url, const std::filesystem::path& root);

/// Reads in ranges; for http(s):// and dav(s)://. Errors as above.
std::unique_ptr<Reader> open_http(const std::string& url);

}  // namespace linac::storage
