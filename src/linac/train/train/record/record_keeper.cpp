#include "linac/train/train/record/record_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/plural.h"
#include "linac/base/job/step_gaps.h"
#include "linac/train/train/agreement.h"
#include "linac/train/train/monitor.h"
#include "linac/train/train/record/lineage.h"
#include "linac/train/train/record/outline.h"
#include "linac/train/train/record/same_data.h"
#include "linac/train/train/state/share_state.h"
#include "linac/train/trained/checkpoint_files.h"

namespace linac::train {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kDoubtful = "of steps behind the last in which an audit has found all workers right";

// The last step and the last epoch are known without a record.
bool is_at_epoch(const TrainState& state) {
  return state.step == 0 && !state.history.empty();
}

}  // namespace

RecordKeeper::RecordKeeper(const job::Job& job, comm::Group& group, const Loop& loop, PhaseClock& clock,
                           int64_t steps_per_epoch, Settings settings)
    : job_(job),
      group_(group),
      loop_(loop),
      clock_(clock),
      steps_per_epoch_(steps_per_epoch),
      settings_(std::move(settings)),
      fence_(settings_.folder, settings_.claim) {}

void RecordKeeper::open_folder() {
  folder_.emplace(settings_.folder, settings_.started_in, settings_.name);
  folder_->set_check([this] { fence_.check(); });
  if (!writer_) {
    writer_ = std::make_unique<CheckpointWriter>(CheckpointStore(folder_->checkpoints(), job_.checkpoint.keep),
                                                 [this](const char* what) { group_.mark_file(what); });
  }
}

// --- views ----------------------------------------------------------------------------------------------------------

void RecordKeeper::share_claim(int root) {
  std::string claim = fence_.claim();
  if (group_.rank() == root && claim.empty()) claim = storage::draw_claim_token();
  broadcast_bytes(group_, claim, root);
  if (fence_.claim().empty()) fence_.share(claim);
}

void RecordKeeper::enter_view(bool behind) {
  keeps_ = keeps_record(group_.view(), group_.rank());
  if (writer_ && !keeps_) writer_->give_up();
  const auto first = std::exchange(was_in_view_, true) ? RecordFence::First::kNo : RecordFence::First::kYes;
  const bool others_wrote = keeps_ && fence_.enter(group_.view().number, first);
  if (!keeps_ || behind || others_wrote) reporter_.reset();
  if (keeps_ && !reporter_) clear_desk(others_wrote);
  written_.reset();
  copied_ = false;
}

// What this worker had begun to write before ends or is given up; what others had begun is not there any more when they
// rename it.
void RecordKeeper::clear_desk(bool others_wrote) {
  if (writer_) others_wrote ? writer_->give_up() : writer_->wait();
  const RunFolder folder(settings_.folder);
  for (const auto& in : {folder.root(), folder.checkpoints(), folder.images(), folder.models()})
    fence_.files().remove_remains(in);
}

int RecordKeeper::find_start(Start start, TrainState& state) {
  if (keeps_) open_own_folder(start);
  state.lineage = begun_lineage(job_);
  if (start == Start::kFresh) return 0;
  if (keeps_) load_newest(state);
  const nlohmann::json mine = keeps_ ? moment_of(state) : comm::Moment{};
  std::vector<comm::Moment> moments;
  for (const std::string& one : group_.gather_text(mine.dump()))
    moments.push_back(nlohmann::json::parse(one).get<comm::Moment>());
  const auto newest = std::max_element(moments.begin(), moments.end());
  const bool is_there = newest != moments.end() && newest->steps > 0;
  std::string latest = start == Start::kResume && !is_there ? "" : std::to_string(newest - moments.begin());
  broadcast_bytes(group_, latest, 0);
  need_place_for(start, !latest.empty(), fmt::format("{}, or none with a checkpoint", settings_.name));
  const int rank = std::stoi(latest);
  if (rank != group_.rank()) saved_step_ = -1;
  if (rank != 0 && tells()) log::info(fmt::format("the folder of rank {} holds the latest state", rank));
  return rank;
}

