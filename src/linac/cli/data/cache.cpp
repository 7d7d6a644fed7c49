#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/base/base/bytes.h"
#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/text_table.h"
#include "linac/cli/data/asked_to_stop.h"
#include "linac/cli/data/bytes_bar.h"
#include "linac/cli/data/file_ends.h"
#include "linac/cli/data/verbs.h"
#include "linac/io/data/cache/cache_check.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/cache.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/store.h"

namespace linac::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using storage::Cached;

constexpr double kSecondsPerDay = 24 * 3600;

struct CacheWords {
  std::vector<std::string> what;
  double older_than_days = -1;
  data::CacheCheckOptions check;
  bool dry_run = false, json = false;
};

/// What `what` names: a URL or path by which a copy was asked for, a pattern of these, or the copy's own path.
bool names(const std::string& what, const Cached& copy) {
  if (what == copy.file.string() || what == copy.file.filename().string()) return true;
  if (copy.source.empty()) return false;
  if (::fnmatch(what.c_str(), copy.source.c_str(), FNM_PATHNAME) == 0) return true;
  if (storage::scheme_of(what)) return net::without_secrets(what) == copy.source;
  std::error_code none;
  const fs::path path = fs::weakly_canonical(what, none);
  return ::fnmatch(path.c_str(), fs::weakly_canonical(copy.source, none).c_str(), FNM_PATHNAME) == 0;
}

std::vector<Cached> chosen(const CacheWords& words) {
  const auto now = static_cast<double>(std::time(nullptr));
  std::vector<Cached> copies = data::described_cache(storage::cache_folder());
  std::erase_if(copies, [&](const Cached& copy) {
    const bool named = words.what.empty() ||
                       std::ranges::any_of(words.what, [&](const std::string& what) { return names(what, copy); });
    const bool old =
        words.older_than_days < 0 || now - static_cast<double>(copy.used_s) >= words.older_than_days * kSecondsPerDay;
    return !named || !old;
  });
  return copies;
}

int64_t bytes_of(const std::vector<Cached>& copies) {
  int64_t bytes = 0;
  for (const Cached& copy : copies) bytes += copy.bytes;
  return bytes;
}

std::string sized(const std::vector<Cached>& copies) {
  return fmt::format("{}, {}", plural(static_cast<int64_t>(copies.size()), "file"), format_bytes(bytes_of(copies)));
}

ordered_json to_json(const Cached& copy) {
  return {{"file", copy.file.string()},
          {"kind", storage::to_string(copy.kind)},
          {"source", copy.source.empty() ? ordered_json() : ordered_json(copy.source)},
          {"bytes", copy.bytes},
          {"last_use", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(copy.used_s)))},
          {"in_use", copy.in_use}};
}

ordered_json to_json(const std::vector<Cached>& copies) {
  auto list = ordered_json::array();
  for (const Cached& copy : copies) list.push_back(to_json(copy));
  return list;
}

void print(const ordered_json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

/// Scans and notes are many and small: a line for all of them.
bool is_small(const Cached& copy) {
  return copy.kind == storage::CacheKind::kScan || copy.kind == storage::CacheKind::kCopyNote;
}

void run_list(const CacheWords& words) {
  const std::vector<Cached> copies = chosen(words);
  std::vector<Cached> bounded, used, small;
  for (const Cached& copy : copies) {
    if (copy.is_bounded) bounded.push_back(copy);
    if (copy.in_use) used.push_back(copy);
    if (is_small(copy)) small.push_back(copy);
  }
  const std::string folder = storage::cache_folder().string();
  const int64_t limit = storage::cache_bytes_max();
  if (words.json) {
    return print({{"folder", folder},
                  {"limit_bytes", limit},
                  {"bytes", bytes_of(bounded)},
                  {"in_use_bytes", bytes_of(used)},
                  {"files", to_json(copies)}});
  }
  TextRows rows{{"kind", "size", "last use", "in use", "source"}};
  for (const Cached& copy : copies) {
    if (is_small(copy)) continue;
    rows.push_back({storage::to_string(copy.kind), format_bytes(copy.bytes),
                    fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(static_cast<std::time_t>(copy.used_s))),
                    copy.in_use ? "yes" : "", copy.source.empty() ? copy.file.string() : copy.source});
  }
  if (rows.size() > 1) fmt::print("{}", lined_up(rows));
  const std::string beside = small.empty() ? "" : fmt::format("; scans and notes: {}", sized(small));
  fmt::print("{}: {} of {}{}\n", folder, sized(bounded), format_bytes(limit), beside);
}

