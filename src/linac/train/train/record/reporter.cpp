#include "linac/train/train/record/reporter.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "linac/base/base/cores.h"
#include "linac/base/base/host.h"
#include "linac/base/base/log.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/shell_word.h"
#include "linac/base/base/version.h"
#include "linac/base/job/metric_names.h"
#include "linac/model/kernels/isa.h"
#include "linac/model/models/torch_threads.h"
#include "linac/train/train/agreement.h"
#include "linac/train/train/loops/loop.h"
#include "linac/train/train/record/account.h"
#include "linac/train/train/record/closing_tables.h"

namespace linac::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

int64_t total_steps(const job::Job& job, int64_t steps_per_epoch) {
  const int64_t steps = job.train.epochs * steps_per_epoch;
  return job.train.max_steps > 0 ? std::min(steps, job.train.max_steps) : steps;
}

std::map<std::string, HyperParameter> hyper_parameters(const job::Job& job) {
  const job::Train& train = job.train;
  std::map<std::string, HyperParameter> parameters{{"optimizer", train.optimizer.name},
                                                   {"lr", train.optimizer.lr},
                                                   {"batch", static_cast<double>(train.batch)},
                                                   {"replicas", static_cast<double>(train.replicas)},
                                                   {"seed", static_cast<double>(train.seed)},
                                                   {"epochs", static_cast<double>(train.epochs)},
                                                   {"model", job.model.kind()},
                                                   {"precision", train.precision}};
  for (const auto& [key, value] : job::numbers_of(job.model)) parameters[key] = value;
  return parameters;
}

}  // namespace

std::string StepRecord::encoded() const {
  return nlohmann::json{epoch, step, global_step, to_json(losses), rate, round ? job::to_text(*round) : ""}.dump();
}

StepRecord StepRecord::decoded(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  StepRecord record{json.at(0), json.at(1), json.at(2), measures_from_json(json.at(3)), json.at(4)};
  const job::ReadLine round = job::LineReader("the last step").read(json.at(5).get<std::string>());
  if (const auto* line = std::get_if<job::RoundLine>(&round.line)) record.round = *line;
  return record;
}

Reporter::Reporter(const job::Job& job, RunFolder& folder, const LoopData& data, const LoopWords& words,
                   int64_t steps_per_epoch, int workers, int concurrency, const TrainState& state, bool aloud,
                   std::vector<job::FormerData> former_data, job::ToldEnergies energies,
                   std::optional<job::TrainingOutline> outline)
    : job_(job),
      folder_(folder),
      data_(data),
      words_(words),
      steps_per_epoch_(steps_per_epoch),
      workers_(workers),
      concurrency_(concurrency),
      aloud_(aloud),
      former_data_(std::move(former_data)),
      energies_(std::move(energies)),
      outline_(std::move(outline)),
      first_step_(state.global_step),
      started_(utc_now()),
      begin_(Clock::now()),
      epoch_begin_(begin_),
      accounts_written_(begin_),
      epoch_first_step_(state.global_step),
      events_(folder.tensorboard()),
      train_events_(folder.tensorboard() / "train"),
      progress_("training", total_steps(job, steps_per_epoch), {.start = state.global_step}) {
  if (data.test_events() > 0) test_events_.emplace(folder.tensorboard() / "validation");
  epochs_go_on(state);
  if (state.global_step > 0) {
    events_.session_start(state.global_step + 1);
  } else {
    std::vector<std::string> tags;
    for (const Column& column : words.columns()) tags.push_back(job::metric::of_step(column.measure));
    const auto settings = hyper_parameters(job);
    events_.hparams_columns(settings, tags);
    events_.hparams(settings);
  }
  folder_.write_run_json(summary(state, job::RunStatus::kRunning));
  const std::string stage = words.stage(state.epoch, state.step);
  if (!aloud_) return;
  const int64_t events = data.train_events();
  log::info(fmt::format("{}: {}{}, on {}{}{}", job.name, events < 0 ? "" : plural(events, "event") + ", ",
                        epoch_in_words(job, events), plural(workers, "worker"), stage.empty() ? "" : "; ", stage));
}

// What earlier files say of this epoch and later ones counts no more.
void Reporter::epochs_go_on(const TrainState& state) {
  train_events_.session_start(state.epoch);
  if (test_events_) test_events_->session_start(state.epoch);
}

nlohmann::json Reporter::provenance() const {
  // Without the number of workers: the same training writes the same checkpoint, byte for byte.
  job::Job job = job_;
  job.workers = 1;
  job.distribution = {};
  job.secrets.clear();
  nlohmann::json provenance = words_.notes();
  provenance.update({{"job", job::to_yaml(job)},
                     {"linac", kVersion},
                     {"libtorch", models::torch_version()},
                     {"processor", processor_digest()}});
  return provenance;
}

