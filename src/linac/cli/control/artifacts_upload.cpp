#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "linac/base/base/error.h"
#include "linac/cli/control/artifacts_upload.h"
#include "linac/io/storage/rucio/publish.h"

namespace linac::cli {
namespace {

namespace fs = std::filesystem;

struct UploadOptions {
  std::string run, did, rse;
  bool json = false;
};

/// What others may use of a run: the job, its record, models, plots and reports. Not checkpoints, logs and the workers'
/// key.
std::vector<fs::path> files_of(const fs::path& run) {
  if (!fs::is_regular_file(run / "job.yaml"))
    throw user_error(fmt::format("[artifacts] {}: no folder of a run (it has no job.yaml); name one", run.string()));
  std::vector<fs::path> files;
  for (const char* name : {"job.yaml", "run.json", "metrics.jsonl"})
    if (fs::is_regular_file(fs::symlink_status(run / name))) files.emplace_back(name);
  for (const char* folder : {"models", "images", "report"}) {
    if (!fs::is_directory(fs::symlink_status(run / folder))) continue;
    for (const auto& entry : fs::recursive_directory_iterator(run / folder))
      if (entry.is_regular_file() && !entry.is_symlink()) files.push_back(entry.path().lexically_relative(run));
  }
  std::sort(files.begin(), files.end());
  return files;
}

void run_upload(const UploadOptions& options) {
  namespace rucio = storage::rucio;
  const rucio::Did did = rucio::parse_did("rucio://" + options.did);
  std::vector<rucio::PublishedFile> files;
  for (const fs::path& file : files_of(options.run))
    files.push_back({.path = fs::path(options.run) / file, .name = did.name + "." + rucio::name_of(file.string())});
  const auto published = rucio::publish(did, std::move(files), options.rse, [&](const rucio::PublishedFile& file) {
    if (!options.json) fmt::print("{:>12}  {}\n", file.bytes, file.url);
  });
  if (options.json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const rucio::PublishedFile& file : published)
      rows.push_back({{"did", did.scope + ":" + file.name}, {"bytes", file.bytes}, {"url", file.url}});
    fmt::print("{}\n", nlohmann::ordered_json{{"did", options.did}, {"rse", options.rse}, {"files", rows}}.dump(1));
    return;
  }
  fmt::print("{}: {} files, kept at {}; linac data copy {} FOLDER/ fetches them\n", options.did, published.size(),
             options.rse, did.url());
}

}  // namespace

void add_artifacts_upload(CLI::App& artifacts) {
  auto options = std::make_shared<UploadOptions>();
  auto* verb = artifacts.add_subcommand("upload", "Makes a run's model, plots, report and record a data set in Rucio");
  verb->add_option("run", options->run, "folder of the run, here")->required()->check(CLI::ExistingDirectory);
  verb->add_option("--did", options->did, "SCOPE:NAME of the new data set")->required();
  verb->add_option("--rse", options->rse, "storage element that takes and keeps the files")->required();
  verb->add_flag("--json", options->json, "as JSON");
  verb->footer(
      "Rucio, account and token are those of Rucio's client (docs/guide/data.md).\n"
      "Example: linac artifacts upload runs/a --did user.me:topology.v1 --rse CERN-EOS");
  verb->callback([options] { run_upload(*options); });
}

}  // namespace linac::cli
