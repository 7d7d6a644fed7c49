#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "linac/base/base/error.h"
#include "linac/base/base/text_table.h"
#include "linac/cli/common/service_options.h"
#include "linac/cli/control/artifacts_upload.h"
#include "linac/cli/control/launched.h"
#include "linac/cli/control/launched_files.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/client/run_copy.h"
#include "linac/control/client/runs.h"

namespace linac::cli {
namespace {

using nlohmann::json;

struct ArtifactOptions {
  ServiceOptions service;
  std::string run, path, file;
  bool all = false;
};

using Listed = client::ListedFile;

void list_folder(client::ServiceClient& service, const std::string& run, const std::string& path, bool all,
                 std::vector<Listed>& found) {
  for (const Listed& entry : client::files_of_run(service, run, path)) {
    found.push_back(entry);
    if (entry.folder && all) list_folder(service, run, entry.path, all, found);
  }
}

void run_list(const ArtifactOptions& options) {
  if (const auto launch = launch_named(options.run))
    return list_launch_files(*launch, options.path, options.all, options.service.json);
  client::ServiceClient service = options.service.connect();
  std::vector<Listed> found;
  list_folder(service, client::find_run(service, options.run), options.path, options.all, found);
  json entries = json::array();
  std::vector<std::vector<std::string>> rows;
  for (const Listed& entry : found) {
    entries.push_back({{"path", entry.path}, {"folder", entry.folder}, {"bytes", entry.bytes}});
    rows.push_back({entry.folder ? "-" : std::to_string(entry.bytes), entry.path + (entry.folder ? "/" : "")});
  }
  fmt::print("{}", options.service.json ? entries.dump(2) + "\n" : lined_up(rows));
}

void run_get(const ArtifactOptions& options) {
  if (const auto launch = launch_named(options.run)) return get_launch_files(*launch, options.path, options.file);
  client::ServiceClient service = options.service.connect();
  const std::string run = client::find_run(service, options.run);
  const std::string leaf = std::filesystem::path(options.path).filename().string();
  const std::filesystem::path target =
      options.file.empty() ? std::filesystem::path(leaf.empty() ? "." : leaf) : std::filesystem::path(options.file);
  std::vector<Listed> files;
  list_folder(service, run, options.path, true, files);
  std::erase_if(files, [](const Listed& entry) { return entry.folder; });
  if (files.empty()) {
    const int64_t bytes = service.download(client::file_address(run, options.path), target);
    fmt::print("{}  {} bytes\n", target.string(), bytes);
    return;
  }
  for (const Listed& entry : files) {
    const std::string inside = entry.path.substr(options.path.empty() ? 0 : options.path.size() + 1);
    const auto place = client::place_below(target, inside);
    fmt::print("{}  {} bytes\n", place.string(), service.download(client::file_address(run, entry.path), place));
  }
}

void run_put(const ArtifactOptions& options) {
  if (launch_named(options.run))
    throw user_error(
        fmt::format("[artifacts] {}: files are added to runs of a service alone; copy it there by scp, or "
                    "`linac data copy` to an object store",
                    options.run));
  client::ServiceClient service = options.service.connect();
  const std::string run = client::find_run(service, options.run);
  const std::filesystem::path file = options.file;
  const std::string path = options.path.empty() ? file.filename().string() : options.path;
  service.upload(client::file_address(run, path), file);
  fmt::print("{}\n", path);
}

// All of it, into a folder of its name.
void run_whole(ArtifactOptions options) {
  if (const auto launch = launch_named(options.run)) return get_launch_files(*launch, "", options.file);
  if (options.file.empty()) options.file = client::place_below(".", options.run);
  run_get(options);
}

}  // namespace

void add_artifacts_verb(CLI::App& app) {
  auto* verb = app.add_subcommand("artifacts", "Files of a run: all of them, or list, get, put; upload to Rucio");
  verb->require_subcommand(0, 1);
  auto whole = std::make_shared<ArtifactOptions>();
  verb->add_option("run", whole->run, "all of its files: name, id, or the beginning of an id; SITE:NAME for a launch");
  verb->add_option("--out", whole->file, "folder here for all of them (default: of the run's name)");
  add_service_options(*verb, whole->service);
  verb->callback([verb, whole] {
    if (!verb->get_subcommands().empty()) return;
    if (whole->run.empty())
      throw user_error("[artifacts] of which run? linac artifacts RUN, or list, get, put, upload");
    run_whole(*whole);
  });
  const auto sub = [&](const char* name, const char* what) {
    auto options = std::make_shared<ArtifactOptions>();
    auto* action = verb->add_subcommand(name, what);
    action->add_option("run", options->run, "name, id, or the beginning of an id; SITE:NAME for a launch")->required();
    add_service_options(*action, options->service);
    return std::pair(action, options);
  };
  const auto [list, list_options] = sub("list", "What there is");
  list->add_option("path", list_options->path, "of a folder");
  list->add_flag("--all", list_options->all, "with all folders below");
  list->callback([options = list_options] { run_list(*options); });
  const auto [get, get_options] = sub("get", "Fetches a file or a whole folder");
  get->add_option("path", get_options->path, "of a file or a folder of the run")->required();
  get->add_option("to", get_options->file, "file or folder here (default: the same name)");
  get->callback([options = get_options] { run_get(*options); });
  const auto [put, put_options] = sub("put", "Adds a file");
  put->add_option("file", put_options->file, "here")->required()->check(CLI::ExistingFile);
  put->add_option("path", put_options->path, "its place among the run's files (default: its name)");
  put->callback([options = put_options] { run_put(*options); });
  add_artifacts_upload(*verb);
  verb->footer(
      "Examples:\n"
      "  linac artifacts farm:topology --out topology   # what a launch has left, and what is new since\n"
      "  linac artifacts list topology\n"
      "  linac artifacts get topology models/model.keras\n"
      "  linac artifacts put topology notes.md notes/first.md\n"
      "  linac artifacts upload runs/a --did user.me:topology.v1 --rse CERN-EOS");
}

}  // namespace linac::cli