void Reporter::progress(int64_t done, const std::string& detail) {
  if (aloud_) progress_.update(done, detail);
}

void Reporter::flush() {
  events_.flush();
  train_events_.flush();
  if (test_events_) test_events_->flush();
}

double Reporter::events_per_second(int64_t global_step) const {
  const auto steps = static_cast<double>(global_step - epoch_first_step_);
  return steps * static_cast<double>(job_.train.batch * job_.train.replicas) /
         std::max(1e-9, seconds_since(epoch_begin_));
}

std::string Reporter::in_words(const Measures& measures) const {
  std::string text;
  for (const Column& column : words_.columns()) {
    const auto found = measures.find(column.measure);
    if (found != measures.end())
      text += fmt::format("{}{} {:.4g}", text.empty() ? "" : "  ", column.heading, found->second);
  }
  return text;
}

void Reporter::view(const comm::View& view, int64_t global_step, const std::string& why, double seconds) {
  workers_ = view.size();
  job::ViewLine line;
  line.time = unix_now();
  line.global_step = global_step;
  line.view = view.number;
  line.why = why;
  line.seconds = seconds;
  for (int rank = 0; rank < view.size(); ++rank) {
    const comm::Member& member = view.members[static_cast<size_t>(rank)];
    const auto range = comm::replicas_of(view, rank, job_.train.pieces());
    line.members.push_back({.rank = rank, .pid = member.pid, .replicas = range.end - range.begin, .host = member.host});
  }
  folder_.add_metrics(line);
  events_.scalar(job::metric::kWorkers, global_step, static_cast<float>(view.size()));
}

void Reporter::step(const StepRecord& record) {
  rate_ = record.rate;
  job::StepLine line;
  line.epoch = record.epoch;
  line.step = record.step;
  line.global_step = record.global_step;
  line.lr = record.rate;
  line.loss = record.losses;
  folder_.add_metrics(line);
  for (const auto& [name, value] : record.losses)
    events_.scalar(job::metric::of_step(name), record.global_step, static_cast<float>(value));
  events_.scalar(job::metric::kLearningRate, record.global_step, static_cast<float>(record.rate));
  if (record.round) {
    folder_.add_metrics(*record.round);
    events_.scalar(job::metric::kDrift, record.global_step, static_cast<float>(record.round->drift));
  }
  const std::string stage = words_.stage(record.epoch, record.step);
  progress(record.global_step,
           fmt::format("epoch {}/{} step {}/{}  {}{}{}  {:.4g} {}/s", record.epoch + 1, job_.train.epochs, record.step,
                       steps_per_epoch_, stage, stage.empty() ? "" : "  ", in_words(record.losses),
                       events_per_second(record.global_step), words_.unit()));
}

void Reporter::workers(const comm::Group& group, int64_t global_step) {
  constexpr double kEveryS = 10;
  if (seconds_since(accounts_written_) < kEveryS) return;
  accounts_written_ = Clock::now();
  job::WorkersLine line;
  line.workers = accounts_of(group);
  if (line.workers.empty()) return;
  energies_.add(line.workers);
  line.time = unix_now();
  line.global_step = global_step;
  line.view = group.view().number;
  folder_.add_metrics(line);
  profile(line.workers, global_step);
}

// What the workers' steps took since the last point.
void Reporter::profile(const std::vector<job::WorkerAccount>& workers, int64_t global_step) {
  job::StepTime since;
  for (const job::WorkerAccount& worker : workers) {
    if (!worker.steps) continue;
    job::StepTime& before = profiled_[{worker.host, worker.pid}];
    since += *worker.steps;
    since -= before;
    before = *worker.steps;
  }
  if (!(since.wall_s > 0)) return;
  const auto tell = [&](const std::string& name, double seconds) {
    events_.scalar(job::metric::kProfile + name, global_step, static_cast<float>(100 * seconds / since.wall_s));
  };
  tell(job::kInputPart, since.input_s);
  tell(job::kOtherPart, job::other_s(since));
  for (const job::NetworkPart& part : job::kNetworkParts) {
    tell(part.name, job::seconds_of(since, part));
    if (since.networks.size() < 2) continue;
    for (const job::NetworkTime& network : since.networks)
      tell(network.network + "/" + part.name, network.*part.seconds);
  }
}

void Reporter::announce_test(const TrainState& state) {
  progress(state.global_step, fmt::format("epoch {}/{}  testing on {} {}", state.epoch + 1, job_.train.epochs,
                                          data_.test_events(), words_.unit()));
}

