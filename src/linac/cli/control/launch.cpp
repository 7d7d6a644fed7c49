#include <memory>

#include "linac/cli/control/launched.h"
#include "linac/cli/control/verbs.h"
#include "linac/sites/launching.h"
#include "linac/sites/sites_file.h"

namespace linac::cli {
namespace {

struct LaunchOptions {
  sites::Wishes wishes;
  std::string site, as;
  bool follow = false, dry_run = false;
};

void run_launch(const LaunchOptions& options) {
  const auto site = sites::find_site(options.site);
  const sites::Launch launch = sites::make_launch(*site, options.wishes);
  need_dry_run(options.as, options.dry_run);
  if (options.dry_run) return print_plan(options.as.empty() ? site->plan(launch) : site->plan_as(launch, options.as));
  const sites::Started started = sites::start(*site, launch, !options.wishes.name.empty());
  print_started(started, options.follow);
  if (!options.follow) return;
  if (const int status = follow_launch({options.site, started.kept.record.label})) throw CLI::RuntimeError(status);
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
  add_as_option(*verb, options->as);
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