// A folder that rank 0 does not see was not looked at before.
void RecordKeeper::open_own_folder(Start start) {
  if (!tells() && start == Start::kFresh)
    need_place_for(start, RunFolder(settings_.folder).holds_run(), settings_.folder.string() + " on this host");
  open_folder();
  writer_->store().remove_remains();
}

void RecordKeeper::load_newest(TrainState& state) {
  const auto loaded = writer_->store().newest_good(
      [&](const CheckpointStore::Loaded& candidate) { decode(candidate.bytes, candidate.path.string(), state); });
  if (loaded) {
    const nlohmann::json notes = notes_of(loaded->bytes, loaded->path.string());
    state.lineage = lineage_in(*folder_, job_, loaded->path, {state.lineage, notes.value("job", "")});
    need_same_classes(notes, loop_.words->notes());
    need_same_data(notes, *folder_, {loop_.data->data(), settings_.data_digests, job_.data.scaling},
                   settings_.accept_data);
    tell_of_processor(notes);
    saved_step_ = state.global_step;
    value_best(state);
    log::info(fmt::format("resuming from {}: epoch {}, step {}", loaded->path.string(), state.epoch + 1, state.step));
  } else {
    log::info("nothing to resume from: starting at the first step");
    state = loop_.steps->initial_state();
    state.lineage = begun_lineage(job_);
  }
}

// This start may name another measure: what is better than the best checkpoint follows from that.
void RecordKeeper::value_best(TrainState& state) const {
  const auto best = std::find_if(state.history.begin(), state.history.end(),
                                 [&](const EpochRecord& record) { return record.epoch == state.best_epoch; });
  if (best == state.history.end()) return;
  state.best_value = monitored(*best, job_.checkpoint.best_by, loop_.words->loss_name());
  if (!std::isfinite(state.best_value)) state.best_epoch = -1;
}

void RecordKeeper::complete_folders(const TrainState& state, const LastSteps& last) {
  if (reporter_) reporter_->flush();
  copied_ = copy_records(group_, RunFolder(settings_.folder), holds(state, last), [this] { wait(); });
}

Holds RecordKeeper::holds(const TrainState& state, const LastSteps& last) {
  if (!keeps_) return Holds::kNotItsTask;
  if (reporter_) return Holds::kAll;
  open_folder();
  written_ = folder_->cut_metrics(state.global_step, state.epoch);
  const RunFolder::Written written = *written_;
  const bool steps = std::max<int64_t>(0, written.step) >= state.global_step - static_cast<int64_t>(last.size());
  const bool epochs =
      state.history.empty() || written.epoch >= state.history.back().epoch - (is_at_epoch(state) ? 1 : 0);
  return steps && epochs ? Holds::kAll : Holds::kPart;
}

void RecordKeeper::take_over(bool founding, const TrainState& state, const LastSteps& last,
                             const std::optional<TrainState>& best) {
  if (keeps_ && !reporter_) {
    open_folder();
    wait();  // of what this worker had kept before
    if (!folder_->holds_run()) folder_->create(job_);
    if (!written_ || copied_) written_ = folder_->cut_metrics(state.global_step, state.epoch);
    const RunFolder::Written written = *std::exchange(written_, std::nullopt);
    const bool goes_on = folder_->summary().has_value();  // or a branch begins
    reporter_.emplace(
        job_, *folder_, *loop_.data, *loop_.words, steps_per_epoch_, group_.size(), settings_.concurrency, state,
        tells(), former_data(*folder_, loop_.data->data(), state.global_step),
        goes_on ? folder_->told_energies() : job::ToldEnergies(),
        outline_of(job_, *loop_.steps, state, std::min(settings_.concurrency, job_.train.pieces()), steps_per_epoch_));
    pictures_.take();  // of what it had kept before
    last_save_ = Clock::now();
    if (copied_) save(state);
    if (founding) writer_->prepare(state);
    if (!founding) {
      for (const StepRecord& one : last)
        if (one.global_step > written.step) reporter_->step(one);
      if (is_at_epoch(state) && state.history.back().epoch > written.epoch)
        epoch(state, state.history.back(), {}, true, state.best_epoch == state.history.back().epoch);
      else if (!state.history.empty() && !state.history.back().test.empty())
        draw(state);
    }
    if (goes_on && (founding || written.step < state.global_step - std::max<int64_t>(1, std::ssize(last))))
      tell_gaps(state);
    for (const Chosen& one : chosen(state)) complete(one, state, best);
  }
  if (reporter_) reporter_->speak(tells());
}

