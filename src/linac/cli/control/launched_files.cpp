#include "linac/cli/control/launched_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/safe_path.h"
#include "linac/base/base/text_table.h"
#include "linac/control/sites/files/launched_run.h"

namespace linac::cli {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr size_t kToldMax = 3;  // names in a message

std::string some_of(std::vector<std::string> names) {
  const size_t count = names.size();
  names.resize(std::min(count, kToldMax));
  return fmt::format("{}{}", fmt::join(names, ", "), count > kToldMax ? ", ..." : "");
}

// Below the folder `path`; the names as in the run.
std::vector<sites::RunFile> files_below(const sites::LaunchedRun& run, const std::string& path) {
  sites::RunListing listing = sites::list_run(run.folder);
  if (!listing.refused.empty())
    log::warn(fmt::format("[artifacts] {}: {} left out, whose names are none here: {}", run.label,
                          plural(static_cast<int64_t>(listing.refused.size()), "file"), some_of(listing.refused)));
  std::erase_if(listing.files, [&](const sites::RunFile& file) {
    return !path.empty() && file.name != path && !file.name.starts_with(path + "/");
  });
  if (!path.empty() && listing.files.empty())
    throw user_error(fmt::format("[artifacts] {}: no file '{}' in {}; `linac artifacts list` shows what there is",
                                 run.label, path, run.out));
  return listing.files;
}

}  // namespace

void list_launch_files(const sites::LaunchName& name, const std::string& path, bool all, bool as_json) {
  const std::string folder = harmless_path(path);
  const sites::LaunchedRun run = sites::find_run(name);
  const size_t passed = folder.empty() ? 0 : folder.size() + 1;
  std::map<std::string, int64_t> entries;  // -1 for folders
  for (const sites::RunFile& file : files_below(run, folder)) {
    size_t slash = file.name.size() > passed ? file.name.find('/', passed) : std::string::npos;
    for (; slash != std::string::npos; slash = file.name.find('/', slash + 1)) {
      entries[file.name.substr(0, slash)] = -1;
      if (!all) break;
    }
    if (slash == std::string::npos) entries[file.name] = file.bytes;
  }
  json list = json::array();
  std::vector<std::vector<std::string>> rows;
  for (const auto& [entry, bytes] : entries) {
    list.push_back({{"path", entry}, {"folder", bytes < 0}, {"bytes", std::max<int64_t>(0, bytes)}});
    rows.push_back({bytes < 0 ? "-" : std::to_string(bytes), entry + (bytes < 0 ? "/" : "")});
  }
  fmt::print("{}", as_json ? list.dump(2) + "\n" : lined_up(rows));
}

void get_launch_files(const sites::LaunchName& name, const std::string& path, const std::string& to) {
  const std::string wanted = harmless_path(path);
  const sites::LaunchedRun run = sites::find_run(name);
  std::vector<sites::RunFile> files = files_below(run, wanted);
  const fs::path own = wanted.empty() ? run.label : fs::path(wanted).filename().string();
  fs::path target = to.empty() ? own : fs::path(to);
  if (files.size() == 1 && files.front().name == wanted) {
    if (fs::is_directory(target) || !target.has_filename()) target /= own;
    files.front().place = target.filename();
    target = target.has_parent_path() ? target.parent_path() : ".";
  } else if (!wanted.empty()) {
    for (sites::RunFile& file : files) file.place = file.name.substr(wanted.size() + 1);
  }
  const auto told = [&](const sites::RunFile& file) {
    fmt::print("{}  {} bytes\n", (target / file.place).string(), file.bytes);
    std::fflush(stdout);
  };
  const sites::FetchedRun fetched = sites::fetch_run(run.folder, files, target, told);
  fmt::print("{}: {} fetched, {} there before\n", run.label,
             plural(static_cast<int64_t>(fetched.fetched.size()), "file"), fetched.there);
  if (!fetched.gone.empty())
    log::info(fmt::format("{}: {} removed there meanwhile: {}", run.label,
                          plural(static_cast<int64_t>(fetched.gone.size()), "file"), some_of(fetched.gone)));
  if (!fetched.changed.empty())
    throw data_error(
        fmt::format("[artifacts] {}: {} changed again and again while being fetched: {}; once more brings "
                    "what is there then",
                    run.label, plural(static_cast<int64_t>(fetched.changed.size()), "file"), some_of(fetched.changed)));
}

}  // namespace linac::cli
