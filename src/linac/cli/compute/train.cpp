#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "linac/base/base/log.h"
#include "linac/cli/compute/job_file.h"
#include "linac/cli/compute/run_scores.h"
#include "linac/cli/compute/verbs.h"
#include "linac/control/client/login.h"
#include "linac/control/client/tracker.h"
#include "linac/train/comm/meeting/rendezvous.h"
#include "linac/train/train/record/trace_steps.h"
#include "linac/train/train/start/run_start.h"
#include "linac/train/train/start/worker_range.h"

namespace linac::cli {
namespace {

struct TrainOptions {
  train::RunStart run;
  bool track = false;
  std::string server, experiment, fold;
};

void run_train(const TrainOptions& options) {
  const comm::Rendezvous rendezvous = comm::rendezvous_from_environment();
  const train::RunStart run = train::where_the_run_was_started(options.run);
  if (run.join.empty() && rendezvous.world_size > 1) log::set_tag(fmt::format("rank {}", rendezvous.rank));
  const auto keep_track = [&](const std::filesystem::path& folder) -> std::shared_ptr<void> {
    if (!options.track) return nullptr;
    return std::make_shared<client::Tracker>(client::find_login(options.server), folder, options.experiment);
  };
  trained::CompiledJob whole = whole_job(train::job_file(run).string(), train::job_overrides(run));
  const auto at_end = [job = whole.job](const std::filesystem::path& folder, const std::string& name) {
    judge_run(job, folder, name);
  };
  const int status = train::start_run(run, rendezvous, std::move(whole), {keep_track, at_end});
  if (status != 0) throw CLI::RuntimeError(status);
}

}  // namespace

void add_train_verb(CLI::App& app) {
  auto options = std::make_shared<TrainOptions>();
  auto* verb = add_handed_verb(app, "train");
  verb->add_option("job", options->run.job, "job file (YAML), by path or URL; not needed with --join FOLDER");
  verb->add_option("--workers", options->run.workers,
                   "local worker processes, N or MIN:MAX; never changes the result (default: the job's). Lost ones are "
                   "replaced; the run goes on while MIN (default 1) are left")
      ->check(CLI::Validator(train::is_worker_range, "N or MIN:MAX"));
  verb->add_option("--join", options->run.join,
                   "join a run that goes on: its folder, or RUN@HOST:PORT of one of its workers, as its views/ say");
  verb->add_option(
      "--listen", options->run.listen,
      "numeric address of this machine, IPv4 or IPv6, at which workers on other machines may join (default: none)");
  verb->add_option(
      "--out", options->run.out,
      "folder of the run (default: runs/NAME-DATE-TIME), or s3://BUCKET/FOLDER, where it is kept while the "
      "run goes on (docs/guide/data.md)");
  auto* resume = verb->add_flag("--resume", options->run.resume,
                                "go on with the run in the folder, from its newest good checkpoint");
  verb->add_flag("--resume-or-start", options->run.or_start,
                 "the same, or start where there is no run yet: for a script that runs again")
      ->excludes(resume);
  verb->add_option("--branch", options->run.branch,
                   "a new run that goes on from the newest checkpoint of this one, with another rate, other weights of "
                   "losses or another dropout")
      ->check(CLI::ExistingDirectory)
      ->excludes("--resume")
      ->excludes("--resume-or-start");
  verb->add_flag(
      "--accept-data", options->run.accept_data,
      "go on although files of data.train, data.test or data.scaling have changed since; run.json keeps both");
  verb->add_flag("--take-over", options->run.take_over,
                 "go on with a run although another process seems to work on it, which stops then");
  verb->add_option("--trace", options->run.trace,
                   "FIRST:LAST, steps counted from 1: what all workers' threads do in them, as RUN/trace.json for "
                   "https://ui.perfetto.dev; the first worker's counts")
      ->check(CLI::Validator(train::is_trace_steps, "N or FIRST:LAST"));
  verb->add_option(
      "--fold", options->fold,
      "cross-validation: FOLD/FOLDS, e.g. 2/5: of so many equal parts of the events this one tests, and the "
      "others train; the same as --set data.split.fold=2/5");
  verb->add_option("--set", options->run.overrides, "override a setting of the job: key=value, e.g. train.epochs=5")
      ->type_size(1)
      ->allow_extra_args(false);
  auto* track = verb->add_flag("--track", options->track,
                               "keep the run in the catalog of a service while it goes on, as `linac ingest` does");
  verb->add_option("--server", options->server,
                   "address of that service (default: LINAC_SERVER, else that of the last login)")
      ->needs(track);
  verb->add_option("--experiment", options->experiment, "put the run there; made if there is none")->needs(track);
  verb->add_flag("--launched", options->run.launched, "this process was started by linac train --workers")->group("");
  verb->add_option("--mirrored", options->run.mirrored, "where that keeps the folder")->group("");
  verb->add_option("--claim", options->run.claim, "by which that has claimed the folder")->group("");
  verb->footer(
      "Examples:\n"
      "  linac train examples/demo.yaml --workers 2\n"
      "  linac train examples/demo.yaml --out runs/a --set train.epochs=10 --set train.lr=5e-4\n"
      "  linac train examples/demo.yaml --out runs/a --resume\n"
      "  linac train examples/demo.yaml --out s3://bucket/runs/a\n"
      "  linac train s3://bucket/runs/a/job.yaml --out s3://bucket/runs/a --resume    # on any machine\n"
      "  linac train examples/demo.yaml --track --experiment calo\n"
      "  for k in 1 2 3 4 5; do linac train job.yaml --fold $k/5 --out runs/fold-$k; done\n"
      "  torchrun --no-python --nproc-per-node 2 linac train examples/demo.yaml --out runs/b\n"
      "  linac train examples/demo.yaml --workers 2:4 --out runs/c --listen 10.0.0.1\n"
      "  linac train --join runs/c\n"
      "Workers started by others are found by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, TF_CONFIG, or the "
      "variables of Open MPI and Slurm.");
  verb->callback([options] {
    if (!options->fold.empty()) options->run.overrides.push_back("data.split.fold=" + options->fold);
    run_train(*options);
  });
}

}  // namespace linac::cli
