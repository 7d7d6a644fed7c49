#include "linac/io/storage/storage.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/io/storage/folder/folder_copy.h"
#include "linac/io/storage/store.h"
#include "linac/io/storage/stores.h"

namespace linac::storage {
namespace fs = std::filesystem;

namespace {

std::string last_part(const std::string& url) {
  return url.substr(url.rfind('/') + 1);
}

/// What globs pass over unless they name it: what others write beside data, by the custom of Spark, Hive and Arrow:
/// _SUCCESS, _metadata, ._SUCCESS.crc.
bool is_mark(const std::string& url) {
  const std::string name = last_part(url);
  return name.starts_with('_') || name.starts_with('.');
}

/// Passes over such files among those that a pattern matches, unless it names them.
template <class Files, class UrlOf>
Files without_marks(const std::string& pattern, Files files, const UrlOf& url_of) {
  if (is_mark(pattern) || pattern.find_first_of("*?[") == std::string::npos) return files;
  const size_t matches = files.size();
  std::erase_if(
      files, [&](const auto& file) { return last_part(url_of(file)) != last_part(pattern) && is_mark(url_of(file)); });
  if (files.empty() && matches > 0)
    throw data_error(
        fmt::format("[storage] {}: matches no data, only files whose names begin with '_' or '.'; "
                    "name those that are wanted",
                    pattern));
  return files;
}

}  // namespace

std::vector<std::string> expand(const std::string& url) {
  return without_marks(url, store_of(url).glob(url), [](const std::string& file) { return file; });
}

std::vector<std::string> expand_all(const std::vector<std::string>& urls) {
  if (urls.empty()) throw user_error("[storage] no file is named; give paths, globs or URLs");
  std::vector<std::string> files;
  for (const std::string& url : urls) {
    for (std::string& file : expand(url)) files.push_back(std::move(file));
  }
  return files;
}

std::vector<Listed> find_all(const std::vector<std::string>& urls) {
  if (urls.empty()) throw user_error("[storage] no file is named; give paths, globs or URLs");
  std::vector<Listed> files;
  for (const std::string& url : urls)
    for (Listed& file : without_marks(url, store_of(url).find(url), [](const Listed& one) { return one.url; }))
      files.push_back(std::move(file));
  return files;
}

fs::path fetch(const std::string& url) {
  return store_of(url).local(url);
}

bool is_remote(const std::string& url) {
  return &store_of(url) != &file_store();
}

// What has an ending is likely a file. Of a folder that is written now a file may lie elsewhere than its name says.
std::string local_copy(const std::string& name) {
  if (!scheme_of(name)) return name;
  if (name.ends_with('/') || !fs::path(name).has_extension()) {
    try {
      if (const auto folder = cached_folder(name)) return folder->string();
    } catch (const Temporary&) {
      throw;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kEnvironment) throw;  // who may not list a bucket is not told what is not there
    }
    return fetch(name).string();
  }
  try {
    return fetch(name).string();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kData) throw;
    if (const auto file = cached_file(name)) return file->string();
    if (const auto folder = cached_folder(name)) return folder->string();
    throw;
  }
}

namespace {

bool can_be_made(const fs::path& folder) {
  fs::path there = folder;
  std::error_code none;
  while (!fs::exists(there, none) && there.has_relative_path()) there = there.parent_path();
  return fs::is_directory(there, none) && ::access(there.c_str(), W_OK | X_OK) == 0;
}

// Where others can write, what has the name may be somebody else's.
fs::path own_temporary_cache() {
  const fs::path folder = fs::temp_directory_path() / fmt::format("linac-cache-{}", ::getuid());
  ::mkdir(folder.c_str(), S_IRWXU);
  struct stat status {};
  const bool own = ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::getuid() &&
                   (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (!own)
    throw environment_error(
        fmt::format("[cache] no home folder that can be written, and {} is not a folder of this "
                    "user's alone; set LINAC_CACHE to one",
                    folder.string()));
  static std::once_flag said;
  std::call_once(said, [&] {
    log::info(fmt::format("[cache] no home folder that can be written: the cache is {}; LINAC_CACHE names another",
                          folder.string()));
  });
  return folder;
}

}  // namespace

fs::path cache_folder() {
  const auto from_environment = [](const char* name) -> std::optional<fs::path> {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
  if (const auto folder = from_environment("LINAC_CACHE")) return *folder;
  if (const auto folder = from_environment("XDG_CACHE_HOME")) return *folder / "linac";
  const auto home = from_environment("HOME");
  if (home && can_be_made(*home / ".cache" / "linac")) return *home / ".cache" / "linac";
  return own_temporary_cache();
}

void need_other_files(std::span<const std::string> outs, std::span<const std::string> inputs, std::string_view where) {
  std::set<std::pair<dev_t, ino_t>> files;
  std::set<std::string_view> urls;
  struct stat status {};
  for (const std::string& input : inputs) {
    if (scheme_of(input)) urls.insert(input);
    if (::stat(input.c_str(), &status) == 0) files.emplace(status.st_dev, status.st_ino);
  }
  for (const std::string& out : outs) {
    // What does not exist is not the same.
    const bool is_input = ::stat(out.c_str(), &status) == 0 && files.contains({status.st_dev, status.st_ino});
    if (is_input || urls.contains(out))
      throw user_error(fmt::format("[{}] {}: is also an input; give another name", where, out));
  }
}

void need_another_file(const std::string& out, std::span<const std::string> inputs, std::string_view where) {
  need_other_files(std::span(&out, 1), inputs, where);
}

}  // namespace linac::storage
