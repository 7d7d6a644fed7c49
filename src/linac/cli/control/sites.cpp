#include <fmt/format.h>

#include <memory>

#include "linac/base/base/error.h"
#include "linac/base/base/text_table.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/sites/launching.h"
#include "linac/control/sites/sites_file.h"

namespace linac::cli {
namespace {

void run_list() {
  const auto all = sites::read_sites();
  TextRows rows{{"SITE", "KIND", "FOLDER"}};
  for (const auto& site : all) rows.push_back({site->name(), site->common().kind, site->common().folder});
  if (all.empty())
    fmt::print("no sites in {}; `linac sites init KIND` shows what to put there\n", sites::sites_file().string());
  else
    fmt::print("{}", lined_up(rows));
}

void run_check(const std::string& name, const std::string& job_file, const std::vector<std::string>& overrides) {
  const auto site = sites::find_site(name);
  std::unique_ptr<job::Job> job;
  if (!job_file.empty()) job = std::make_unique<job::Job>(sites::resolved_job(job_file, overrides));
  if (!print_findings(site->check(job.get()))) throw CLI::RuntimeError(static_cast<int>(ErrorCode::kEnvironment));
}

}  // namespace

void add_sites_verb(CLI::App& app) {
  auto* verb = app.add_subcommand("sites", "The places to which `linac launch` brings jobs");
  verb->require_subcommand(1);

  auto* list = verb->add_subcommand("list", "Those of the file ~/.config/linac/sites.yaml, or LINAC_SITES");
  list->footer("Example: linac sites list");
  list->callback(run_list);

  struct CheckOptions {
    std::string site, job;
    std::vector<std::string> overrides;
  };
  auto options = std::make_shared<CheckOptions>();
  auto* check = verb->add_subcommand("check", "Whether a launch could begin there; starts nothing and costs nothing");
  check->add_option("site", options->site, "its name")->required();
  check->add_option("--job", options->job, "also whether the files of this job are there");
  check->add_option("--set", options->overrides, "override a setting of the job: key=value")
      ->type_size(1)
      ->allow_extra_args(false);
  check->footer("Example: linac sites check farm --job examples/topology.yaml");
  check->callback([options] { run_check(options->site, options->job, options->overrides); });

  auto kind = std::make_shared<std::string>();
  auto* init = verb->add_subcommand("init", "Prints a site of a kind with all its settings, for the file of sites");
  init->add_option("kind", *kind, sites::words_of_kinds())->required();
  init->footer("Example: linac sites init slurm >> ~/.config/linac/sites.yaml");
  init->callback([kind] { fmt::print("{}", sites::sample_site(*kind)); });
}

}  // namespace linac::cli
