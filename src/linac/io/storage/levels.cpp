#include "linac/io/storage/levels.h"

#include <fnmatch.h>

#include <algorithm>
#include <string_view>

namespace linac::storage {
namespace {

using List = std::function<Level(const std::string& prefix)>;

/// `prefix` is a folder that is there, `rest` what remains of the pattern.
void match(const List& list, const std::string& prefix, const std::string& rest, std::vector<std::string>& found) {
  const size_t first_wild = rest.find_first_of("*?[");
  const size_t slash = first_wild == std::string::npos ? rest.rfind('/') : rest.rfind('/', first_wild);
  // What stands before the part with the first wildcard is a folder by its name alone.
  if (slash != std::string::npos) return match(list, prefix + rest.substr(0, slash + 1), rest.substr(slash + 1), found);
  const size_t end = std::min(rest.find('/'), rest.size());
  const std::string part = rest.substr(0, end);
  const size_t skipped = prefix.size();
  const auto fits = [&](std::string_view name) {
    return ::fnmatch(part.c_str(), std::string(name).c_str(), FNM_PERIOD) == 0;
  };
  const Level level = list(prefix + part.substr(0, std::min(part.find_first_of("*?[\\"), part.size())));
  if (end == rest.size()) {
    for (const std::string& file : level.files)
      if (file.size() > skipped && !file.ends_with('/') && fits(std::string_view(file).substr(skipped)))
        found.push_back(file);
    return;
  }
  for (const std::string& folder : level.folders) {
    if (folder.size() <= skipped + 1) continue;
    if (fits(std::string_view(folder).substr(skipped, folder.size() - skipped - 1)))
      match(list, folder, rest.substr(end + 1), found);
  }
}

}  // namespace

bool is_pattern(const std::string& text) {
  return text.find_first_of("*?[") != std::string::npos;
}

std::vector<std::string> match_levels(const std::string& pattern, const List& list) {
  std::vector<std::string> found;
  match(list, "", pattern, found);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace linac::storage
