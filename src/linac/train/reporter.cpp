#include "linac/train/reporter.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <thread>

#include "linac/base/host.h"
#include "linac/base/log.h"
#include "linac/base/version.h"
#include "linac/kernels/isa.h"
#include "linac/models/torch_threads.h"

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

int64_t total_steps(const spec::Job& job, int64_t steps_per_epoch) {
  const int64_t steps = job.train.epochs * steps_per_epoch;
  return job.train.max_steps > 0 ? std::min(steps, job.train.max_steps) : steps;
}

// "loss/d_real" for "d_real/total", "parts/d_real/angle" for its other parts, "accuracy" for itself.
std::string tag_of(const std::string& measure) {
  constexpr std::string_view kWhole = "/total";
  if (measure.ends_with(kWhole)) return "loss/" + measure.substr(0, measure.size() - kWhole.size());
  return measure.find('/') == std::string::npos ? measure : "parts/" + measure;
}

std::string test_tag_of(const std::string& measure) {
  return "test/" + measure.substr(0, measure.find('/'));
}

std::map<std::string, HyperParameter> hyper_parameters(const spec::Job& job) {
  const spec::Train& train = job.train;
  return {{"optimizer", train.optimizer.name},
          {"lr", train.optimizer.lr},
          {"batch", static_cast<double>(train.batch)},
          {"replicas", static_cast<double>(train.replicas)},
          {"seed", static_cast<double>(train.seed)},
          {"epochs", static_cast<double>(train.epochs)},
          {"model", job.model.kind},
          {"latent", static_cast<double>(job.model.latent)},
          {"power", job.model.power},
          {"precision", train.precision}};
}

// What the members told last, of those that were heard.
nlohmann::json accounts_of(const comm::Group& group) {
  nlohmann::json workers = nlohmann::json::array();
  const std::vector<comm::Activity> all = group.activities();
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].account.empty()) continue;
    nlohmann::json worker = nlohmann::json::parse(all[rank].account);
    worker["rank"] = rank;
    worker["pace_s"] = all[rank].pace_s;
    workers.push_back(std::move(worker));
  }
  return workers;
}

}  // namespace

nlohmann::json to_json(const PhaseClock& clock, const comm::Traffic& traffic) {
  nlohmann::json json;
  for (size_t i = 0; i < kTimePhaseNames.size(); ++i) {
    const PhaseClock::Seconds& seconds = clock[static_cast<TimePhase>(i)];
    json[kTimePhaseNames[i]] = {{"wall_s", seconds.wall}, {"cpu_s", seconds.cpu}};
  }
  return {{"host", host_name()},
          {"pid", getpid()},
          {"phases", json},
          {"cpu_s", PhaseClock::now().cpu},
          {"sent_bytes", traffic.bytes},
          {"sent_messages", traffic.messages},
          {"exchange_s", traffic.seconds}};
}

std::string StepRecord::encoded() const {
  return nlohmann::json{epoch, step, global_step, to_json(losses), rate}.dump();
}

StepRecord StepRecord::decoded(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  return {json.at(0), json.at(1), json.at(2), measures_from_json(json.at(3)), json.at(4)};
}

Reporter::Reporter(const spec::Job& job, RunFolder& folder, const Loop& loop, int64_t steps_per_epoch, int workers,
                   int concurrency, const TrainState& state)
    : job_(job),
      folder_(folder),
      loop_(loop),
      steps_per_epoch_(steps_per_epoch),
      workers_(workers),
      concurrency_(concurrency),
      first_step_(state.global_step),
      started_(utc_now()),
      begin_(Clock::now()),
      epoch_begin_(begin_),
      accounts_written_(begin_),
      epoch_first_step_(state.global_step),
      events_(folder.tensorboard()),
      progress_("training", total_steps(job, steps_per_epoch), {.start = state.global_step}) {
  if (state.global_step > 0) {
    events_.session_start(state.global_step + 1);
  } else {
    std::vector<std::string> tags;
    for (const Column& column : loop.columns()) tags.push_back(tag_of(column.measure));
    events_.hparams(hyper_parameters(job), tags);
  }
  folder_.write_run_json(run_json(state, "running"));
  log::info(fmt::format("{}: {} events, {} steps an epoch of {} replicas x {} events, on {} workers", job.name,
                        loop.train_events(), steps_per_epoch, job.train.replicas, job.train.batch, workers));
}

nlohmann::json Reporter::provenance() const {
  // Without the number of workers: the same training writes the same checkpoint, byte for byte.
  spec::Job job = job_;
  job.workers = 1;
  job.distribution = {};
  return {{"job", spec::to_yaml(job)}, {"linac", kVersion}, {"libtorch", models::torch_version()}};
}

