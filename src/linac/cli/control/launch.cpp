#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>

#include "linac/base/base/amounts.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/signals.h"
#include "linac/cli/control/launched.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/sites/abilities.h"
#include "linac/control/sites/arrays.h"
#include "linac/control/sites/exclude.h"
#include "linac/control/sites/launching.h"
#include "linac/control/sites/memory.h"
#include "linac/control/sites/moves.h"
#include "linac/control/sites/parts.h"
#include "linac/control/sites/sites_file.h"

namespace linac::cli {
namespace {

struct LaunchOptions {
  sites::ArrayWishes wishes;
  std::string site, as;
  std::string then, deadline, work, recovery = "5m", checkpoint = "10m";
  std::string relay, relay_key, wait;
  std::string exclude;
  bool follow = false, dry_run = false, no_check = false;
};

bool was_started(const sites::Site& site, const std::string& name) {
  return std::ranges::any_of(sites::kept_launches(site.name()), [&](const sites::KeptLaunch& kept) {
    return kept.submitted && (kept.record.label == name || kept.record.array == name);
  });
}

// Before anything costs money. What is in order is not told.
void check(const LaunchOptions& options, const sites::Site& site) {
  const std::string& name = options.wishes.each.name;
  if (options.no_check || (!name.empty() && was_started(site, name))) return;
  for (const std::string& file : options.wishes.jobs) {
    const job::Job job = sites::resolved_job(file, options.wishes.each.overrides);
    std::vector<sites::Finding> findings = site.check(&job);
    std::ranges::move(sites::over_budget(job), std::back_inserter(findings));
    const int workers = sites::make_launch(site, job, options.wishes.each).workers;
    std::ranges::move(sites::over_memory(site, job, workers), std::back_inserter(findings));
    for (const sites::Finding& finding : findings)
      if (finding.doubtful) log::warn(fmt::format("{}: {}: {}", site.name(), finding.what, finding.text));
    std::erase_if(findings, &sites::Finding::good);
    if (!print_findings(findings))
      throw environment_error(
          fmt::format("[launch] {}: it could not begin at {}; nothing was started (--no-check starts it nevertheless)",
                      file, site.name()));
  }
}

void run_array(const LaunchOptions& options, const sites::Site& site) {
  if (options.follow || !options.as.empty())
    throw user_error(fmt::format("[launch] {}: is for one job; `linac logs -f {}:NAME` follows one of several",
                                 options.follow ? "--follow" : "--as", options.site));
  const sites::TakesArrays& takes = sites::arrays_of(site);
  const sites::Array array = sites::make_array(site, options.wishes);
  if (options.dry_run) return print_plan(takes.plan_array(array));
  check(options, site);
  for (const sites::Started& one : sites::start_array(site, array, !options.wishes.each.name.empty()))
    print_started(one, true);
}

// Between two sites.
void run_moves(const LaunchOptions& options) {
  const auto need = [](bool holds, const std::string& what) {
    if (!holds) throw user_error("[launch] --then: " + what);
  };
  sites::MoveWishes wishes{options.wishes.each, options.site, options.then, {}};
  need(!options.deadline.empty() && !options.work.empty(),
       "give --deadline, and --work, what the whole training takes there without interruption, e.g. --work 6h");
  need(!wishes.each.name.empty(), "give a --name; the same command goes on with it");
  need(!wishes.each.out.empty(), "give --out, a folder of the run that both sites reach, or s3://BUCKET/FOLDER");
  need(options.then != options.site, "two sites are needed; the one whose machines may be taken away is --on");
  need(options.wishes.jobs.size() == 1 && options.wishes.seeds.empty() && options.wishes.at_once == 0,
       "is for one job");
  need(!options.dry_run && options.as.empty(), "has no dry run; see that of each site");
  wishes.each.job = options.wishes.jobs.front();
  const auto seconds = [](const char* option, const std::string& text) {
    return static_cast<double>(seconds_of(std::string("[launch] ") + option, text));
  };
  wishes.job = {seconds("--work", options.work), seconds("--deadline", options.deadline),
                seconds("--recovery", options.recovery), seconds("--checkpoint", options.checkpoint)};
  const auto spot = sites::find_site(options.site), on_demand = sites::find_site(options.then);
  const plan::Worth &cheap = spot->common().plan, &dear = on_demand->common().plan;
  const double spot_price = cheap.spot_price > 0 ? cheap.spot_price : cheap.price;
  if (spot_price > 0 && dear.price > 0) wishes.job.price_part = spot_price / dear.price;
  check(options, *spot);
  check(options, *on_demand);
  catch_stop_signals();
  const sites::Standing end = sites::follow_moves(wishes, [](const std::string& line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
  });
  fmt::print("{}{}\n", job::to_string(end.state), end.reason.empty() ? "" : ": " + end.reason);
  if (!job::ended(end.state)) throw CLI::RuntimeError(static_cast<int>(ErrorCode::kPreempted));
  if (const int status = end.exit ? *end.exit : job::exit_status(end.state)) throw CLI::RuntimeError(status);
}

// One training at several sites.
void run_parts(const LaunchOptions& options, const std::vector<sites::PartWish>& wishes) {
  const auto need = [](bool holds, const std::string& what) {
    if (!holds) throw user_error("[launch] --on: several sites: " + what);
  };
  const sites::ArrayWishes& all = options.wishes;
  need(all.jobs.size() == 1 && all.seeds.empty() && all.at_once == 0, "are for one job");
  need(all.each.workers.empty(), "leave --workers out; each site has its own, as farm:8,k8s:16");
  need(options.as.empty() && options.then.empty(), "neither --as nor --then is for them");
  sites::Wishes each = all.each;
  each.job = all.jobs.front();
  sites::Meeting meeting{options.relay, "", options.wait.empty() ? 0 : seconds_of("[launch] --wait", options.wait)};
  if (const char* const relay = std::getenv("LINAC_RELAY"); meeting.relay.empty() && relay != nullptr)
    meeting.relay = relay;
  meeting.pass_key = options.relay_key;
  if (const char* const file = std::getenv("LINAC_RELAY_KEY_FILE"); meeting.pass_key.empty() && file != nullptr)
    meeting.pass_key = file;
  const sites::Parts parts = sites::make_parts(wishes, each, meeting);
  if (options.dry_run) {
    for (const sites::Part& part : parts.all) print_plan(part.site->plan(part.launch));
    return;
  }
  for (size_t i = 0; i < parts.all.size(); ++i) {
    LaunchOptions one = options;
    one.wishes.each.workers = wishes[i].workers;
    check(one, *parts.all[i].site);
    if (!options.no_check && !print_findings(sites::look_at_relay(parts.all[i], meeting.relay)))
      throw environment_error(
          fmt::format("[launch] {}: it could not begin at {}; nothing was started (--no-check starts it nevertheless)",
                      each.job, parts.all[i].site->name()));
  }
  fmt::print("{}\n", parts.name);  // whoever loses this client finds them by it
  std::fflush(stdout);
  for (const sites::Started& started : sites::start_parts(parts)) print_started(started, true);
  if (!options.follow) {
    fmt::print("  linac logs -f {}\n", parts.name);
    return;
  }
  if (const int status = follow_launch(*launch_named(parts.name))) throw CLI::RuntimeError(status);
}

void run_launch(const LaunchOptions& asked) {
  LaunchOptions options = asked;
  if (!options.exclude.empty())
    options.wishes.each.exclude = sites::hosts_in_words(options.exclude, "[launch] --exclude");
  const std::vector<sites::PartWish> parts = sites::part_wishes(options.site);
  if (parts.size() > 1) return run_parts(options, parts);
  options.site = parts.front().site;
  if (!parts.front().workers.empty()) {
    if (!options.wishes.each.workers.empty())
      throw user_error(
          fmt::format("[launch] --on {}: it says how many workers, and so does --workers; leave one out", asked.site));
    options.wishes.each.workers = parts.front().workers;
  }
  if (!options.relay.empty() || !options.relay_key.empty() || !options.wait.empty())
    throw user_error(
        "[launch] --relay, --relay-key, --wait: are for several sites, e.g. --on farm:8,k8s:16; leave them out");
  if (!options.then.empty()) return run_moves(options);
  if (!options.deadline.empty() || !options.work.empty())
    throw user_error("[launch] --deadline, --work: are for a job that moves between two sites; name the other --then");
  const auto site = sites::find_site(options.site);
  need_dry_run(options.as, options.dry_run);
  if (options.wishes.jobs.size() > 1 || !options.wishes.seeds.empty()) return run_array(options, *site);
  if (options.wishes.at_once != 0)
    throw user_error("[launch] --at-once: is for several jobs, or --seeds; leave it out");
  sites::Wishes wishes = options.wishes.each;
  wishes.job = options.wishes.jobs.front();
  const sites::Launch launch = sites::make_launch(*site, wishes);
  if (options.dry_run)
    return print_plan(options.as.empty() ? site->plan(launch) : sites::plan_as(*site, launch, options.as));
  check(options, *site);
  const sites::Started started = sites::start(*site, launch, !wishes.name.empty());
  print_started(started, options.follow);
  if (!options.follow) return;
  if (const int status = follow_launch({options.site, started.kept.record.label})) throw CLI::RuntimeError(status);
}

}  // namespace

void add_launch_verb(CLI::App& app) {
  auto options = std::make_shared<LaunchOptions>();
  auto* verb =
      app.add_subcommand("launch", "Brings a job to a site: other hosts, or a cluster with Slurm or Kubernetes");
  sites::Wishes& wishes = options->wishes.each;
  verb->add_option("jobs", options->wishes.jobs, "job file (YAML); several are one array of Slurm")
      ->required()
      ->check(CLI::ExistingFile);
  verb->add_option("--on", options->site,
                   "the site, by its name in the file of sites (linac sites list); or several, with their workers, for "
                   "one training over all of them: farm:8,k8s:16")
      ->required();
  verb->add_option("--relay", options->relay,
                   "HOST:PORT at which the workers of several sites meet (linac relay), or two of them behind a comma "
                   "(default: LINAC_RELAY)");
  verb->add_option("--relay-key", options->relay_key,
                   "with --relay, file of a key whose user the relay lists (linac relay key; default: "
                   "LINAC_RELAY_KEY_FILE)");
  verb->add_option("--wait", options->wait,
                   "so long the workers of one of several sites wait for those of the others, which may be in a "
                   "queue, e.g. 12h (default: 10m)");
  verb->add_option("--workers", wishes.workers,
                   "N or MIN:MAX; never changes the result (default: all of the site's hosts, else the job's)");
  verb->add_option("--time", wishes.time, "limit of each start, e.g. 90m or 4h (default: the site's)");
  verb->add_option("--exclude", options->exclude,
                   "HOST,...: it keeps away from these, beside those of the site's `exclude`");
  verb->add_option("--out", wishes.out, "folder of the run there, or s3://BUCKET/FOLDER (default: the site's)");
  verb->add_option(
      "--name", wishes.name,
      "of the launch (default: the job's, time and chance); a second launch of the same name is the first");
  verb->add_option("--set", wishes.overrides, "override a setting of the job: key=value")
      ->type_size(1)
      ->allow_extra_args(false);
  verb->add_option("--seeds", options->wishes.seeds,
                   "FIRST:LAST; each job with each of these seeds, as one array of Slurm");
  verb->add_option("--at-once", options->wishes.at_once,
                   "so many jobs of an array run at the same time (default: all)");
  verb->add_option("--then", options->then,
                   "a site whose machines stay, for when those of --on are taken away or cannot be had");
  verb->add_option("--deadline", options->deadline, "with --then: all is done so long after the begin, e.g. 8h");
  verb->add_option("--work", options->work, "with --then: what the whole training takes without interruption");
  verb->add_option("--recovery", options->recovery, "with --then: from a start to the first step")
      ->capture_default_str();
  verb->add_option("--checkpoint", options->checkpoint, "with --then: from one checkpoint to the next")
      ->capture_default_str();
  verb->add_flag("-f,--follow", options->follow, "show its log, and end as it ends");
  verb->add_flag("--dry-run", options->dry_run, "print the files and commands that it would be, and do nothing");
  verb->add_flag("--no-check", options->no_check, "start it without a look whether it could begin there");
  add_as_option(*verb, options->as);
  verb->footer(
      "Examples:\n"
      "  linac launch examples/topology.yaml --on farm --workers 8 --time 4h --follow\n"
      "  linac launch examples/topology.yaml --on farm --dry-run\n"
      "  linac launch a.yaml b.yaml --on farm --name pair      # one array of two; farm:pair-1 and farm:pair-2\n"
      "  linac launch a.yaml --on farm --seeds 1:20 --at-once 4\n"
      "  linac launch a.yaml --on farm:8,k8s:16 --relay relay.example.org:4711 --name a     # status: farm+k8s:a\n"
      "  linac launch a.yaml --on spot --then farm --deadline 8h --work 5h --name a --out s3://calo/runs/a\n"
      "  linac status farm:            # all launches there\n"
      "  linac logs -f farm:topology   # the latest one whose name begins so\n"
      "  linac cancel farm:topology-20260131-140509-3fa4\n"
      "The file of sites is ~/.config/linac/sites.yaml, or LINAC_SITES; `linac sites init slurm` shows one.");
  verb->callback([options] { run_launch(*options); });
}

}  // namespace linac::cli
