#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace linac::storage {

/// A piece of one version of a file of a store, as all processes of a run name it: they read the same files in the same
/// pieces.
struct FileRange {
  std::string url, version;
  int64_t size = 0;  // of the file
  int64_t offset = 0, bytes = 0;
  auto operator<=>(const FileRange&) const = default;
};

}  // namespace linac::storage
