#pragma once
// A body on its way to the disk: a temporary file of its own, gone with the object unless somebody has moved it away.
// One thread at a time.

#include <filesystem>
#include <string_view>

#include "linac/base/descriptor.h"

namespace linac::http {

class BodyFile {
 public:
  /// Environment error if the folder cannot be written.
  explicit BodyFile(const std::filesystem::path& folder);
  ~BodyFile();
  BodyFile(const BodyFile&) = delete;
  BodyFile& operator=(const BodyFile&) = delete;

  /// Environment error, e.g. for a full disk.
  void append(std::string_view bytes);
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor file_;
};

}  // namespace linac::http
