#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/cli/data/asked_to_stop.h"
#include "linac/cli/data/bytes_bar.h"
#include "linac/cli/data/data_verbs.h"
#include "linac/cli/data/file_ends.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/copy.h"

namespace linac::cli {
namespace {

struct CopyWords {
  std::vector<std::string> files;
  storage::CopyOptions options;
  bool no_verify = false, json = false;
};

std::string megabytes(int64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

void print_json(const std::vector<storage::CopiedFile>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const storage::CopiedFile& row : rows) {
    list.push_back({{"from", net::without_secrets(row.item.from)},
                    {"to", net::without_secrets(row.item.to)},
                    {"bytes", row.bytes},
                    {"sent", row.sent},
                    {"result", storage::to_string(row.result)}});
    if (!row.error.empty()) list.back()["error"] = row.error;
  }
  fmt::print("{}\n", list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

void print_rows(const std::vector<storage::CopiedFile>& rows, bool dry_run) {
  for (const storage::CopiedFile& row : rows) {
    if (row.result == storage::CopyResult::kFailed || row.result == storage::CopyResult::kStopped) continue;
    const std::string word =
        dry_run && row.result == storage::CopyResult::kCopied ? "would be copied" : storage::to_string(row.result);
    fmt::print("{}: {}, {}\n", net::without_secrets(row.item.to), word, megabytes(row.bytes));
  }
}

std::vector<FileEnd> ends_of(const std::vector<storage::CopiedFile>& rows) {
  std::vector<FileEnd> ends;
  for (const storage::CopiedFile& row : rows)
    ends.push_back({row.error, row.error_code, row.result == storage::CopyResult::kStopped});
  return ends;
}

void run_copy(CopyWords& words) {
  if (words.files.size() < 2) throw user_error("[copy] one name is given; give files, and then where they go");
  const std::string to = words.files.back();
  words.files.pop_back();
  const std::vector<storage::CopyItem> items = storage::plan_copy(words.files, to);
  BytesBar bar("copy", megabytes);
  words.options.verify = !words.no_verify;
  words.options.stop = asked_to_stop();
  words.options.progress = [&](int64_t done, int64_t all) { bar.update(done, all); };
  const std::vector<storage::CopiedFile> rows = storage::copy_files(items, words.options);
  bar.clear();
  if (words.json)
    print_json(rows);
  else
    print_rows(rows, words.options.dry_run);
  need_all(ends_of(rows), "copy", "copied", "the same command goes on");
}

}  // namespace

void add_data_copy(CLI::App& data) {
  auto words = std::make_shared<CopyWords>();
  auto* verb = data.add_subcommand(
      "copy", "Copies files between paths and stores: side by side, compared afterwards, going on where it stopped");
  verb->add_option("files", words->files, "paths, globs, URLs, folders (the files directly in them); then the target")
      ->required();
  verb->add_option("--jobs", words->options.jobs, "requests at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  verb->add_flag("--overwrite", words->options.overwrite, "replace targets that have another content");
  verb->add_flag("--no-verify", words->no_verify, "do not read back what was sent to another host");
  verb->add_flag("--dry-run", words->options.dry_run, "say what would be done");
  verb->add_flag("--json", words->json, "as JSON");
  verb->footer(
      "Examples:\n  linac data copy 's3://bucket/showers/part-*.h5' data/\n"
      "  linac data copy runs/a/models/model.keras s3://bucket/models/a.keras");
  verb->callback([words] { run_copy(*words); });
}

}  // namespace linac::cli