// Somebody has edited or removed the file, or a host broke down before its last lines were on the disk.
void RecordKeeper::tell_gaps(const TrainState& state) {
  const std::vector<job::GapLine> gaps = folder_->missing_steps(state.global_step);
  if (gaps.empty()) return;
  log::warn(fmt::format("{}: the lines of {} are lost, and the record goes on without them",
                        folder_->shown(folder_->metrics()), job::in_words(gaps)));
  for (const job::GapLine& gap : gaps) folder_->add_metrics(gap);
}

// The files that stand for an epoch, and which one that is.
std::vector<RecordKeeper::Chosen> RecordKeeper::chosen(const TrainState& state) const {
  const std::filesystem::path folder = RunFolder(settings_.folder).checkpoints();
  std::vector<Chosen> all;
  const auto add = [&](const std::filesystem::path& file, int64_t epoch, const CheckpointWriter::Files& files) {
    const auto record = std::ranges::find(state.history, epoch, &EpochRecord::epoch);
    if (record != state.history.end()) all.push_back({file, *record, files});
  };
  add(trained::best_checkpoint(folder), state.best_epoch, {.step = false, .best = true});
  const auto restored = this->restored(state);
  if (restored && !restores_best(job_, loop_.words->loss_name()))
    add(trained::restored_checkpoint(folder), *restored, {.step = false, .restored = true});
  return all;
}

// Who kept the record before may have been lost while it wrote them, or before.
void RecordKeeper::complete(const Chosen& chosen, const TrainState& state, const std::optional<TrainState>& kept) {
  const auto is_wanted = [&](const std::filesystem::path& file) {
    try {
      const auto end = epoch_end_in(read_file(file), file.string());
      return end && same_epoch(*end, chosen.epoch);
    } catch (const Error& error) {
      log::warn(error.what());
      return false;
    }
  };
  CheckpointStore& store = writer_->store();
  if (std::filesystem::exists(chosen.file) && is_wanted(chosen.file)) return;
  for (const TrainState* const one : {&state, kept ? &*kept : &state}) {
    if (!is_at_epoch(*one) || !same_epoch(one->history.back(), chosen.epoch)) continue;
    writer_->save(*one, notes(), chosen.files);
    return writer_->wait();
  }
  for (const auto& path : store.list())
    if (is_wanted(path)) return store.mark(chosen.file, path);
  log::warn(fmt::format("{}: not of the chosen epoch, which is {}, and no checkpoint has that one any more",
                        chosen.file.string(), chosen.epoch.epoch + 1));
}

void RecordKeeper::view(const TrainState& state, const std::string& why, double without_view_s) {
  if (writes()) reporter_->view(group_.view(), state.global_step, why, without_view_s);
}

// --- the training ---------------------------------------------------------------------------------------------------

void RecordKeeper::step(const StepRecord& record) {
  if (!writes()) return;
  const PhaseClock::Scope time(clock_, TimePhase::kReport);
  show_drawn();
  reporter_->step(record);
  reporter_->workers(group_, record.global_step);
}

void RecordKeeper::announce_test(const TrainState& state) {
  if (writes()) reporter_->announce_test(state);
}

void RecordKeeper::epoch(const TrainState& state, const EpochRecord& record,
                         const std::vector<std::string>& signs_of_collapse, bool save, bool best) {
  const double waited = clock_[TimePhase::kInput].wall;
  const InputTime input{waited - std::exchange(waited_before_, waited),
                        std::exchange(is_first_epoch_, false) ? std::optional(loop_.data->opened_s()) : std::nullopt};
  if (!writes()) return;
  if (save || restored(state) == record.epoch) this->save(state, best);
  const PhaseClock::Scope time(clock_, TimePhase::kReport);
  reporter_->epoch(state, record, input, signs_of_collapse);
  if (!record.test.empty()) draw(state);
  write_summary(state);
}

