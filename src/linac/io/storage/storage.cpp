#include "linac/io/storage/storage.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/io/storage/folder/folder_copy.h"
#include "linac/io/storage/store.h"
#include "linac/io/storage/stores.h"

namespace linac::storage {
namespace fs = std::filesystem;

std::vector<std::string> expand(const std::string& url) {
  return store_of(url).glob(url);
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
    for (Listed& file : store_of(url).find(url)) files.push_back(std::move(file));
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

fs::path cache_folder() {
  const auto from_environment = [](const char* name) -> std::optional<fs::path> {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
  if (const auto folder = from_environment("LINAC_CACHE")) return *folder;
  if (const auto folder = from_environment("XDG_CACHE_HOME")) return *folder / "linac";
  if (const auto home = from_environment("HOME")) return *home / ".cache" / "linac";
  return fs::temp_directory_path() / fmt::format("linac-cache-{}", ::getuid());
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
