#include "linac/cli/compute/timed_training.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <variant>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/cores.h"
#include "linac/base/base/error.h"
#include "linac/base/base/process_key.h"

namespace linac::cli {
namespace {

constexpr size_t kShownBytes = 2000;

}  // namespace

TimedTraining::TimedTraining(const Settings& settings) : folder_(settings.folder), began_(Clock::now()) {
  launch::WorkerCommand command;
  command.program = "/proc/self/exe";
  command.argv = {
      "linac", "train", settings.job, "--out", folder_.string(), "--workers", std::to_string(settings.workers)};
  for (const std::string& setting : settings.overrides) command.argv.insert(command.argv.end(), {"--set", setting});
  command.environment = {{"LOCAL_WORLD_SIZE", std::to_string(settings.local_workers)}};
  command.output = launch::Output::kCapture;
  child_ = launch::start_worker_process(command);
}

TimedTraining::~TimedTraining() {
  if (!child_.child.runs()) return;
  child_.child.send(SIGTERM);
  child_.child.wait();
}

bool TimedTraining::look() {
  take_output();
  count_steps();
  if (!child_.child.runs()) return false;
  look_at_process();
  const auto end = child_.child.ended();
  if (!end) return true;
  ended_ = Clock::now();
  take_output();
  count_steps();
  const bool as_asked = stopped_ && (steps_.empty() || end->status() == int(ErrorCode::kPreempted));
  if (!end->well() && !as_asked) {
    const size_t from = output_.size() - std::min(output_.size(), kShownBytes);
    throw environment_error(
        fmt::format("[bench] the training in {} failed; its last words:\n{}", folder_.string(), output_.substr(from)));
  }
  return false;
}

void TimedTraining::stop() {
  if (!stopped_ && child_.child.runs()) child_.child.send(SIGTERM);
  stopped_ = true;
}

std::vector<job::WorkerAccount> TimedTraining::times() const {
  const auto file = folder_ / job::kSummaryFile;
  const auto run = job::read_summary(read_file(file), file.string());
  LINAC_CHECK(run && run->time_by_worker);  // it has ended well
  return *run->time_by_worker;
}

void TimedTraining::take_output() {
  char part[4096];
  for (ssize_t size; (size = read(child_.output.get(), part, sizeof part)) > 0;)
    output_.append(part, static_cast<size_t>(size));
}

void TimedTraining::count_steps() {
  const auto path = folder_ / job::kMetricsFile;
  const job::LineReader reader(path.string(), job::Wanted::kNoStepMeasures);
  std::ifstream file(path);
  file.seekg(seen_);
  for (std::string line; std::getline(file, line) && !file.eof();) {  // one without its end is still being written
    seen_ = file.tellg();
    const job::ReadLine read = reader.read(line);
    if (const auto* step = std::get_if<job::StepLine>(&read.line)) steps_.push_back({Clock::now(), step->epoch});
    if (std::holds_alternative<job::EpochLine>(read.line)) ++epochs_;
  }
}

double TimedTraining::taken(int wanted) const {
  if (!first_ || last_->now_s <= first_->now_s) return 0;
  const double others_s = last_->busy_s - first_->busy_s - (last_->own_s - first_->own_s);
  const double others = others_s / (last_->now_s - first_->now_s);
  return std::clamp((others + wanted - read_cores().allowed) / wanted, 0.0, 1.0);
}

void TimedTraining::look_at_process() {
  constexpr std::chrono::milliseconds kPause{250};
  if (Clock::now() < looked_ + kPause) return;
  looked_ = Clock::now();
  const auto busy_s = busy_seconds();
  const auto stat = process_stat(child_.child.id());
  if (busy_s && stat && !stat->ended()) {
    last_ = {.now_s = std::chrono::duration<double>(looked_.time_since_epoch()).count(),
             .busy_s = *busy_s,
             .own_s = static_cast<double>(stat->cpu_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK))};
    if (!first_) first_ = last_;
  }
  std::ifstream status(fmt::format("/proc/{}/status", child_.child.id()));
  constexpr std::string_view kPeak = "VmHWM:";
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(kPeak))
      memory_gib_ = std::max(memory_gib_, std::atof(line.c_str() + kPeak.size()) / (1 << 20));
  }
}

}  // namespace linac::cli
