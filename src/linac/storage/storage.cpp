#include "linac/storage/storage.h"

#include <fmt/format.h>
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "linac/base/error.h"
#include "linac/base/nearest.h"
#include "linac/storage/http.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSiblingsLookedAtMax = 10'000;

/// "http" of "http://host/file", nothing for a plain path.
std::optional<std::string> scheme_of(const std::string& url) {
  const size_t colon = url.find("://");
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  std::string scheme = url.substr(0, colon);
  const auto in_scheme = [](unsigned char c) { return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.'; };
  if (!std::all_of(scheme.begin(), scheme.end(), in_scheme)) return std::nullopt;
  std::transform(scheme.begin(), scheme.end(), scheme.begin(), [](unsigned char c) { return std::tolower(c); });
  return scheme;
}

bool is_http(const std::string& scheme) {
  return scheme == "http" || scheme == "https";
}

std::string decode_percent(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '%' && i + 2 < text.size() &&
                         std::isxdigit(static_cast<unsigned char>(text[i + 1])) != 0 &&
                         std::isxdigit(static_cast<unsigned char>(text[i + 2])) != 0;
    if (escaped) {
      out.push_back(static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

/// The path of a local name, nothing for http(s).
std::optional<std::string> local_path(const std::string& url) {
  if (url.empty()) throw user_error("[storage] an empty file name; give a path, a glob or a URL");
  const auto scheme = scheme_of(url);
  if (!scheme) return url;
  if (is_http(*scheme)) return std::nullopt;
  if (*scheme != "file") {
    throw user_error(fmt::format(
        "[storage] {}: this build does not read {}:// (it reads plain paths, file://, http:// and https://); mount the "
        "store or copy the file first",
        url, *scheme));
  }
  std::string rest = url.substr(std::strlen("file://"));
  if (rest.starts_with("localhost/")) rest = rest.substr(std::strlen("localhost"));
  if (!rest.starts_with('/')) {
    throw user_error(fmt::format("[storage] {}: a file URL needs an absolute path; write file:///folder/file", url));
  }
  return decode_percent(rest);
}

std::string suggestion(const fs::path& missing) {
  const fs::path folder = missing.has_parent_path() ? missing.parent_path() : fs::path(".");
  std::error_code error;
  if (!fs::is_directory(folder, error)) return fmt::format("there is no folder {} either", folder.string());
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (names.size() == kSiblingsLookedAtMax) break;
    names.push_back(entry->path().filename().string());
  }
  const auto near = nearest(missing.filename().string(), names);
  if (!near) return "check the path";
  return fmt::format("did you mean {}?", (missing.has_parent_path() ? folder / *near : fs::path(*near)).string());
}

fs::path existing_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    throw data_error(fmt::format("[storage] {}: no such file; {}", path.string(), suggestion(path)));
  }
  if (status.type() == fs::file_type::directory) {
    throw data_error(
        fmt::format("[storage] {}: a folder, not a file; name its files, as in {}/*.h5", path.string(), path.string()));
  }
  if (::access(path.c_str(), R_OK) != 0) {
    throw environment_error(
        fmt::format("[storage] {}: cannot be read ({}); check its permissions", path.string(), std::strerror(errno)));
  }
  if (status.type() != fs::file_type::regular) {
    throw data_error(fmt::format("[storage] {}: not a regular file; copy its content to one", path.string()));
  }
  return path;
}

}  // namespace

std::vector<std::string> expand(const std::string& url) {
  const auto path = local_path(url);
  if (!path) return {url};
  std::error_code error;
  const bool is_pattern = path->find_first_of("*?[") != std::string::npos || path->starts_with('~');
  if (!is_pattern || fs::exists(*path, error)) return {*path};
  glob_t found{};
  const int status = ::glob(path->c_str(), GLOB_TILDE, nullptr, &found);
  std::vector<std::string> files;
  for (size_t i = 0; status == 0 && i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  if (files.empty()) {
    throw data_error(fmt::format("[storage] {}: no file matches this pattern (looked from {}); check folder and name",
                                 url, fs::current_path(error).string()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> expand_all(const std::vector<std::string>& urls) {
  if (urls.empty()) throw user_error("[storage] no file is named; give paths, globs or URLs");
  std::vector<std::string> files;
  for (const std::string& url : urls) {
    for (std::string& file : expand(url)) files.push_back(std::move(file));
  }
  return files;
}

fs::path fetch(const std::string& url) {
  const auto path = local_path(url);
  return path ? existing_file(*path) : download(url, cache_folder() / "http");
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

}  // namespace linac::storage