void Reporter::epoch(const TrainState& state, const EpochRecord& record, const InputTime& input,
                     const std::vector<std::string>& signs_of_collapse) {
  const double seconds = seconds_since(epoch_begin_), rate = events_per_second(state.global_step);
  job::EpochLine line;
  line.epoch = record.epoch;
  line.global_step = state.global_step;
  line.train = record.train;
  line.test = record.test;
  line.physics = record.physics;
  line.signs_of_collapse = signs_of_collapse;
  line.seconds = seconds;
  line.input_s = input.waited_s;
  line.opened_s = input.opened_s;
  line.rate = {words_.unit(), rate};
  folder_.add_metrics(line);
  history_.push_back({record.epoch, seconds, line.rate});
  epoch_curves(record);
  for (const auto& [name, value] : record.physics)
    events_.scalar(job::metric::kPhysics + name, state.global_step, static_cast<float>(value));
  events_.scalar(job::metric::of_rate(words_.unit()), state.global_step, static_cast<float>(rate));
  std::string text = fmt::format("epoch {}/{}: train {}", record.epoch + 1, job_.train.epochs, in_words(record.train));
  if (!record.test.empty()) {
    text += fmt::format("; test {}", in_words(record.test));
    if (const auto fpd = record.physics.find("fpd"); fpd != record.physics.end()) {
      text += fmt::format("; fpd {:.4g}, response off by {:.3g}, profile z by {:.3g}", fpd->second,
                          record.physics.at("response.mean"), record.physics.at("profile.z"));
    }
    for (const std::string& sign : signs_of_collapse)
      if (aloud_) log::warn("the physics looks collapsed: " + sign);
  }
  if (aloud_)
    log::info(fmt::format("{}; {} ({:.4g} {}/s, test included)", text, format_duration(seconds), rate, words_.unit()));
  events_.flush();
  epoch_begin_ = Clock::now();
  epoch_first_step_ = state.global_step;
}

void Reporter::picture(const std::string& tag, int64_t global_step, const plot::Picture& picture) {
  events_.image_png(tag, global_step, picture.png, picture.width, picture.height);
}

// As keras.callbacks.TensorBoard has them: in two runs, so that training and validation are lines of one chart.
void Reporter::epoch_curves(const EpochRecord& record) {
  const auto write = [&](EventFileWriter& events, const Measures& measures) {
    for (const auto& [name, value] : measures)
      if (const auto tag = job::metric::of_whole(job::metric::kEpoch, name)) events.scalar(*tag, record.epoch, value);
    events.flush();
  };
  if (rate_) train_events_.scalar(std::string(job::metric::kEpoch) + job::metric::kLearningRate, record.epoch, *rate_);
  write(train_events_, record.train);
  if (test_events_) write(*test_events_, record.test);
}

void Reporter::audited(const job::AuditLine& line) {
  folder_.add_metrics(line);
  events_.scalar(job::metric::kShutOut, line.global_step, static_cast<float>(line.wrong.size()));
}

void Reporter::rolled_back(const TrainState& state, int64_t times, const std::string& what, const std::string& where) {
  folder_.add_metrics(job::RollbackLine{state.epoch, state.global_step, times, what, where});
  events_.session_start(state.global_step + 1);
  epochs_go_on(state);
  epoch_first_step_ = std::min(epoch_first_step_, state.global_step);
}

job::RunSummary Reporter::summary(const TrainState& state, job::RunStatus status) const {
  job::RunSummary run;
  run.name = job_.name;
  run.status = job::to_string(status);
  run.started = started_;
  run.updated = utc_now();
  if (!state.lineage.id.empty()) run.id = state.lineage.id;
  if (!state.lineage.branch_of.empty()) run.branch_of = state.lineage.branch_of;
  run.linac = kVersion;
  run.build_type = kBuildType;
  run.libtorch = models::torch_version();
  run.isa = kernels::to_string(kernels::best_isa());
  run.host = job::HostFacts{host_name(), read_cores().allowed, processor_name()};
  run.workers = workers_;
  run.replicas_side_by_side = concurrency_;
  run.outline = outline_;
  run.seed = job_.train.seed;
  run.data = job::data_files_from(data_.data());
  if (!former_data_.empty()) run.former_data = former_data_;
  if (auto classes = data_.classes(); !classes.empty()) run.classes = std::move(classes);
  run.first_step_of_this_start = first_step_;
  run.global_step = state.global_step;
  run.epochs_done = state.epoch;
  run.rollbacks = state.rollbacks;
  run.best = job::BestEpoch{state.best_epoch, job_.checkpoint.best_by, state.best_value};
  run.epochs = history_;
  run.wall_s = seconds_since(begin_);
  if (auto told = energies_.list(); !told.empty())
    run.energy = job::energy_of(std::move(told), job::carbon_of(job_.budget, job_.plan));
  return run;
}