void RecordKeeper::draw(const TrainState& state, RunPictures::Which which) {
  pictures_.draw(loop_.words->drawings(state), which, state.global_step, folder_->images(), *writer_);
}

void RecordKeeper::show_drawn() {
  for (const DrawnPicture& one : pictures_.take()) reporter_->picture(one.tag, one.global_step, one.picture);
}

// A disk that is busy with a checkpoint would let the training wait for this as well.
void RecordKeeper::write_summary(const TrainState& state) {
  writer_->follow("writing run.json",
                  [folder = settings_.folder, started_in = settings_.started_in, run = reporter_->summary(state)] {
                    RunFolder(folder, started_in).write_run_json(run);
                  });
}

void RecordKeeper::rolled_back(const TrainState& state, int64_t times, const std::string& what,
                               const std::string& where) {
  if (!writes()) return;
  wait();
  show_drawn();
  folder_->cut_metrics(state.global_step, state.epoch);
  reporter_->rolled_back(state, times, what, where);
}

void RecordKeeper::put_right(const TrainState& state, const std::optional<TrainState>& best) {
  if (!writes()) return;
  writer_->store().set_aside_behind(state.global_step, kDoubtful);
  save(state);
  for (const Chosen& one : chosen(state)) complete(one, state, best);
}

void RecordKeeper::doubt_behind(int64_t global_step) {
  if (!writes()) return;
  CheckpointStore& store = writer_->store();
  if (store.has_until(global_step)) store.set_aside_behind(global_step, kDoubtful);
}

void RecordKeeper::audited(const job::AuditLine& line) {
  if (writes()) reporter_->audited(line);
}

void RecordKeeper::trace(std::string text) {
  if (!writes() || text.empty()) return;
  const std::filesystem::path file = folder_->root() / job::kTraceFile;
  if (tells()) log::info(fmt::format("trace: {}, for https://ui.perfetto.dev", folder_->shown(file)));
  writer_->add("writing the trace", [text = std::move(text), file] { write_file_atomically(file, text); });
}

// --- checkpoints ----------------------------------------------------------------------------------------------------

bool RecordKeeper::due_by_time() const {
  const double minutes = std::chrono::duration<double>(Clock::now() - last_save_).count() / 60;
  return writes() && job_.checkpoint.every_minutes > 0 && minutes >= job_.checkpoint.every_minutes;
}

// Of a checkpoint.
nlohmann::json RecordKeeper::notes() const {
  nlohmann::json notes = reporter_->provenance();
  notes["data"] = settings_.data_digests;
  return notes;
}

// Where it was removed a checkpoint would make it anew, with a record that begins in its midst.
void RecordKeeper::need_folder(const TrainState& state) const {
  if (folder_->holds_run()) return;
  throw environment_error(
      removed_words(settings_.name.empty() ? settings_.folder.string() : settings_.name, state.global_step));
}

void RecordKeeper::save(const TrainState& state, bool best) {
  if (!writes()) return;
  need_folder(state);
  const PhaseClock::Scope time(clock_, TimePhase::kCheckpoint);
  const bool hands_over = is_at_epoch(state) && restored(state) == state.history.back().epoch &&
                          !restores_best(job_, loop_.words->loss_name());
  CheckpointWriter::Files files{.best = best, .restored = hands_over};
  if (fault_.is_due(Fault::Place::kCheckpoint, group_.view(), group_.rank(), state.global_step))
    files.turned = fault_key({.seed = job_.train.seed, .step = static_cast<uint32_t>(state.global_step)});
  writer_->save(state, notes(), files);
  saved_step_ = state.global_step;
  last_save_ = Clock::now();
}

void RecordKeeper::wait() {
  if (!writer_) return;
  const PhaseClock::Scope time(clock_, TimePhase::kCheckpoint);
  writer_->wait();
}

void RecordKeeper::check() {
  if (writer_) writer_->check();
}