double Reporter::events_per_second(int64_t global_step) const {
  const auto steps = static_cast<double>(global_step - epoch_first_step_);
  return steps * static_cast<double>(job_.train.batch * job_.train.replicas) /
         std::max(1e-9, seconds_since(epoch_begin_));
}

std::string Reporter::in_words(const Measures& measures) const {
  std::string text;
  for (const Column& column : loop_.columns()) {
    const auto found = measures.find(column.measure);
    if (found != measures.end())
      text += fmt::format("{}{} {:.4g}", text.empty() ? "" : "  ", column.heading, found->second);
  }
  return text;
}

void Reporter::view(const comm::View& view, int64_t global_step, const std::string& why, double seconds) {
  workers_ = view.size();
  nlohmann::json members = nlohmann::json::array();
  for (int rank = 0; rank < view.size(); ++rank) {
    const comm::Member& member = view.members[static_cast<size_t>(rank)];
    const auto range = comm::replicas_of(view, rank, static_cast<int>(job_.train.replicas));
    members.push_back(
        {{"rank", rank}, {"host", member.host}, {"pid", member.pid}, {"replicas", range.end - range.begin}});
  }
  folder_.add_metrics({{"kind", "view"},
                       {"time", unix_now()},
                       {"global_step", global_step},
                       {"view", view.number},
                       {"why", why},
                       {"seconds", seconds},
                       {"members", members}});
  events_.scalar("workers", global_step, static_cast<float>(view.size()));
}

void Reporter::step(const StepRecord& record) {
  folder_.add_metrics({{"kind", "step"},
                       {"epoch", record.epoch},
                       {"step", record.step},
                       {"global_step", record.global_step},
                       {"lr", record.rate},
                       {"loss", train::to_json(record.losses)}});
  for (const auto& [name, value] : record.losses)
    events_.scalar(tag_of(name), record.global_step, static_cast<float>(value));
  events_.scalar("learning_rate", record.global_step, static_cast<float>(record.rate));
  progress_.update(
      record.global_step,
      fmt::format("epoch {}/{} step {}/{}  {}  {:.4g} {}/s", record.epoch + 1, job_.train.epochs, record.step,
                  steps_per_epoch_, in_words(record.losses), events_per_second(record.global_step), loop_.unit()));
}

void Reporter::workers(const comm::Group& group, int64_t global_step) {
  constexpr double kEveryS = 10;
  if (seconds_since(accounts_written_) < kEveryS) return;
  accounts_written_ = Clock::now();
  nlohmann::json workers = accounts_of(group);
  if (workers.empty()) return;
  folder_.add_metrics({{"kind", "workers"},
                       {"time", unix_now()},
                       {"global_step", global_step},
                       {"view", group.view().number},
                       {"workers", workers}});
}

void Reporter::announce_test(const TrainState& state) {
  progress_.update(state.global_step, fmt::format("epoch {}/{}  testing on {} {}", state.epoch + 1, job_.train.epochs,
                                                  loop_.test_events(), loop_.unit()));
}

void Reporter::epoch(const TrainState& state, const EpochRecord& record,
                     const std::vector<std::string>& signs_of_collapse) {
  const double seconds = seconds_since(epoch_begin_), rate = events_per_second(state.global_step);
  const std::string rate_name = loop_.unit() + "_per_s";
  folder_.add_metrics({{"kind", "epoch"},
                       {"epoch", record.epoch},
                       {"global_step", state.global_step},
                       {"train", train::to_json(record.train)},
                       {"test", train::to_json(record.test)},
                       {"physics", record.physics},
                       {"signs_of_collapse", signs_of_collapse},
                       {"seconds", seconds},
                       {rate_name, rate}});
  history_.push_back({{"epoch", record.epoch}, {"seconds", seconds}, {rate_name, rate}});
  for (const auto& [name, value] : record.test) {
    if (name.find('/') == std::string::npos || name.ends_with("/total"))
      events_.scalar(test_tag_of(name), state.global_step, static_cast<float>(value));
  }
  for (const auto& [name, value] : record.physics)
    events_.scalar("physics/" + name, state.global_step, static_cast<float>(value));
  events_.scalar(rate_name, state.global_step, static_cast<float>(rate));
  std::string text = fmt::format("epoch {}/{}: train {}", record.epoch + 1, job_.train.epochs, in_words(record.train));
  if (!record.test.empty()) {
    text += fmt::format("; test {}", in_words(record.test));
    if (const auto fpd = record.physics.find("fpd"); fpd != record.physics.end()) {
      text += fmt::format("; fpd {:.4g}, response off by {:.3g}, profile z by {:.3g}", fpd->second,
                          record.physics.at("response.mean"), record.physics.at("profile.z"));
    }
    for (const std::string& sign : signs_of_collapse) log::warn("the physics looks collapsed: " + sign);
    for (const DrawnPicture& picture : loop_.draw(state, folder_))
      events_.image_png(picture.tag, state.global_step, picture.png, picture.width, picture.height);
  }
  log::info(fmt::format("{}; {} ({:.4g} {}/s, test included)", text, format_duration(seconds), rate, loop_.unit()));
  events_.flush();
  folder_.write_run_json(run_json(state, "running"));
  epoch_begin_ = Clock::now();
  epoch_first_step_ = state.global_step;
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
          {"data", loop_.data()},
          {"first_step_of_this_start", first_step_},
          {"global_step", state.global_step},
          {"epochs_done", state.epoch},
          {"rollbacks", state.rollbacks},
          {"best", {{"epoch", state.best_epoch}, {"by", job_.checkpoint.best_by}, {"value", state.best_value}}},
          {"epochs", history_},
          {"wall_s", seconds_since(begin_)}};
}