void run_clear(const CacheWords& words) {
  const storage::Removal removal = storage::remove_cached(storage::cache_folder(), chosen(words), words.dry_run);
  if (words.json) {
    print({{"freed_bytes", bytes_of(removal.removed)},
           {"removed", to_json(removal.removed)},
           {"in_use", to_json(removal.in_use)}});
  } else {
    for (const Cached& copy : removal.removed)
      if (words.dry_run) fmt::print("{}\n", copy.source.empty() ? copy.file.string() : copy.source);
    const std::string stay =
        removal.in_use.empty() ? "" : fmt::format("; in use: {}, which stay", sized(removal.in_use));
    fmt::print("{}: {}{}\n", words.dry_run ? "would be freed" : "freed", sized(removal.removed), stay);
  }
  if (!removal.error.empty()) throw environment_error(fmt::format("[cache] {}; check permissions", removal.error));
}

ordered_json to_json(const data::CheckedCopy& row) {
  ordered_json json = to_json(row.copy);
  json["state"] = data::to_string(row.state);
  if (!row.what.empty()) json["what"] = row.what;
  if (row.state == data::CopyState::kDamaged) json["removed"] = row.removed;
  return json;
}

FileEnd end_of(const data::CheckedCopy& row, bool keep) {
  if (row.state == data::CopyState::kUnread) return {row.what, static_cast<int>(ErrorCode::kEnvironment), false};
  if (row.state != data::CopyState::kDamaged) return {{}, 0, row.state == data::CopyState::kStopped};
  const char* const fate = row.removed ? "it has been removed, and is made again when it is wanted"
                           : keep      ? "linac cache verify without --keep removes it"
                                       : "in use, so it stays: verify again when no process uses it";
  const std::string from = row.copy.source.empty() ? "" : fmt::format(" (of {})", row.copy.source);
  return {fmt::format("[cache] {}{}: {}; {}", row.copy.file.string(), from, row.what, fate),
          static_cast<int>(ErrorCode::kData), false};
}

void run_verify(CacheWords& words) {
  const std::vector<Cached> copies = chosen(words);
  BytesBar bar("verify");
  words.check.stop = asked_to_stop();
  words.check.progress = [&](int64_t done, int64_t all) { bar.update(done, all); };
  const auto rows = data::check_cache(storage::cache_folder(), copies, words.check);
  bar.clear();
  std::vector<FileEnd> ends;
  std::vector<Cached> sound, unchecked;
  auto list = ordered_json::array();
  for (const data::CheckedCopy& row : rows) {
    ends.push_back(end_of(row, words.check.keep));
    if (row.state == data::CopyState::kSound) sound.push_back(row.copy);
    if (row.state == data::CopyState::kUnchecked) unchecked.push_back(row.copy);
    list.push_back(to_json(row));
  }
  if (words.json) {
    print(list);
  } else {
    const std::string others = unchecked.empty() ? "" : fmt::format("; without a checksum: {}", sized(unchecked));
    fmt::print("sound: {}{}\n", sized(sound), others);
  }
  need_all(ends, "cache", "read", "the same command begins anew");
}

CLI::App* add_part(CLI::App& verb, const std::shared_ptr<CacheWords>& words, const char* name, const char* summary,
                   const char* example) {
  auto* part = verb.add_subcommand(name, summary);
  part->add_option("what", words->what,
                   "only copies of these: URLs, paths, patterns of them in quotes, names of files in the cache");
  part->add_option("--older-than", words->older_than_days, "only what was not used for so many days")
      ->check(CLI::NonNegativeNumber)
      ->type_name("DAYS");
  part->add_flag("--json", words->json, "as JSON");
  part->footer(example);
  return part;
}

}  // namespace

void add_cache_verb(CLI::App& app) {
  auto* verb = add_handed_verb(app, "cache");
  verb->require_subcommand(1);
  verb->footer("Example: linac cache list");
  auto words = std::make_shared<CacheWords>();
  add_part(*verb, words, "list",
           "Says what lies in the cache folder: where it comes from, its size, its last use, whether a process uses it",
           "Examples:\n  linac cache list --older-than 30\n  linac cache list 's3://bucket/*' --json")
      ->callback([words] { run_list(*words); });

  auto* clear = add_part(*verb, words, "clear",
                         "Removes copies from the cache folder, all of them or those that are named; what a living "
                         "process uses stays",
                         "Examples:\n  linac cache clear --older-than 30\n  linac cache clear 's3://bucket/old/*'");
  clear->add_flag("--dry-run", words->dry_run, "say what would be removed");
  clear->callback([words] { run_clear(*words); });

  auto* verify = add_part(*verb, words, "verify",
                          "Reads what lies in the cache folder, compares it with its checksums and removes what is "
                          "damaged",
                          "Examples:\n  linac cache verify\n  linac cache verify --keep --json");
  verify->add_flag("--keep", words->check.keep, "only name what is damaged");
  verify->add_option("--jobs", words->check.jobs, "files at a time")->capture_default_str()->check(CLI::Range(1, 64));
  verify->callback([words] { run_verify(*words); });
}

}  // namespace linac::cli
