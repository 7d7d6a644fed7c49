#pragma once
// Files of the user who calls: where they lie, and that nobody else can read them.

#include <sys/stat.h>

#include <filesystem>
#include <optional>

namespace linac {

/// FOLDER/linac, where FOLDER is that of the variable, e.g. XDG_CONFIG_HOME, or `below_home` of HOME. Nothing if
/// neither is set. Thread-safe.
std::optional<std::filesystem::path> user_folder(const char* variable, const char* below_home);

/// What this process makes while it lives is for its owner alone. Of the whole process: for programs that nobody else
/// works in meanwhile.
class PrivateFiles {
 public:
  PrivateFiles() : former_(::umask(077)) {}
  ~PrivateFiles() { ::umask(former_); }
  PrivateFiles(const PrivateFiles&) = delete;
  PrivateFiles& operator=(const PrivateFiles&) = delete;

 private:
  const mode_t former_;
};

}  // namespace linac
