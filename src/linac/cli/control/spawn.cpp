#include <fmt/format.h>

#include <memory>

#include "linac/base/base/error.h"
#include "linac/base/base/text_table.h"
#include "linac/cli/control/launched.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/sites/abilities.h"
#include "linac/control/sites/script/spawning.h"
#include "linac/control/sites/sites_file.h"

namespace linac::cli {
namespace {

struct SpawnOptions {
  sites::SpawnWishes wishes;
  std::string site, name_space, image, as, fetch;
  bool random_name = false, remove = false, follow = false, dry_run = false, no_check = false;

  /// Of the site's settings.
  std::map<std::string, std::string> changes() const {
    std::map<std::string, std::string> all;
    if (!name_space.empty()) all["namespace"] = name_space;
    if (!image.empty()) all["image"] = image;
    return all;
  }
};

// Before anything costs money.
void check(const sites::Site& site, const sites::Launch& launch) {
  const auto* scripts = site.as<sites::RunsScripts>();
  if (scripts == nullptr) return;  // its plan says so
  std::vector<sites::Finding> findings = scripts->look_at_script(launch);
  std::erase_if(findings,
                [](const sites::Finding& finding) { return finding.good && finding.what == sites::kReached; });
  if (!print_findings(findings))
    throw user_error(
        fmt::format("[spawn] {}: it could not begin at {}; nothing was started (--no-check starts it "
                    "nevertheless)",
                    launch.script->name, site.name()));
}

std::unique_ptr<sites::Site> site_of(const SpawnOptions& options) {
  const auto changes = options.changes();
  if (changes.empty()) return sites::find_site(options.site);
  if (const auto plain = sites::find_site(options.site); plain->as<sites::RunsPods>() == nullptr)
    throw user_error(
        fmt::format("[spawn] {}: is of the kind {}, which has no image and no namespace; leave -i and -n out",
                    options.site, plain->common().kind));
  return sites::find_site(options.site, changes);
}

// What it has written, where that lies elsewhere.
void fetch(const sites::Site& site, const sites::Record& record, const std::string& folder) {
  sites::fetch_written(site, record, folder);
  fmt::print("fetched  {}\n", folder);
}

void run_spawn(SpawnOptions options) {
  if (options.remove) {
    if (options.wishes.name.empty())
      throw user_error(
          fmt::format("[spawn] --delete: say which one, --name NAME; `linac status {}:` lists them", options.site));
    return delete_launch({options.site, options.wishes.name});
  }
  if (options.wishes.file.empty() && !options.fetch.empty() && !options.wishes.name.empty()) {
    const sites::KeptLaunch kept = sites::find_launch(options.site, options.wishes.name, true);
    return fetch(*sites::find_site(options.site, kept.record.changes), kept.record, options.fetch);
  }
  if (options.wishes.file.empty()) throw user_error("[spawn] no script; linac spawn --help shows how one is named");
  if (options.random_name) options.wishes.name.clear();
  const auto site = site_of(options);
  if (!options.fetch.empty() && !sites::is_apart(*site))
    throw user_error(
        fmt::format("[spawn] --fetch: what a script writes at {} lies where this host sees it, or is not "
                    "fetched from there; leave it out",
                    options.site));
  const sites::Launch launch = sites::make_spawn(*site, options.wishes);
  need_dry_run(options.as, options.dry_run);
  if (options.dry_run)
    return print_plan(options.as.empty() ? site->plan(launch) : sites::plan_as(*site, launch, options.as));
  if (!options.no_check) check(*site, launch);
  const sites::Started started = sites::start(*site, launch, !options.wishes.name.empty(), options.changes());
  print_started(started, options.follow);
  if (!options.follow) return;
  const LaunchName name{options.site, started.kept.record.label};
  const int status = follow_launch(name);
  if (sites::is_apart(*site) || !options.fetch.empty())
    fetch(*site, started.kept.record, options.fetch.empty() ? name.label : options.fetch);
  if (site->facts().forgets) cancel_launch(name);  // all has been seen of it
  if (status != 0) throw CLI::RuntimeError(status);
}

}  // namespace

void add_spawn_verb(CLI::App& app) {
  auto options = std::make_shared<SpawnOptions>();
  sites::SpawnWishes& wishes = options->wishes;
  sites::Script& script = wishes.script;
  auto* verb = app.add_subcommand(
      "spawn",
      "Runs a Python script of any framework on several workers of a site, with TF_CONFIG and torchrun's variables");
  verb->add_option("script", wishes.file, "the script; what it imports has to be there, or to come by --pip");
  verb->add_option("arguments", script.arguments, "of the script, behind --");
  verb->add_option("--on", options->site, "the site, by its name in the file of sites (linac sites list)")->required();
  verb->add_option("-w,--workers", script.workers, "how many, besides --chief and --ps")->capture_default_str();
  verb->add_flag("--chief", script.chief, "one more worker, whose task is chief");
  verb->add_option("--ps", script.ps, "so many parameter servers more; they are stopped when the others are done");
  verb->add_option("-t,--tag,--name", wishes.name, "of the launch; a second one of the same name is the first");
  verb->add_flag("-r,--randomize-tag", options->random_name, "a name that nobody has yet (also without a name)");
  verb->add_option("-e,--env-file", wishes.env_file, "a file of variables, NAME=VALUE a line; their values are secret");
  verb->add_option("--pip", wishes.pip, "packages to install there for it, or a file of requirements")
      ->type_size(1)
      ->allow_extra_args(false);
  verb->add_option("--data", script.data, "a path there, or URL, that the script reads (LINAC_DATA); looked for before")
      ->type_size(1)
      ->allow_extra_args(false);
  verb->add_option("-c,--command", wishes.entry_file,
                   "a file of bash that starts the script ($LINAC_SCRIPT); ends at the first command that fails");
  verb->add_option("-p,--port", script.port, "of the workers (default: a free one; under Kubernetes 1999)");
  verb->add_option("-n,--namespace", options->name_space, "of Kubernetes (default: the site's)");
  verb->add_option("-i,--image", options->image, "for Kubernetes (default: the site's)");
  verb->add_option("--pod-file", wishes.pod_file, "a pod of Kubernetes (YAML) that the workers are like");
  verb->add_option("--restarts", script.restarts, "so often all begin again when one has failed")
      ->capture_default_str();
  verb->add_option("--time", wishes.time, "limit of each start, e.g. 90m or 4h (default: the site's)");
  verb->add_option("--dry-run-arg", script.trial,
                   "the script's argument for one step, with which it is tried on one host before");
  verb->add_flag("--no-check", options->no_check, "start it without looking at it before");
  verb->add_flag("-f,--follow", options->follow, "show what all workers print, and end as it ends");
  verb->add_option("--fetch", options->fetch,
                   "folder here for what it has written, behind --follow (default where this host does not see it: its "
                   "name); without a script of the one of --name");
  verb->add_flag("--dry-run", options->dry_run, "print the files and commands that it would be, and do nothing");
  add_as_option(*verb, options->as);
  verb->add_flag("-d,--delete", options->remove, "stop the one of --name, wait for it, and remove what lies there");
  verb->footer(
      "Examples:\n"
      "  linac spawn train.py --on farm --workers 8 --follow -- --epochs 10\n"
      "  linac spawn train.py --on k8s -w 2 -t calo-1 -i tensorflow/tensorflow:2.21.0 -e s3.env\n"
      "  linac spawn train.py --on here --pip numpy --dry-run-arg --one-step\n"
      "  linac logs -f k8s:calo-1\n"
      "  linac spawn -d -t calo-1 --on k8s\n"
      "The script works in a folder of the launch (LINAC_OUT); docs/guide/launch.md has all that it is told.");
  verb->callback([options] { run_spawn(*options); });
}

}  // namespace linac::cli
