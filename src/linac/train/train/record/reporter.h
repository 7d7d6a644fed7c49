#pragma once
// What a person and other programs see of a run: progress bar, metrics.jsonl, TensorBoard, pictures, run.json and the
// closing summary. Lives on who keeps the run's record (record_copy.h), used by its main thread.

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/event_file.h"
#include "linac/base/base/progress.h"
#include "linac/base/job/job.h"
#include "linac/base/job/run_energy.h"
#include "linac/base/job/run_record.h"
#include "linac/base/job/run_states.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/loops/loop_data.h"
#include "linac/train/train/loops/loop_words.h"
#include "linac/train/train/record/run_folder.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

/// What the record says of a step, behind which a training stands.
struct StepRecord {
  int64_t epoch = 0, step = 0, global_step = 0;
  Measures losses;
  double rate = 0;
  std::optional<job::RoundLine> round = {};  // that ends with it

  std::string encoded() const;
  static StepRecord decoded(const std::string& text);
};

/// What a worker's input took of an epoch.
struct InputTime {
  double waited_s = 0;
  std::optional<double> opened_s;  // before the first epoch of this process
};

class Reporter {
 public:
  /// `state` is where the run starts (a resume continues the record there). `aloud`: tells people on the terminal and
  /// in the log as well. Borrows job, folder, data and words.
  Reporter(const job::Job& job, RunFolder& folder, const LoopData& data, const LoopWords& words,
           int64_t steps_per_epoch, int workers, int concurrency, const TrainState& state, bool aloud,
           std::vector<job::FormerData> former_data = {}, job::ToldEnergies energies = {},
           std::optional<job::TrainingOutline> outline = {});

  void speak(bool aloud) { aloud_ = aloud; }
  /// What was reported is in the files from here on.
  void flush();

  /// The workers from now on; why they are others than before, if they are, and how long nobody trained for that.
  void view(const comm::View& view, int64_t global_step, const std::string& why, double seconds);
  void step(const StepRecord& record);
  /// Each worker's times, now and then.
  void workers(const comm::Group& group, int64_t global_step);
  void announce_test(const TrainState& state);
  /// After each epoch, of which `state` stands at the end. Pictures and run.json are left to the caller: picture(),
  /// summary().
  void epoch(const TrainState& state, const EpochRecord& record, const InputTime& input,
             const std::vector<std::string>& signs_of_collapse);
  /// One that was drawn after this step, for TensorBoard.
  void picture(const std::string& tag, int64_t global_step, const plot::Picture& picture);
  /// Workers that compute wrongly.
  void audited(const job::AuditLine& line);
  /// `times`: so far, this one included.
  void rolled_back(const TrainState& state, int64_t times, const std::string& what, const std::string& where);
  /// Ends the record well: hands the networks of `final` over, writes run.json, prints the summary. `workers`: the
  /// clocks of all ranks.
  void finish(const TrainState& state, const TrainState& final, const std::vector<job::WorkerAccount>& workers);
  /// Ends it for a run that fails. `own`: this worker's account; of the others it is known what they told last.
  void failed(const TrainState& state, const job::WorkerAccount& own, const comm::Group& group, const Error& error);

  /// See RecordKeeper.
  std::optional<double> measured_kwh(const comm::Group& group);

  /// What a checkpoint remembers of its run: enough to generate from it alone.
  nlohmann::json provenance() const;
  /// What run.json says of a run that goes on.
  job::RunSummary summary(const TrainState& state) const { return summary(state, job::RunStatus::kRunning); }

 private:
  job::RunSummary summary(const TrainState& state, job::RunStatus status) const;
  void end(const TrainState& state, const job::RunSummary& run);
  void progress(int64_t done, const std::string& detail);
  void profile(const std::vector<job::WorkerAccount>& workers, int64_t global_step);
  double events_per_second(int64_t global_step) const;  // of this epoch so far
  std::string in_words(const Measures& measures) const;
  void epochs_go_on(const TrainState& state);
  void epoch_curves(const EpochRecord& record);
  void print_summary(const TrainState& state, const std::vector<job::WorkerAccount>& workers,
                     const std::vector<std::string>& hints) const;

  const job::Job& job_;
  RunFolder& folder_;
  const LoopData& data_;
  const LoopWords& words_;
  int64_t steps_per_epoch_;
  int workers_, concurrency_;
  bool aloud_;
  const std::vector<job::FormerData> former_data_;
  job::ToldEnergies energies_;
  const std::optional<job::TrainingOutline> outline_;
  std::optional<double> measured_kwh_;  // at that moment
  std::chrono::steady_clock::time_point energy_summed_;
  int64_t first_step_;
  std::string started_;
  std::chrono::steady_clock::time_point begin_, epoch_begin_, accounts_written_;
  int64_t epoch_first_step_;
  EventFileWriter events_, train_events_;
  std::optional<EventFileWriter> test_events_;                         // with test data
  std::optional<double> rate_;                                         // of the last step
  std::map<std::pair<std::string, int64_t>, job::StepTime> profiled_;  // by host and process, up to the last point
  linac::Progress progress_;
  std::vector<job::EpochPace> history_;  // of each epoch of this process
};

}  // namespace linac::train
