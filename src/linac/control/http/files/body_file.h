#pragma once
// A body on its way to the disk: a temporary file of its own, gone with the object unless somebody has moved it away.
// One thread at a time.

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "linac/base/base/descriptor.h"

namespace linac::http {

class BodyFile {
 public:
  /// Environment error if the folder cannot be written.
  explicit BodyFile(const std::filesystem::path& folder, int64_t keep_free = 0);
  ~BodyFile();
  BodyFile(const BodyFile&) = delete;
  BodyFile& operator=(const BodyFile&) = delete;

  /// Environment error, e.g. for a disk that is full but for what is kept free.
  void append(std::string_view bytes);
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor file_;
  const int64_t keep_free_;  // bytes of the disk
  int64_t unchecked_ = 0;    // bytes since the disk's room was looked at
};

}  // namespace linac::http
