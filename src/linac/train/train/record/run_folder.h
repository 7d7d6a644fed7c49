#pragma once
// The folder of a run and its files. Written by who keeps the record (record_copy.h); nothing here is collective. Not
// thread-safe.
//
//   job.yaml        the job, resolved          run.json      versions, host, data fingerprints, time by phase
//   metrics.jsonl   a line a step and epoch    tensorboard/  scalars, images, hyper-parameters; train/, validation/
//   checkpoints/    step-*.safetensors, best   images/       projections and losses by epoch
//   models/         generator.keras            log.txt       all ranks
//   evaluation/     the test judged at the end, by `linac train`
//   views/          who trained together (train/comm/membership/view_ledger.h), and where they are found
//   private/        the workers' key (train/comm/meeting/run_key.h)

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/base/job/run_energy.h"
#include "linac/base/job/run_record.h"

namespace linac::train {

/// How a run begins where it is kept. kResume: it goes on, and where none is, that is an error.
enum class Start { kFresh, kResume, kResumeOrFresh };

/// User error unless a run may begin so at `name`, a path or URL, where one is there or is not.
void need_place_for(Start start, bool is_there, const std::string& name);

class RunFolder {
 public:
  /// `started_in`: the working folder of the run's start, from which the relative paths of job.yaml count; for
  /// run.json. `name`: what people call the folder, if not by its path (run_mirror.h).
  explicit RunFolder(std::filesystem::path root, std::filesystem::path started_in = {}, std::string name = {});

  /// Whether a run has been here (job.yaml exists).
  bool holds_run() const;
  /// Makes the folders and writes job.yaml. Environment error if that cannot be done.
  void create(const job::Job& job);
  /// Reads the job of the run that is here; user error if there is none.
  job::Job job() const;

  /// What is called once files of the folder are open, before anything goes into them; throws where another one writes
  /// them by now (record_fence.h).
  void set_check(std::function<void()> check) { check_ = std::move(check); }

  /// Appends a line to metrics.jsonl at once.
  void add_metrics(const job::RunLine& line);
  /// What the lines of metrics.jsonl reach to; -1: none of the kind.
  struct Written {
    int64_t step = -1, epoch = -1;
  };
  /// Before the record goes on from a state: drops the lines of steps and epochs that lie behind it, and says what is
  /// left. Reads from the end of the file on, back to the last epoch that stays: whatever lies before has been cut by
  /// whoever began there. Another file takes its place, so that who kept the record before and does not know it yet
  /// writes beside it. User error if a newer linac wrote them.
  Written cut_metrics(int64_t global_step, int64_t epoch);
  /// The steps up to this one of which metrics.jsonl says nothing, neither that they were done nor that their lines are
  /// lost. Of a branch only those after its begin. Reads all of the file.
  std::vector<job::GapLine> missing_steps(int64_t global_step) const;
  /// What workers of all starts so far have told of energy. Reads all of the file.
  job::ToldEnergies told_energies() const;
  void write_run_json(job::RunSummary summary) const;
  /// What run.json has; nothing if there is none that can be understood. User error if a newer linac wrote it.
  std::optional<job::RunSummary> summary() const;

  const std::filesystem::path& root() const { return root_; }
  /// A path of the folder as people find it.
  std::string shown(const std::filesystem::path& path) const;
  std::filesystem::path checkpoints() const { return root_ / "checkpoints"; }
  std::filesystem::path tensorboard() const { return root_ / "tensorboard"; }
  std::filesystem::path images() const { return root_ / "images"; }
  std::filesystem::path models() const { return root_ / "models"; }
  std::filesystem::path views() const { return root_ / "views"; }
  std::filesystem::path log() const { return root_ / "log.txt"; }
  std::filesystem::path metrics() const { return root_ / job::kMetricsFile; }

 private:
  std::filesystem::path root_, started_in_;
  std::string name_;
  std::function<void()> check_;
  std::ofstream metrics_;
};

}  // namespace linac::train
