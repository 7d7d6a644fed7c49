#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "linac/base/base/error.h"

namespace linac {

/// A folder under the system's temporary one that nobody else shares and that goes, with all in it, when its owner
/// does.
class TemporaryFolder {
 public:
  /// Throws an environment_error if the folder cannot be made.
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "linac-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw environment_error("cannot make a folder " + pattern + "; set TMPDIR to one that can be written");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace linac
