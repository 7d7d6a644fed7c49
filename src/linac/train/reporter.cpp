#include "linac/train/reporter.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <thread>

#include "linac/base/log.h"
#include "linac/base/version.h"
#include "linac/kernels/isa.h"
#include "linac/models/torch_threads.h"
#include "linac/plot/losses.h"
#include "linac/plot/projections.h"
#include "linac/train/model_file.h"

namespace linac::train {
namespace {

using models::threedgan::kLossNames;
using models::threedgan::kTotal;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

int64_t total_steps(const spec::Job& job, int64_t steps_per_epoch) {
  const int64_t steps = job.train.epochs * steps_per_epoch;
  return job.train.max_steps > 0 ? std::min(steps, job.train.max_steps) : steps;
}

nlohmann::json data_json(const data::Dataset& dataset) {
  nlohmann::json files = nlohmann::json::array();
  for (const data::FileReport& file : dataset.files()) {
    files.push_back({{"url", file.url},
                     {"format", file.format},
                     {"events", file.events},
                     {"kept", file.kept},
                     {"bytes", file.bytes},
                     {"fingerprint", file.fingerprint}});
  }
  return files;
}

double total_of(const LossTable& losses, const std::string& phase) {
  const auto found = losses.find(phase);
  return found == losses.end() ? 0 : found->second[kTotal];
}

plot::ShowerMaps maps(const physics::Projections& mean) {
  return {.x = mean.x,
          .y = mean.y,
          .z = mean.z,
          .xy = mean.xy,
          .xz = mean.xz,
          .yz = mean.yz,
          .longitudinal = mean.longitudinal,
          .transverse_x = mean.transverse_x,
          .transverse_y = mean.transverse_y};
}

plot::LossHistory loss_history(const TrainState& state, LossTable EpochRecord::*part) {
  plot::LossHistory history;
  for (const EpochRecord& record : state.history) {
    const LossTable& losses = record.*part;
    history.d_real.push_back(total_of(losses, "d_real"));
    history.d_fake.push_back(total_of(losses, "d_fake"));
    history.g.push_back(total_of(losses, "g"));
  }
  return history;
}

std::map<std::string, HyperParameter> hyper_parameters(const spec::Job& job) {
  const spec::Train& train = job.train;
  return {{"optimizer", train.optimizer.name},
          {"lr", train.optimizer.lr},
          {"batch", static_cast<double>(train.batch)},
          {"replicas", static_cast<double>(train.replicas)},
          {"seed", static_cast<double>(train.seed)},
          {"epochs", static_cast<double>(train.epochs)},
          {"latent", static_cast<double>(job.model.latent)},
          {"power", job.model.power},
          {"precision", train.precision}};
}

}  // namespace

nlohmann::json to_json(const PhaseClock& clock, const comm::Traffic& traffic) {
  nlohmann::json json;
  for (size_t i = 0; i < kTimePhaseNames.size(); ++i) {
    const PhaseClock::Seconds& seconds = clock[static_cast<TimePhase>(i)];
    json[kTimePhaseNames[i]] = {{"wall_s", seconds.wall}, {"cpu_s", seconds.cpu}};
  }
  return {{"host", host_name()},
          {"phases", json},
          {"cpu_s", PhaseClock::now().cpu},
          {"sent_bytes", traffic.bytes},
          {"sent_messages", traffic.messages}};
}

Reporter::Reporter(const spec::Job& job, RunFolder& folder, const data::Dataset& train, const data::Dataset* test,
                   int64_t steps_per_epoch, int workers, int concurrency, const TrainState& state)
    : job_(job),
      folder_(folder),
      train_(train),
      test_(test),
      steps_per_epoch_(steps_per_epoch),
      workers_(workers),
      concurrency_(concurrency),
      first_step_(state.global_step),
      started_(utc_now()),
      begin_(Clock::now()),
      epoch_begin_(begin_),
      epoch_first_step_(state.global_step),
      events_(folder.tensorboard()),
      progress_("training", total_steps(job, steps_per_epoch), {.start = state.global_step}) {
  if (state.global_step > 0) {
    events_.session_start(state.global_step + 1);
  } else {
    events_.hparams(hyper_parameters(job), {"loss/g", "loss/d_real", "loss/d_fake"});
  }
  folder_.write_run_json(run_json(state, "running"));
  log::info(fmt::format("{}: {} events, {} steps an epoch of {} replicas x {} events, on {} workers", job.name,
                        train.size(), steps_per_epoch, job.train.replicas, job.train.batch, workers));
}

nlohmann::json Reporter::provenance() const {
  // Without the number of workers: the same training writes the same checkpoint, byte for byte.
  spec::Job job = job_;
  job.workers = 1;
  return {{"job", spec::to_yaml(job)}, {"linac", kVersion}, {"libtorch", models::torch_version()}};
}

double Reporter::showers_per_second() const {
  return static_cast<double>(job_.train.batch * job_.train.replicas) / std::max(1e-9, seconds_since(epoch_begin_));
}

void Reporter::step(const TrainState& state, const LossTable& losses, double learning_rate) {
  folder_.add_metrics({{"kind", "step"},
                       {"epoch", state.epoch},
                       {"step", state.step},
                       {"global_step", state.global_step},
                       {"lr", learning_rate},
                       {"loss", train::to_json(losses)}});
  for (const auto& [phase, parts] : losses) {
    events_.scalar("loss/" + phase, state.global_step, static_cast<float>(parts[kTotal]));
    for (size_t i = 0; i < kTotal; ++i) {
      events_.scalar(fmt::format("parts/{}/{}", phase, kLossNames[i]), state.global_step, static_cast<float>(parts[i]));
    }
  }
  events_.scalar("learning_rate", state.global_step, static_cast<float>(learning_rate));
  const auto done = static_cast<double>(state.global_step - epoch_first_step_);
  progress_.update(state.global_step,
                   fmt::format("epoch {}/{} step {}/{}  d {:.2f}|{:.2f}  g {:.2f}  {:.2f} showers/s", state.epoch + 1,
                               job_.train.epochs, state.step, steps_per_epoch_, total_of(losses, "d_real"),
                               total_of(losses, "d_fake"), total_of(losses, "g"), done * showers_per_second()));
}

void Reporter::announce_test(const TrainState& state) {
  progress_.update(state.global_step, fmt::format("epoch {}/{}  testing on {} showers", state.epoch + 1,
                                                  job_.train.epochs, test_->size()));
}

void Reporter::epoch(const TrainState& state, const EpochRecord& record, const TestResult* test) {
  const double seconds = seconds_since(epoch_begin_);
  const double rate = static_cast<double>(state.global_step - epoch_first_step_) * showers_per_second();
  const nlohmann::json line{
      {"kind", "epoch"},
      {"epoch", record.epoch},
      {"global_step", state.global_step},
      {"train", train::to_json(record.train)},
      {"test", train::to_json(record.test)},
      {"physics", record.physics},
      {"signs_of_collapse", test != nullptr ? test->signs_of_collapse : std::vector<std::string>{}},
      {"seconds", seconds},
      {"showers_per_s", rate}};
  folder_.add_metrics(line);
  history_.push_back({{"epoch", record.epoch}, {"seconds", seconds}, {"showers_per_s", rate}});
  for (const auto& [phase, parts] : record.test)
    events_.scalar("test/" + phase, state.global_step, static_cast<float>(parts[kTotal]));
  for (const auto& [name, value] : record.physics)
    events_.scalar("physics/" + name, state.global_step, static_cast<float>(value));
  events_.scalar("showers_per_s", state.global_step, static_cast<float>(rate));
  std::string text =
      fmt::format("epoch {}/{}: train d {:.3f}|{:.3f} g {:.3f}", record.epoch + 1, job_.train.epochs,
                  total_of(record.train, "d_real"), total_of(record.train, "d_fake"), total_of(record.train, "g"));
  if (test != nullptr) {
    text += fmt::format("; test d {:.3f}|{:.3f} g {:.3f}", total_of(record.test, "d_real"),
                        total_of(record.test, "d_fake"), total_of(record.test, "g"));
    if (const auto fpd = record.physics.find("fpd"); fpd != record.physics.end()) {
      text += fmt::format("; fpd {:.4g}, response off by {:.3g}, profile z by {:.3g}", fpd->second,
                          record.physics.at("response.mean"), record.physics.at("profile.z"));
    }
    for (const std::string& sign : test->signs_of_collapse) log::warn("the physics looks collapsed: " + sign);
    draw(state, record, *test);
  }
  log::info(fmt::format("{}; {} ({:.2f} showers/s, test included)", text, format_duration(seconds), rate));
  events_.flush();
  folder_.write_run_json(run_json(state, "running"));
  epoch_begin_ = Clock::now();
  epoch_first_step_ = state.global_step;
}

void Reporter::draw(const TrainState& state, const EpochRecord& record, const TestResult& test) {
  const physics::Projections generated = test.generated.mean(), reference = test.reference.mean();
  plot::ProjectionCaption caption{.run = job_.name, .epoch = record.epoch + 1, .showers = test_->size()};
  const Range energies = test_->energies_gev(), angles = test_->angles();
  caption.energy_gev_min = energies.low;
  caption.energy_gev_max = energies.high;
  caption.angle_rad_min = angles.low;
  caption.angle_rad_max = angles.high;
  const auto picture = plot::write_projections_png(folder_.images() / fmt::format("epoch-{:03}.png", record.epoch + 1),
                                                   maps(generated), maps(reference), caption);
  events_.image_png("showers", state.global_step, picture.png, picture.width, picture.height);
  plot::write_loss_png(folder_.images() / "losses.png", job_.name, loss_history(state, &EpochRecord::train),
                       loss_history(state, &EpochRecord::test));
}

void Reporter::rolled_back(const TrainState& state, const std::string& what, const std::string& where) {
  folder_.add_metrics({{"kind", "rollback"},
                       {"epoch", state.epoch},
                       {"global_step", state.global_step},
                       {"rollbacks", state.rollbacks},
                       {"what", what},
                       {"where", where}});
  events_.session_start(state.global_step + 1);
  epoch_first_step_ = std::min(epoch_first_step_, state.global_step);
}

nlohmann::json Reporter::run_json(const TrainState& state, const std::string& status) const {
  nlohmann::json data{{"train", data_json(train_)}};
  if (test_ != nullptr) data["test"] = data_json(*test_);
  return {{"name", job_.name},
          {"status", status},
          {"started", started_},
          {"updated", utc_now()},
          {"linac", kVersion},
          {"build_type", kBuildType},
          {"libtorch", models::torch_version()},
          {"isa", kernels::to_string(kernels::best_isa())},
          {"host", {{"name", host_name()}, {"cores", std::thread::hardware_concurrency()}}},
          {"workers", workers_},
          {"replicas_side_by_side", concurrency_},
          {"seed", job_.train.seed},
          {"data", data},
          {"first_step_of_this_start", first_step_},
          {"global_step", state.global_step},
          {"epochs_done", state.epoch},
          {"rollbacks", state.rollbacks},
          {"best", {{"epoch", state.best_epoch}, {"by", job_.checkpoint.best_by}, {"value", state.best_value}}},
          {"epochs", history_},
          {"wall_s", seconds_since(begin_)}};
}

void Reporter::finish(const TrainState& state, const PhaseClock&, const std::vector<nlohmann::json>& workers) {
  progress_.finish(
      fmt::format("{} steps in {}", state.global_step - first_step_, format_duration(seconds_since(begin_))));
  export_generator(job_, state.generator.parameters, folder_.models() / "generator.keras");
  events_.session_end(EventFileWriter::Outcome::kSuccess);
  events_.flush();
  nlohmann::json run = run_json(state, "succeeded");
  run["time_by_worker"] = workers;
  folder_.write_run_json(run);
  print_summary(state, workers);
}

void Reporter::failed(const TrainState& state, const PhaseClock& clock, const Error& error) {
  progress_.finish("");
  if (error.code() != ErrorCode::kPreempted) events_.session_end(EventFileWriter::Outcome::kFailure);
  events_.flush();
  nlohmann::json run = run_json(state, error.code() == ErrorCode::kPreempted ? "interrupted" : "failed");
  run["error"] = {
      {"kind", to_string(error.code())}, {"exit_code", static_cast<int>(error.code())}, {"message", error.what()}};
  run["time_by_worker"] = {to_json(clock, {})};
  folder_.write_run_json(run);
}

void Reporter::print_summary(const TrainState& state, const std::vector<nlohmann::json>& workers) const {
  std::string text = "\n  epoch   train: D real   D fake        G   test: D real   D fake        G\n";
  for (const EpochRecord& record : state.history) {
    text += fmt::format("  {:>5}  {:>14.4f} {:>8.4f} {:>8.3f}", record.epoch + 1, total_of(record.train, "d_real"),
                        total_of(record.train, "d_fake"), total_of(record.train, "g"));
    if (!record.test.empty()) {
      text += fmt::format("  {:>13.4f} {:>8.4f} {:>8.3f}", total_of(record.test, "d_real"),
                          total_of(record.test, "d_fake"), total_of(record.test, "g"));
    }
    text += "\n";
  }
  text += "\n  seconds by phase, wall (CPU)\n  worker ";
  for (const char* name : kTimePhaseNames) text += fmt::format("{:>18}", name);
  double compute = 0, busy = 0;
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    text += fmt::format("\n  {:>6} ", rank);
    for (const char* name : kTimePhaseNames) {
      const auto& phase = workers[rank].at("phases").at(name);
      const double wall = phase.at("wall_s"), cpu = phase.at("cpu_s");
      text += fmt::format("{:>9.1f} ({:>6.1f})", wall, cpu);
      busy += wall;
      if (std::string(name) == "compute" || std::string(name) == "test") compute += wall;
    }
  }
  const double wall = seconds_since(begin_);
  const auto showers = static_cast<double>((state.global_step - first_step_) * job_.train.batch * job_.train.replicas);
  text += fmt::format(
      "\n\n  {:.0f} showers in {}: {:.2f} showers/s on {} workers; {:.0f} % of the workers' time is computing\n",
      showers, format_duration(wall), showers / wall, workers_, busy > 0 ? 100 * compute / busy : 0);
  fmt::print("{}\n  run          {}\n  metrics      {}\n", text, folder_.root().string(), folder_.metrics().string());
  if (test_ != nullptr && !state.history.empty()) {
    fmt::print("  pictures     {}\n",
               (folder_.images() / fmt::format("epoch-{:03}.png", state.history.back().epoch + 1)).string());
  }
  fmt::print(
      "  tensorboard  tensorboard --logdir {}\n  generate     linac generate --model {} --energy 10:100 --theta "
      "1.05:2.09 -n 100 --seed 1 --out showers.h5\n",
      folder_.tensorboard().string(), folder_.root().string());
}

}  // namespace linac::train