void Reporter::finish(const TrainState& state, const TrainState& final, const std::vector<nlohmann::json>& workers) {
  progress_.finish(
      fmt::format("{} steps in {}", state.global_step - first_step_, format_duration(seconds_since(begin_))));
  const std::vector<std::string> hints = loop_.hand_over(final, folder_);
  events_.session_end(EventFileWriter::Outcome::kSuccess);
  events_.flush();
  nlohmann::json run = run_json(state, "succeeded");
  run["time_by_worker"] = workers;
  folder_.write_run_json(run);
  end(state, run);
  print_summary(state, workers, hints);
}

void Reporter::failed(const TrainState& state, const PhaseClock& clock, const comm::Group& group, const Error& error) {
  progress_.finish("");
  if (error.code() != ErrorCode::kPreempted) events_.session_end(EventFileWriter::Outcome::kFailure);
  events_.flush();
  nlohmann::json run = run_json(state, error.code() == ErrorCode::kPreempted ? "interrupted" : "failed");
  run["error"] = {
      {"kind", to_string(error.code())}, {"exit_code", static_cast<int>(error.code())}, {"message", error.what()}};
  nlohmann::json accounts = nlohmann::json::array({to_json(clock, group.traffic())});
  for (const nlohmann::json& account : accounts_of(group))
    if (account.at("rank") != group.rank()) accounts.push_back(account);
  run["time_by_worker"] = accounts;
  folder_.write_run_json(run);
  end(state, run);
}

void Reporter::end(const TrainState& state, const nlohmann::json& run) {
  folder_.add_metrics({{"kind", "end"},
                       {"time", unix_now()},
                       {"global_step", state.global_step},
                       {"status", run.at("status")},
                       {"workers", run.at("time_by_worker")}});
}

void Reporter::print_summary(const TrainState& state, const std::vector<nlohmann::json>& workers,
                             const std::vector<std::string>& hints) const {
  const std::vector<Column> columns = loop_.columns();
  const auto width = [](const Column& column) { return std::max<size_t>(9, column.heading.size()); };
  std::string text = "\n  epoch   train: ";
  for (const char* role : {"train", "test: "}) {
    if (std::string(role) != "train") text += fmt::format("   {}", role);
    for (const Column& column : columns) text += fmt::format("{:>{}} ", column.heading, width(column));
  }
  text += "\n";
  const auto row = [&](const Measures& measures) {
    std::string cells;
    for (const Column& column : columns) {
      const auto found = measures.find(column.measure);
      cells += found == measures.end() ? fmt::format("{:>{}} ", "-", width(column))
                                       : fmt::format("{:>{}.4f} ", found->second, width(column));
    }
    return cells;
  };
  for (const EpochRecord& record : state.history) {
    text += fmt::format("  {:>5}          {}{}\n", record.epoch + 1, row(record.train),
                        record.test.empty() ? "" : "         " + row(record.test));
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
  const auto events = static_cast<double>((state.global_step - first_step_) * job_.train.batch * job_.train.replicas);
  text += fmt::format("\n\n  {:.0f} {} in {}: {:.4g} {}/s on {} workers; {:.0f} % of the workers' time is computing\n",
                      events, loop_.unit(), format_duration(wall), events / wall, loop_.unit(), workers_,
                      busy > 0 ? 100 * compute / busy : 0);
  fmt::print("{}\n  run          {}\n  metrics      {}\n", text, folder_.root().string(), folder_.metrics().string());
  fmt::print("  tensorboard  tensorboard --logdir {}\n", folder_.tensorboard().string());
  for (const std::string& hint : hints) fmt::print("  {}\n", hint);
}

}  // namespace linac::train
