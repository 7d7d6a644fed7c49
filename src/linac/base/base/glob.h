#pragma once
// Files that a pattern of a shell names ("data/*.h5", "~/runs/[0-9]*"). Thread-safe.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace linac {

/// Sorted; none if nothing matches. Within the bounds of BoundedGlobs, if this thread has some: user error beyond.
std::vector<std::string> glob_paths(const std::string& pattern);

/// While it lives, all patterns that this thread looks up together pass by so many names of folders at most, and take
/// so long at most: "/*/*/*/*" of a stranger reads a whole disk else. A folder that does not answer is beyond that.
class BoundedGlobs {
 public:
  struct Bounds {
    int64_t names_max = 0;
    std::chrono::milliseconds time_max{};
  };
  static constexpr Bounds kOfStrangers{200'000, std::chrono::seconds(5)};

  /// Of a folder, by its real path: whether what is in it is nobody's to find by a pattern.
  using Hides = std::function<bool(const std::string& folder)>;

  explicit BoundedGlobs(Bounds bounds, Hides hides = {});
  ~BoundedGlobs();
  BoundedGlobs(const BoundedGlobs&) = delete;
  BoundedGlobs& operator=(const BoundedGlobs&) = delete;

  /// What is left to the thread that asks; private to the implementation.
  struct Left {
    int64_t names = 0;
    std::chrono::steady_clock::time_point until{};
    Hides hides{};
    bool used_up() { return --names < 0 || std::chrono::steady_clock::now() > until; }
  };

 private:
  Left left_;
  Left* const before_;
};

}  // namespace linac
