#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/base/base/bytes.h"
#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/cli/data/asked_to_stop.h"
#include "linac/cli/data/bytes_bar.h"
#include "linac/cli/data/data_verbs.h"
#include "linac/cli/data/file_ends.h"
#include "linac/io/data/verify/verify.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/storage.h"

namespace linac::cli {
namespace {

using data::VerifiedFile;
using data::VerifyResult;
using nlohmann::ordered_json;

struct VerifyWords {
  std::vector<std::string> files;
  data::VerifyOptions options;
  bool json = false;
};

std::string shown(const VerifiedFile& file) {
  return storage::is_remote(file.url) ? net::without_secrets(file.url) : file.url;
}

void print_json(const std::vector<VerifiedFile>& files) {
  auto list = ordered_json::array();
  for (const VerifiedFile& file : files) {
    auto damages = ordered_json::array();
    for (const data::Damage& one : file.damages) damages.push_back({{"where", one.where}, {"what", one.what}});
    list.push_back({{"file", shown(file)},
                    {"format", file.format},
                    {"bytes", file.bytes},
                    {"result", data::to_string(file.result)},
                    {"checked", file.checked},
                    {"has_checksums", file.has_checksums},
                    {"damaged_places", file.damages_in_all},
                    {"damaged", damages}});
    if (!file.error.empty()) list.back()["error"] = file.error;
  }
  fmt::print("{}\n", list.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

void print_rows(const std::vector<VerifiedFile>& files) {
  for (const VerifiedFile& file : files) {
    if (file.result == VerifyResult::kSound) {
      fmt::print("{}: sound: {}, {}\n", shown(file), file.checked, format_bytes(file.bytes));
      continue;
    }
    for (const data::Damage& one : file.damages) fmt::print("{}: damaged: {}: {}\n", shown(file), one.where, one.what);
    const auto left_out = file.damages_in_all - static_cast<int64_t>(file.damages.size());
    if (left_out > 0) fmt::print("{}: and {} more\n", shown(file), plural(left_out, "place"));
  }
}

FileEnd end_of(const VerifiedFile& file) {
  if (file.result == VerifyResult::kFailed) return {file.error, file.error_code, false};
  if (file.result != VerifyResult::kDamaged) return {{}, 0, file.result == VerifyResult::kStopped};
  return {fmt::format("[verify] {}: damaged in {}, first in {}; copy or write the file again", shown(file),
                      plural(file.damages_in_all, "place"), file.damages.front().where),
          static_cast<int>(ErrorCode::kData), false};
}

void run_verify(VerifyWords& words) {
  std::vector<std::string> urls;
  std::vector<FileEnd> ends;
  // A name that leads nowhere does not end the others.
  for (const std::string& name : words.files) {
    try {
      for (std::string& url : storage::expand(name)) urls.push_back(std::move(url));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kUser) throw;
      ends.push_back({error.what(), static_cast<int>(error.code()), false});
    }
  }
  BytesBar bar("verify");
  words.options.stop = asked_to_stop();
  words.options.progress = [&](int64_t done, int64_t all) { bar.update(done, all); };
  const std::vector<VerifiedFile> files = data::verify_files(urls, words.options);
  bar.clear();
  if (words.json)
    print_json(files);
  else
    print_rows(files);
  for (const VerifiedFile& file : files) ends.push_back(end_of(file));
  need_all(ends, "verify", "read to the end", "the same command begins anew");
}

}  // namespace

void add_data_verify(CLI::App& data) {
  auto words = std::make_shared<VerifyWords>();
  auto* verb = data.add_subcommand(
      "verify", "Reads files to their last byte and compares every checksum that they have; names what is damaged");
  verb->add_option("files", words->files, "HDF5, Parquet, ROOT or TFRecord files: paths, globs, URLs")->required();
  verb->add_option("--jobs", words->options.jobs, "files at a time")->capture_default_str()->check(CLI::Range(1, 64));
  verb->add_flag("--json", words->json, "as JSON");
  verb->footer("Examples:\n  linac data verify 'data/*.h5'\n  linac data verify 's3://bucket/part-*.tfrecord' --json");
  verb->callback([words] { run_verify(*words); });
}

}  // namespace linac::cli
