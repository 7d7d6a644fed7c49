#pragma once
// The record of a run as one worker has it: the folder, its checkpoints, and what people and programs see (reporter.h).
// Who does not keep the record in this view (record_copy.h) may call all the same: then nothing happens. Functions that
// are collective say so. Used by the training's thread.
//
// The lines of metrics.jsonl speak of the training, never of files: a step's line may be there before its checkpoint
// is, and a resume cuts the lines behind the checkpoint that it finds. run.json names the best epoch, and follows its
// checkpoint.
//
// What this worker writes for all belongs to the view: record_fence.h. Who follows one that was lost writes again what
// that one may not have come to write: the last step and epoch, the best checkpoint, the pictures of the last epoch,
// the models.

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/audit/fault.h"
#include "linac/train/train/loops/loop.h"
#include "linac/train/train/record/phase_clock.h"
#include "linac/train/train/record/record_copy.h"
#include "linac/train/train/record/record_fence.h"
#include "linac/train/train/record/reporter.h"
#include "linac/train/train/record/run_folder.h"
#include "linac/train/train/record/run_pictures.h"
#include "linac/train/train/state/checkpoint_writer.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

class RecordKeeper {
 public:
  struct Settings {
    std::filesystem::path folder, started_in;  // see TrainingOptions
    std::string name{};                        // likewise
    nlohmann::json data_digests{};             // agreement.h: of the files that are there now
    bool accept_data = false;                  // they may be others than those of the state that is gone on with
    int concurrency = 1;
    std::string claim{};  // likewise
  };
  using LastSteps = std::vector<StepRecord>;  // what came last: a step, or those of a round

  /// Borrows job, group, loop and clock.
  RecordKeeper(const job::Job& job, comm::Group& group, const Loop& loop, PhaseClock& clock, int64_t steps_per_epoch,
               Settings settings);

  // --- views, in this order

  /// Collective, where workers are new: the claim of the run's folder becomes known to all. `root`: who knows it.
  void share_claim(int root);
  /// Looks whether this worker keeps the record in the group's view. `behind`: others know more of it by now. kPeerLost
  /// if a later view has one who does.
  void enter_view(bool behind);
  /// Collective, before the first step: the rank whose folder says where the run goes on. Of a resumed one `state`
  /// becomes what this worker's folder holds, if that is anything. User error if a folder already holds a run.
  int find_start(Start start, TrainState& state);
  /// Collective: folders that lack something of the record get it.
  void complete_folders(const TrainState& state, const LastSteps& last);
  /// From here on this worker writes the record if it keeps it. What the one before did not come to write of the last
  /// step is written now. `founding`: nobody was before. `best`: the state of the best epoch, if this worker still has
  /// it.
  void take_over(bool founding, const TrainState& state, const LastSteps& last, const std::optional<TrainState>& best);
  void view(const TrainState& state, const std::string& why, double without_view_s);

  // --- the training

  void step(const StepRecord& record);
  void announce_test(const TrainState& state);
  /// `state` stands behind the epoch of `record`; saves it if `save`, as the best one if `best`. An epoch that may be
  /// handed over is saved in any case.
  void epoch(const TrainState& state, const EpochRecord& record, const std::vector<std::string>& signs_of_collapse,
             bool save, bool best);
  void audited(const job::AuditLine& line);
  /// `times`: so far, this one included.
  void rolled_back(const TrainState& state, int64_t times, const std::string& what, const std::string& where);
  /// What was written of later steps than the state's is in doubt, as workers computed wrongly: checkpoints are set
  /// aside, and one of the state is written. `best`: see take_over().
  void put_right(const TrainState& state, const std::optional<TrainState>& best);
  /// The same of a run that ends so, behind `global_step`. Where no earlier checkpoint is left they stay.
  void doubt_behind(int64_t global_step);

  /// The file of a trace, at rank 0; an empty text is none.
  void trace(std::string text);

  // --- checkpoints

  /// Whether this worker writes the record, and checkpoint.every_minutes are over.
  bool due_by_time() const;
  /// Begins to write one; waits for one that is under way, see CheckpointWriter.
  void save(const TrainState& state, bool best = false);
  /// Waits until all that was saved is on the disk.
  void wait();
  /// Environment error if something could not be written.
  void check();

  /// Of all starts so far and of all workers, if any meter tells. Of this moment or some seconds before; of the starts
  /// before this one until this worker writes the record.
  std::optional<double> measured_kwh();

  // --- the end

  /// With a checkpoint of the last step; once. `workers`: the clocks of all ranks.
  void finish(const TrainState& state, const std::vector<job::WorkerAccount>& workers);
  void failed(const TrainState& state, const job::WorkerAccount& own, const Error& error);
  /// Whether nothing of a run that has come to its end is left to write here.
  bool closed() const { return !reporter_ || closed_; }
  bool has_checkpoint() const;

 private:
  // Rank 0 tells people how the run goes.
  bool tells() const { return group_.rank() == 0; }
  bool writes() const { return reporter_.has_value(); }
  void open_folder();
  void open_own_folder(Start start);
  struct Chosen {
    std::filesystem::path file;
    EpochRecord epoch;
    CheckpointWriter::Files files;
  };
  std::vector<Chosen> chosen(const TrainState& state) const;
  void complete(const Chosen& chosen, const TrainState& state, const std::optional<TrainState>& kept);
  nlohmann::json notes() const;
  void clear_desk(bool others_wrote);
  void need_folder(const TrainState& state) const;
  void tell_gaps(const TrainState& state);
  void close(const TrainState& state, const std::vector<job::WorkerAccount>& workers);
  void load_newest(TrainState& state);
  void value_best(TrainState& state) const;
  Holds holds(const TrainState& state, const LastSteps& last);
  // The epoch whose networks are handed over, where that is not the last one by what the job says.
  std::optional<int64_t> restored(const TrainState& state) const;
  TrainState handed_over(const TrainState& state);
  void tell_of_early_stop(const TrainState& state, int64_t handed_over) const;
  void write_summary(const TrainState& state);
  void draw(const TrainState& state, RunPictures::Which which = RunPictures::Which::kOfEpoch);
  void show_drawn();

  const job::Job& job_;
  comm::Group& group_;
  const Loop& loop_;
  PhaseClock& clock_;
  double waited_before_ = 0;  // for the input, in the epochs that are done
  bool is_first_epoch_ = true;
  const int64_t steps_per_epoch_;
  const Settings settings_;
  RecordFence fence_;
  const Fault fault_{job_.train.audit.fault};
  bool was_in_view_ = false;
  std::optional<RunFolder> folder_;
  std::unique_ptr<CheckpointWriter> writer_;
  std::optional<Reporter> reporter_;
  RunPictures pictures_;
  bool keeps_ = false;                         // in this view
  bool copied_ = false;                        // in this view: the folder has no checkpoint yet
  std::optional<RunFolder::Written> written_;  // what was found in the folder, before it is taken over
  std::chrono::steady_clock::time_point last_save_ = std::chrono::steady_clock::now();
  int64_t saved_step_ = -1;
  bool closed_ = false;
};

}  // namespace linac::train
