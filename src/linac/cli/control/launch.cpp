#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "linac/base/plural.h"
#include "linac/cli/control/launched.h"
#include "linac/cli/control/verbs.h"
#include "linac/sites/launching.h"
#include "linac/sites/sites_file.h"

namespace linac::cli {
namespace {

struct LaunchOptions {
  sites::Wishes wishes;
  std::string site;
  bool follow = false, dry_run = false;
};

void print_plan(const std::vector<sites::PlannedStep>& steps) {
  for (const sites::PlannedStep& step : steps)
    fmt::print("{}{}{}", step.title.empty() ? "" : fmt::format("=== {}\n", step.title), step.text,
               step.text.ends_with('\n') ? "" : "\n");
}

void run_launch(const LaunchOptions& options) {
  const auto site = sites::find_site(options.site);
  const sites::Launch launch = sites::make_launch(*site, options.wishes);
  if (options.dry_run) return print_plan(site->plan(launch));
  const sites::Started started = sites::start(*site, launch, !options.wishes.name.empty());
  const sites::Record& record = started.kept.record;
  const std::string name = options.site + ":" + record.label;
  fmt::print("{}  {}{}\n", name, plural(started.kept.launch.workers, "worker"),
             started.found ? ", as it was launched before" : "");
  fmt::print("  run     {}\n", record.out);
  if (record.id != record.label) fmt::print("  job     {}\n", record.id);
  if (!options.follow) fmt::print("  linac logs -f {}\n", name);
  std::fflush(stdout);
  if (!options.follow) return;
  const int status = print_launch_log({options.site, record.label}, 0, true);
  print_launch({options.site, record.label}, false);
  if (status != 0) throw CLI::RuntimeError(status);
}

}  // namespace

void add_launch_verb(CLI::App& app) {
  auto options = std::make_shared<LaunchOptions>();
  auto* verb =
      app.add_subcommand("launch", "Brings a job to a site: other hosts, or a cluster with Slurm or Kubernetes");
  verb->add_option("job", options->wishes.job, "job file (YAML)")->required()->check(CLI::ExistingFile);
  verb->add_option("--on", options->site, "the site, by its name in the file of sites (linac sites list)")->required();
  verb->add_option("--workers", options->wishes.workers,
                   "N or MIN:MAX; never changes the result (default: all of the site's hosts, else the job's)");
  verb->add_option("--time", options->wishes.time, "limit of each start, e.g. 90m or 4h (default: the site's)");
  verb->add_option("--out", options->wishes.out,
                   "folder of the run there, or s3://BUCKET/FOLDER (default: the site's)");
  verb->add_option(
      "--name", options->wishes.name,
      "of the launch (default: the job's, time and chance); a second launch of the same name is the first");
  verb->add_option("--set", options->wishes.overrides, "override a setting of the job: key=value")
      ->type_size(1)
      ->allow_extra_args(false);
  verb->add_flag("-f,--follow", options->follow, "show its log, and end as it ends");
  verb->add_flag("--dry-run", options->dry_run, "print the files and commands that it would be, and do nothing");
  verb->footer(
      "Examples:\n"
      "  linac launch examples/topology.yaml --on farm --workers 8 --time 4h --follow\n"
      "  linac launch examples/topology.yaml --on farm --dry-run\n"
      "  linac status farm:            # all launches there\n"
      "  linac logs -f farm:topology   # the latest one whose name begins so\n"
      "  linac cancel farm:topology-20260131-140509-3fa4\n"
      "The file of sites is ~/.config/linac/sites.yaml, or LINAC_SITES; `linac sites init slurm` shows one.");
  verb->callback([options] { run_launch(*options); });
}

}  // namespace linac::cli
