#include "linac/control/service/backup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/clock.h"
#include "linac/base/base/error.h"
#include "linac/base/base/progress.h"
#include "linac/base/base/version.h"
#include "linac/control/catalog/copy_catalog.h"
#include "linac/control/catalog/database.h"
#include "linac/control/execution/record/run_places.h"
#include "linac/control/launch/attempt_folder.h"
#include "linac/control/service/data_folder.h"

namespace linac::service {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char *kSummary = "backup.json", *kData = "data", *kOlder = "older-books";

struct Tree {
  std::vector<fs::path> folders, files;  // relative
  int64_t bytes = 0;
};

// Links are left out: what they lead to is not the service's.
Tree tree_below(const fs::path& root) {
  Tree tree;
  for (const char* part : {kArtifactsFolder, execution::kRunsFolder}) {
    if (!fs::exists(root / part)) continue;
    tree.folders.emplace_back(part);
    auto entries = fs::recursive_directory_iterator(root / part);
    for (auto at = begin(entries); at != end(entries); ++at) {
      const fs::directory_entry& entry = *at;
      const fs::path name = entry.path().lexically_relative(root);
      if (entry.is_symlink()) continue;
      if (std::string_view(part) == execution::kRunsFolder && launch::holds_secrets(entry.path().filename())) {
        at.disable_recursion_pending();
        continue;
      }
      if (entry.is_directory()) {
        tree.folders.push_back(name);
      } else if (entry.is_regular_file()) {
        std::error_code gone;
        const auto size = entry.file_size(gone);
        if (gone) continue;
        tree.files.push_back(name);
        tree.bytes += static_cast<int64_t>(size);
      }
    }
  }
  return tree;
}

// Mode, owner (if this process may give files away) and time.
void make_alike(const fs::path& from, const fs::path& to) {
  struct stat about {};
  if (::stat(from.c_str(), &about) != 0) return;
  if (::geteuid() == 0 && ::lchown(to.c_str(), about.st_uid, about.st_gid) != 0)
    throw environment_error(
        fmt::format("[backup] {}: cannot be given its owner ({})", to.string(), std::strerror(errno)));
  ::chmod(to.c_str(), about.st_mode & 07777);
  const timespec times[2] = {about.st_atim, about.st_mtim};
  ::utimensat(AT_FDCWD, to.c_str(), times, 0);
}

BackupSummary copy_files(const fs::path& from, const fs::path& to) {
  const Tree tree = tree_below(from);
  Progress progress("files", tree.bytes);
  BackupSummary copied;
  for (const fs::path& folder : tree.folders) make_folder(to / folder);
  for (const fs::path& file : tree.files) {
    std::error_code error;
    fs::copy_file(from / file, to / file, error);
    // Of a run that goes on: it has replaced it.
    if (error == std::errc::no_such_file_or_directory) continue;
    if (error)
      throw environment_error(fmt::format("[backup] {}: cannot be copied to {} ({})", (from / file).string(),
                                          (to / file).string(), error.message()));
    make_alike(from / file, to / file);
    ++copied.files;
    copied.bytes += static_cast<int64_t>(fs::file_size(to / file));
    progress.update(copied.bytes, fmt::format("{} files", copied.files));
  }
  // The inner ones first: what is put into a folder changes its time.
  for (auto folder = tree.folders.rbegin(); folder != tree.folders.rend(); ++folder)
    make_alike(from / *folder, to / *folder);
  progress.finish(fmt::format("{} ({} bytes)", copied.files, copied.bytes));
  return copied;
}

catalog::RowCounts copy_catalog(const std::string& from, const std::string& to) {
  Progress progress("catalog", 0);
  const auto rows = catalog::copy_catalog(
      from, to, [&](int64_t done, int64_t of) { progress.update(done, fmt::format("of {} rows", of)); });
  int64_t all = 0;
  for (const auto& [table, count] : rows) all += count;
  progress.finish(fmt::format("{} rows", all));
  return rows;
}

void add_rows(BackupSummary& summary, const catalog::RowCounts& rows) {
  summary.runs = rows.at("runs");
  for (const auto& [table, count] : rows) summary.rows += count;
}

json read_summary(const fs::path& from) {
  const fs::path file = from / kSummary;
  const json summary = fs::exists(file) ? json::parse(read_file(file), nullptr, false) : json();
  if (!summary.is_object() || !summary.contains("rows") || !summary.contains("files"))
    throw user_error(fmt::format("[backup] {}: is no backup (no {} in it); give what `linac serve backup` made",
                                 from.string(), kSummary));
  return summary;
}

// The URL of the backup's catalog; that of an older linac is brought up to date in a copy below `data`.
std::string up_to_date(const fs::path& from, const json& told, const fs::path& data) {
  std::string url = catalog_url(from, "");
  if (told.value("schema", 0) == catalog::schema_version()) return url;
  make_folder(data / kOlder);
  fs::copy_file(from / kDatabaseFile, data / kOlder / kDatabaseFile);
  url = catalog_url(data / kOlder, "");
  catalog::migrate(*catalog::open_database(url));
  return url;
}

bool has_something(const fs::path& folder) {
  return fs::exists(folder) && (!fs::is_directory(folder) || !fs::is_empty(folder));
}

}  // namespace

