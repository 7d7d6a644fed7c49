#include "linac/train/train/start/run_start.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/io/storage/output.h"
#include "linac/io/storage/storage.h"
#include "linac/train/comm/c10d/c10d_store.h"
#include "linac/train/train/record/run_folder.h"
#include "linac/train/train/start/join.h"
#include "linac/train/train/start/run_place.h"
#include "linac/train/train/start/worker.h"
#include "linac/train/train/start/worker_range.h"
#include "linac/train/train/trainer.h"
#include "linac/train/trained/run_models.h"
#include "linac/train/workers/local_launch.h"

namespace linac::train {
namespace {

bool joins_by_folder(const RunStart& start) {
  return std::filesystem::is_directory(start.join);
}

// From where the relative paths of the run's job.yaml count. Whoever joins a run has its job from there.
std::filesystem::path started_in(const RunStart& start) {
  std::filesystem::path there;
  if (joins_by_folder(start)) there = trained::started_in(start.join);
  return there.empty() ? std::filesystem::current_path() : there;
}

// As people said it.
Start asked_for(const RunStart& start) {
  if (start.or_start) return Start::kResumeOrFresh;
  return start.resume ? Start::kResume : Start::kFresh;
}

// Whether it goes on from a state that may be in its folder by then.
bool goes_on(const RunStart& start) {
  return asked_for(start) != Start::kFresh || !start.branch.empty();
}

// Once somebody has made the folder.
Start once_made(const RunStart& start) {
  return goes_on(start) ? Start::kResumeOrFresh : Start::kFresh;
}

Worker worker_of(const RunStart& start, const RunPlace& place, Start begins) {
  return {.options = {.folder = place.folder(),
                      .start = begins,
                      .joins = !start.join.empty(),
                      .started_in = started_in(start),
                      .name = place.name(),
                      .accept_data = start.accept_data,
                      .claim = start.launched ? start.claim : place.token(),
                      .trace = trace_steps_in(start.trace)},
          .listen = start.listen};
}

// One worker of a group that somebody started: `linac train --workers`, torchrun, mpirun, srun, Kubernetes; or alone.
void run_worker(const RunStart& start, const RunPlace& place, Start begins, const comm::Rendezvous& rendezvous,
                trained::CompiledJob whole, const Company& company) {
  if (rendezvous.rank == 0 || start.launched) log::set_file(RunFolder(place.folder()).log());
  const auto tracked = rendezvous.rank == 0 ? company.keep_track(place.folder()) : nullptr;
  work(worker_of(start, place, begins), std::move(whole), rendezvous);
  if (rendezvous.rank == 0 && !start.launched) company.at_end(place.folder(), place.name());
}

void be_of_group(const RunStart& start, const comm::Rendezvous& rendezvous, trained::CompiledJob whole,
                 const Company& company) {
  job::Job& job = whole.job;
  if (rendezvous.world_size > job.train.pieces()) {
    throw user_error(fmt::format("[train] {} workers (from {}) for {}: a worker carries at least one",
                                 rendezvous.world_size, rendezvous.source, job::pieces_in_words(job.train)));
  }
  job.workers = rendezvous.world_size;
  const Start asked = asked_for(start);
  RunPlace place = start.launched ? RunPlace(start.out, start.mirrored) : RunPlace::of(start.out, job, asked);
  // Whether a folder of one of the hosts holds the run is known once they have met.
  const bool asks_all = asked == Start::kResume && !start.launched && place.url().empty();
  if (rendezvous.rank == 0 && !start.launched) {
    const Start here = asks_all ? Start::kResumeOrFresh : asked;
    place.claim(here, start.take_over);
    place.make(job, start.branch, here);
  }
  place.keep([&] {
    run_worker(start, place, asks_all ? asked : once_made(start), rendezvous, std::move(whole), company);
    return 0;
  });
}

int start_workers(const RunStart& start, const job::Job& job, const RunPlace& place) {
  const std::string folder = place.folder().string();
  std::vector<std::string> arguments{"linac", "train", start.job, "--out", folder, "--launched"};
  if (goes_on(start)) arguments.push_back("--resume-or-start");
  if (start.accept_data) arguments.push_back("--accept-data");
  if (!place.url().empty()) arguments.insert(arguments.end(), {"--mirrored", place.url()});
  if (!place.token().empty()) arguments.insert(arguments.end(), {"--claim", place.token()});
  arguments.insert(arguments.end(), {"--workers", start.workers.empty() ? std::to_string(job.workers) : start.workers});
  if (!start.trace.empty()) arguments.insert(arguments.end(), {"--trace", start.trace});
  if (!start.listen.empty()) arguments.insert(arguments.end(), {"--listen", start.listen});
  for (const std::string& assignment : start.overrides) arguments.insert(arguments.end(), {"--set", assignment});
  launch::LocalLaunch launch;
  launch.workers = job.workers;
  launch.argv = arguments;
  launch.views = RunFolder(place.folder()).views();
  launch.restarts = job.distribution.restarts;
  launch.may_leave = job.distribution.on_sigterm == "leave";
  launch.join_argv = arguments;
  launch.join_argv.insert(launch.join_argv.end(), {"--join", folder});
  return launch::launch_local_workers(launch, comm::c10d_stores());
}

// Slurm gives the script of `sbatch --ntasks 4` the variables of its first task.
void refuse_script(const RunStart& start, const comm::Rendezvous& rendezvous) {
  if (rendezvous.tasks_of_script == 0 || !start.workers.empty() || !start.join.empty()) return;
  throw user_error(
      fmt::format("[train] this is the batch script of a Slurm job of {} tasks, and none of these tasks (SLURM_STEP_ID "
                  "is not set); write `srun linac train ...` in it, or add --workers N for N workers on this machine",
                  rendezvous.tasks_of_script));
}

// The process that people start: the only worker, or the parent of local ones.
int begin_here(const RunStart& start, const comm::Rendezvous& rendezvous, trained::CompiledJob whole,
               const Company& company) {
  const job::Job& job = whole.job;
  const Start asked = asked_for(start);
  RunPlace place = RunPlace::of(start.out, job, asked);
  // What the store refuses is known before the data are looked through.
  place.claim(asked, start.take_over);
  check_job(job, whole.file.get());
  place.make(job, start.branch, asked);
  if (job.workers > 1) whole.file.reset();
  return place.keep([&] {
    if (job.workers > 1) {
      const auto tracked = company.keep_track(place.folder());
      place.share_with_children();
      const int status = start_workers(start, job, place);
      if (status == 0) company.at_end(place.folder(), place.name());
      return status;
    }
    run_worker(start, place, once_made(start), rendezvous, std::move(whole), company);
    return 0;
  });
}

void join(const RunStart& start, const comm::Rendezvous& rendezvous, trained::CompiledJob whole) {
  const bool by_folder = joins_by_folder(start);
  if (!by_folder) storage::need_local_folder(start.out, "train");
  const RunPlace place =
      by_folder ? RunPlace(start.join, start.mirrored) : RunPlace::of(start.out, whole.job, asked_for(start));
  join_run(start.join, by_folder ? JoinBy::kFolder : JoinBy::kAddress, worker_of(start, place, once_made(start)),
           std::move(whole), rendezvous);
}

}  // namespace

RunStart where_the_run_was_started(RunStart start) {
  if (!start.job.empty() || !joins_by_folder(start)) return start;
  start.join = std::filesystem::absolute(start.join).string();
  std::error_code not_there;
  std::filesystem::current_path(started_in(start), not_there);
  return start;
}

std::filesystem::path job_file(const RunStart& start) {
  if (!start.job.empty()) return storage::local_copy(start.job);
  if (joins_by_folder(start)) return std::filesystem::path(start.join) / "job.yaml";
  throw user_error("[train] no job file; give one, or the folder of the run to join with --join");
}

std::vector<std::string> job_overrides(const RunStart& start) {
  std::vector<std::string> overrides = start.overrides;
  if (start.workers.empty()) return overrides;
  for (std::string& one : overrides_of_workers(start.workers)) overrides.push_back(std::move(one));
  return overrides;
}

int start_run(const RunStart& start, const comm::Rendezvous& rendezvous, trained::CompiledJob whole,
              const Company& company) {
  if (start.accept_data && !goes_on(start))
    throw user_error("[train] --accept-data is for a run that goes on: add --resume or --branch, or leave it out");
  if (!start.join.empty()) {
    join(start, rendezvous, std::move(whole));
    return 0;
  }
  refuse_script(start, rendezvous);
  if (rendezvous.world_size == 1) return begin_here(start, rendezvous, std::move(whole), company);
  be_of_group(start, rendezvous, std::move(whole), company);
  return 0;
}

}  // namespace linac::train
