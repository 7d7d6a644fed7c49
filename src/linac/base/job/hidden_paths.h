#pragma once
// Files that are there and, for whoever names them, not.

#include <filesystem>
#include <functional>

namespace linac::job {

/// While it lives, relative paths of the jobs that this thread reads (job_paths.h) do not lead to what `hides` hides.
class HiddenPaths {
 public:
  using Hides = std::function<bool(const std::filesystem::path& path)>;
  explicit HiddenPaths(Hides hides);
  ~HiddenPaths();
  HiddenPaths(const HiddenPaths&) = delete;
  HiddenPaths& operator=(const HiddenPaths&) = delete;

  /// To this thread, as things stand.
  static bool hide(const std::filesystem::path& path);

 private:
  const Hides hides_;
  const HiddenPaths* const before_;
};

}  // namespace linac::job
