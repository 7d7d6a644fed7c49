#include "linac/control/service/backup.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/clock.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/progress.h"
#include "linac/base/base/safe_path.h"
#include "linac/base/base/utf8.h"
#include "linac/base/base/version.h"
#include "linac/control/catalog/copy_catalog.h"
#include "linac/control/catalog/database.h"
#include "linac/control/catalog/integrity.h"
#include "linac/control/catalog/users.h"
#include "linac/control/execution/record/run_places.h"
#include "linac/control/launch/attempt_folder.h"
#include "linac/control/service/data_folder.h"
#include "linac/control/service/studies/submission.h"
#include "linac/control/service/tree_copy.h"

namespace linac::service {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char *kSummary = "backup.json", *kData = "data", *kOlder = "older-books";

// Files of `data` that no run has: the database, keys, what is at sites.
std::set<FileNumber> own_files(const fs::path& data) {
  std::set<FileNumber> files = numbers_below(data / kPrivateFolder);
  files.merge(numbers_below(data / kSitesFolder));
  for (const auto& entry : fs::directory_iterator(data))
    if (struct stat about{}; ::lstat(entry.path().c_str(), &about) == 0 && S_ISREG(about.st_mode))
      files.emplace(about.st_dev, about.st_ino);
  return files;
}

BackupSummary copy_files(const fs::path& from, const fs::path& to, const std::set<FileNumber>& kept_back) {
  Progress progress("files", 0);
  BackupSummary copied;
  make_folder(to);
  for (const char* part : {kArtifactsFolder, kStudiesFolder, execution::kRunsFolder}) {
    TreeCopy copy;
    copy.kept_back = kept_back;
    if (std::string_view(part) == execution::kRunsFolder)
      copy.leaves_out = [](const std::string& name) { return launch::holds_secrets(name); };
    copy.copied = [&](int64_t bytes) {
      ++copied.files;
      copied.bytes += bytes;
      progress.update(copied.bytes, fmt::format("{} files", copied.files));
    };
    copy_tree(from, to, part, copy);
  }
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

/// Who may read the data folder may have all of it: at least it is told.
void put_into_audit(const std::string& url, const fs::path& to) {
  try {
    catalog::change_beside_service(url, [&](catalog::Database& database) {
      catalog::audit(database, {now_ms(), "", "backup", printable(fs::absolute(to).string()), "this host"});
    });
  } catch (const std::exception& error) {
    log::warn(fmt::format("[backup] it is not in the audit log ({})", error.what()));
  }
}

}  // namespace

BackupSummary back_up(const fs::path& data, const std::string& database, const fs::path& to) {
  if (fs::exists(to)) throw user_error(fmt::format("[backup] {}: exists already; give another name", to.string()));
  if (database.empty() && !fs::exists(data / kDatabaseFile))
    throw user_error(fmt::format("[backup] {}: no catalog there; give the --data of `linac serve`", data.string()));
  const fs::path part = to.string() + ".part";
  remove_tree(part);  // of one that was broken off
  make_folder(part);
  ::chmod(part.c_str(), 0700);  // tokens' hashes are in it
  const auto rows = copy_catalog(catalog_url(data, database), catalog_url(part, ""));
  BackupSummary summary = copy_files(data, part / kData, own_files(data));
  add_rows(summary, rows);
  write_file_atomically(part / kSummary, json{{"linac", kVersion},
                                              {"schema", catalog::schema_version()},
                                              {"made_ms", now_ms()},
                                              {"rows", rows},
                                              {"files", summary.files},
                                              {"bytes", summary.bytes}}
                                             .dump(2));
  fs::rename(part, to);
  put_into_audit(catalog_url(data, database), to);
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
  remove_tree(data / kOlder);
  BackupSummary summary = copy_files(from / kData, data, {});
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