void Reporter::finish(const TrainState& state, const TrainState& final,
                      const std::vector<job::WorkerAccount>& workers) {
  if (aloud_)
    progress_.finish(fmt::format("{} in {}", plural(state.global_step - first_step_, "step"),
                                 format_duration(seconds_since(begin_))));
  std::vector<std::string> hints = words_.hand_over(final, folder_);
  profile(workers, state.global_step);
  events_.session_end(EventFileWriter::Outcome::kSuccess);
  events_.flush();
  energies_.add(workers);
  job::RunSummary run = summary(state, job::RunStatus::kSucceeded);
  run.time_by_worker = workers;
  run.handed_over_epoch = final.epoch;
  folder_.write_run_json(run);
  end(state, run);
  if (run.energy && run.energy->kwh) hints.push_back(fmt::format("energy       {}", job::in_words(*run.energy)));
  if (state.best_epoch >= 0 && state.best_epoch + 1 != final.epoch) {
    hints.push_back(fmt::format("best         epoch {} in {}: --model {}@best", state.best_epoch + 1,
                                job_.checkpoint.best_by, shell_word(folder_.shown(folder_.root()))));
  }
  if (aloud_) print_summary(state, workers, hints);
}

void Reporter::failed(const TrainState& state, const job::WorkerAccount& own, const comm::Group& group,
                      const Error& error) {
  progress_.finish("");
  const bool interrupted = error.code() == ErrorCode::kPreempted || error.code() == ErrorCode::kBudget;
  if (!interrupted) events_.session_end(EventFileWriter::Outcome::kFailure);
  events_.flush();
  std::vector<job::WorkerAccount> accounts{own};
  for (job::WorkerAccount& account : accounts_of(group))
    if (account.rank != group.rank()) accounts.push_back(std::move(account));
  energies_.add(accounts);
  job::RunSummary run = summary(state, interrupted ? job::RunStatus::kInterrupted : job::RunStatus::kFailed);
  run.error = job::RunError{to_string(error.code()), error.what(), static_cast<int64_t>(error.code())};
  run.time_by_worker = std::move(accounts);
  folder_.write_run_json(run);
  end(state, run);
}

std::optional<double> Reporter::measured_kwh(const comm::Group& group) {
  constexpr double kEveryS = 1, kUntilToldS = 0.1;
  if (seconds_since(energy_summed_) < (measured_kwh_ ? kEveryS : kUntilToldS)) return measured_kwh_;
  energy_summed_ = Clock::now();
  energies_.add(accounts_of(group));
  return measured_kwh_ = job::measured_kwh(energies_.list());
}

void Reporter::end(const TrainState& state, const job::RunSummary& run) {
  folder_.add_metrics(job::EndLine{.time = unix_now(),
                                   .global_step = state.global_step,
                                   .status = run.status,
                                   .workers = run.time_by_worker.value_or(std::vector<job::WorkerAccount>())});
}

void Reporter::print_summary(const TrainState& state, const std::vector<job::WorkerAccount>& workers,
                             const std::vector<std::string>& hints) const {
  double compute = 0, busy = 0;
  for (const job::WorkerAccount& worker : workers) {
    for (const job::Phase phase : job::kPhasesInTime) {
      const double wall_s = worker.time_in(phase).wall_s;
      busy += wall_s;
      if (job::computes(phase)) compute += wall_s;
    }
  }
  const double wall = seconds_since(begin_);
  const auto events = static_cast<double>((state.global_step - first_step_) * job_.train.batch * job_.train.replicas);
  fmt::print("\n{}\n{}\n", epoch_table(words_.columns(), state.history), phase_table(workers) + step_line(workers));
  fmt::print("  {:.0f} {} in {}: {:.4g} {}/s on {}; {:.0f} % of the {} time is computing\n\n", events, words_.unit(),
             format_duration(wall), events / wall, words_.unit(), plural(workers_, "worker"),
             busy > 0 ? 100 * compute / busy : 0, workers_ == 1 ? "worker's" : "workers'");
  fmt::print("  run          {}\n  metrics      {}\n", folder_.shown(folder_.root()), folder_.shown(folder_.metrics()));
  fmt::print("  tensorboard  tensorboard --logdir {}\n", folder_.shown(folder_.tensorboard()));
  for (const std::string& hint : hints) fmt::print("  {}\n", hint);
}

}  // namespace linac::train
