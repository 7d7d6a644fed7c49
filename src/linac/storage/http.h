#pragma once
// Downloads over http(s) into a folder that serves as a cache. Used through fetch(); on its own for tests.

#include <filesystem>
#include <string>

namespace linac::storage {

/// The file in `folder` with the content of `url`. A copy from an earlier call is used again when the server confirms
/// it (ETag, else date and size) or, with a warning, when the server cannot be reached. A transfer that breaks is tried
/// again a bounded number of times, from where it stopped if the server has ETags. The file appears whole or not at
/// all. Data error for 4xx answers, environment error for everything else. Thread-safe; processes take turns.
std::filesystem::path download(const std::string& url, const std::filesystem::path& folder);

}  // namespace linac::storage