BackupSummary back_up(const fs::path& data, const std::string& database, const fs::path& to) {
  if (fs::exists(to)) throw user_error(fmt::format("[backup] {}: exists already; give another name", to.string()));
  if (database.empty() && !fs::exists(data / kDatabaseFile))
    throw user_error(fmt::format("[backup] {}: no catalog there; give the --data of `linac serve`", data.string()));
  const fs::path part = to.string() + ".part";
  fs::remove_all(part);  // of one that was broken off
  make_folder(part);
  ::chmod(part.c_str(), 0700);  // tokens' hashes are in it
  const auto rows = copy_catalog(catalog_url(data, database), catalog_url(part, ""));
  BackupSummary summary = copy_files(data, part / kData);
  add_rows(summary, rows);
  write_file_atomically(part / kSummary, json{{"linac", kVersion},
                                              {"schema", catalog::schema_version()},
                                              {"made_ms", now_ms()},
                                              {"rows", rows},
                                              {"files", summary.files},
                                              {"bytes", summary.bytes}}
                                             .dump(2));
  fs::rename(part, to);
  return summary;
}

BackupSummary restore(const fs::path& from, const fs::path& data, const std::string& database) {
  const json told = read_summary(from);
  if (has_something(data))
    throw user_error(fmt::format("[backup] {}: is not empty; give a folder that is, or none yet", data.string()));
  if (const int64_t schema = told.value("schema", int64_t{0}); schema > catalog::schema_version())
    throw user_error(fmt::format("[backup] {}: linac {} made it, which is newer than this one; use that one",
                                 from.string(), told.value("linac", "")));
  make_folder(data);
  const auto rows = copy_catalog(up_to_date(from, told, data), catalog_url(data, database));
  fs::remove_all(data / kOlder);
  BackupSummary summary = copy_files(from / kData, data);
  add_rows(summary, rows);
  const auto check = [&](const char* what, int64_t wanted, int64_t there) {
    if (there < wanted)
      throw data_error(
          fmt::format("[backup] {}: {} of its {} {} are there; it is damaged, what could be restored is in {}",
                      from.string(), there, wanted, what, data.string()));
  };
  for (const auto& [table, count] : told.at("rows").items())
    check(fmt::format("rows of {}", table).c_str(), count.get<int64_t>(), rows.contains(table) ? rows.at(table) : 0);
  check("files", told.at("files"), summary.files);
  check("bytes", told.at("bytes"), summary.bytes);
  return summary;
}

}  // namespace linac::service