bool RecordKeeper::has_checkpoint() const {
  const std::filesystem::path folder = RunFolder(settings_.folder).checkpoints();
  std::error_code error;
  return std::filesystem::is_directory(folder, error) && !trained::list_checkpoints(folder).empty();
}

std::optional<double> RecordKeeper::measured_kwh() {
  return writes() ? reporter_->measured_kwh(group_)
                  : job::measured_kwh(RunFolder(settings_.folder).told_energies().list());
}

// --- the end --------------------------------------------------------------------------------------------------------

void RecordKeeper::finish(const TrainState& state, const std::vector<job::WorkerAccount>& workers) {
  if (!writes() || std::exchange(closed_, true)) return;
  try {
    close(state, workers);
  } catch (const Error& error) {
    // Another one does it; this one has nothing left to write, unless its turn comes again.
    if (error.code() == ErrorCode::kPeerLost) {
      reporter_.reset();
      closed_ = false;
    }
    throw;
  }
}

void RecordKeeper::close(const TrainState& state, const std::vector<job::WorkerAccount>& workers) {
  need_folder(state);
  // A run cut short by max_steps ends between two checkpoints.
  if (saved_step_ != state.global_step) save(state);
  if (pictures_.any_left_out()) draw(state, RunPictures::Which::kLeftOut);
  wait();
  show_drawn();
  const TrainState final = handed_over(state);
  reporter_->finish(state, final, workers);
  if (tells()) tell_of_early_stop(state, final.epoch);
}

void RecordKeeper::failed(const TrainState& state, const job::WorkerAccount& own, const Error& error) {
  if (!writes()) return;
  try {
    wait();
  } catch (const Error& another) {
    if (another.code() != error.code()) log::warn(another.what());  // the first one counts
  }
  show_drawn();
  reporter_->failed(state, own, group_, error);
}

std::optional<int64_t> RecordKeeper::restored(const TrainState& state) const {
  return handed_over_epoch(job_.train.early_stopping, state.history, loop_.words->loss_name());
}

// The best epoch's networks if the job wants them, else the last ones; these as well where the best are lost, which no
// later start could mend.
TrainState RecordKeeper::handed_over(const TrainState& state) {
  const auto epoch = restored(state);
  if (!epoch) return state;
  const auto record = std::ranges::find(state.history, *epoch, &EpochRecord::epoch);
  const std::filesystem::path folder = writer_->store().folder();
  const std::filesystem::path file = restores_best(job_, loop_.words->loss_name())
                                         ? trained::best_checkpoint(folder)
                                         : trained::restored_checkpoint(folder);
  try {
    std::error_code unknown;
    if (!std::filesystem::exists(file, unknown) && !unknown)
      throw data_error(fmt::format("[train] {}: not there", file.string()));
    TrainState best = state;
    decode(read_file(file), file.string(), best);
    if (record != state.history.end() && is_at_epoch(best) && same_epoch(best.history.back(), *record)) return best;
    throw data_error(fmt::format("[train] {}: of epoch {}", file.string(),
                                 best.history.empty() ? 0 : best.history.back().epoch + 1));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kData) throw;  // a disk that does not answer now may do so later
    log::warn(fmt::format("{}; the best in {} is epoch {}, which is lost: the last epoch is handed over in its place",
                          error.what(), job_.train.early_stopping.monitor, *epoch + 1));
  }
  return state;
}

void RecordKeeper::tell_of_early_stop(const TrainState& state, int64_t handed_over) const {
  const job::EarlyStopping& settings = job_.train.early_stopping;
  const bool stopped = stopped_early(settings, state.history, loop_.words->loss_name());
  const auto restored = this->restored(state);
  if (!stopped && !restored) return;
  log::info(fmt::format(
      "{}the weights handed over are those of epoch {}{}",
      stopped ? fmt::format("stopped early after epoch {}: {} was no better in {}; ", state.epoch, settings.monitor,
                            plural(std::max(1, settings.patience), "epoch"))
              : "",
      handed_over,
      restored && *restored + 1 == handed_over ? fmt::format(", the best in {}", settings.monitor) : ", the last"));
}

}  // namespace linac::train
