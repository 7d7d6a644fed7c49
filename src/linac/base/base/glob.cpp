#include "linac/base/base/glob.h"

#include <dirent.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "linac/base/base/error.h"

namespace linac {
namespace {

thread_local BoundedGlobs::Left* left = nullptr;
thread_local bool beyond = false;

bool goes_on() {
  if (left != nullptr && left->used_up()) beyond = true;
  return !beyond;
}

bool hidden(const char* path) {
  if (left == nullptr || !left->hides) return false;
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error);
  return !error && left->hides(real);
}

// glob(3) reads folders by these: nothing more is there as soon as the bounds are reached.
void* open_folder(const char* path) {
  if (!goes_on()) return nullptr;
  if (!hidden(path)) return ::opendir(path);
  errno = ENOENT;
  return nullptr;
}
dirent* next_name(void* folder) {
  return goes_on() ? ::readdir(static_cast<DIR*>(folder)) : nullptr;
}
void close_folder(void* folder) {
  ::closedir(static_cast<DIR*>(folder));
}
int look(const char* path, struct stat* about) {
  if (goes_on()) return ::stat(path, about);
  errno = ENOENT;
  return -1;
}
int look_at_link(const char* path, struct stat* about) {
  if (goes_on()) return ::lstat(path, about);
  errno = ENOENT;
  return -1;
}

}  // namespace

BoundedGlobs::BoundedGlobs(Bounds bounds, Hides hides)
    : left_{bounds.names_max, std::chrono::steady_clock::now() + bounds.time_max, std::move(hides)}, before_(left) {
  left = &left_;
}

BoundedGlobs::~BoundedGlobs() {
  left = before_;
}

std::vector<std::string> glob_paths(const std::string& pattern) {
  beyond = false;
  glob_t found{};
  found.gl_opendir = open_folder;
  found.gl_readdir = next_name;
  found.gl_closedir = close_folder;
  found.gl_stat = look;
  found.gl_lstat = look_at_link;
  const int status = ::glob(pattern.c_str(), GLOB_TILDE | GLOB_ALTDIRFUNC, nullptr, &found);
  std::vector<std::string> paths;
  for (size_t i = 0; status == 0 && i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  if (beyond)
    throw user_error(
        fmt::format("[data] {}: the pattern passes by more files than are looked at; name a folder", pattern));
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace linac
