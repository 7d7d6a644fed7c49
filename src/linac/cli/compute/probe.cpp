#include "linac/cli/compute/probe.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>
#include <optional>
#include <span>
#include <thread>

#include "linac/base/base/cores.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/median.h"
#include "linac/base/base/progress.h"
#include "linac/base/base/signals.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/energy/energy_meter.h"
#include "linac/base/job/step_time.h"
#include "linac/base/plan/work.h"
#include "linac/cli/compute/job_file.h"
#include "linac/cli/compute/scaling_plan.h"
#include "linac/cli/compute/timed_training.h"

namespace linac::cli {
namespace {

using Clock = TimedTraining::Clock;
using Strings = std::vector<std::string>;

// A look takes a processor from what is measured: before the first step they are for the start, then for the steps.
constexpr std::chrono::milliseconds kLookForStart{2}, kLook{20};
constexpr size_t kStepsAtLeast = 4, kStepsEnough = 1000;
constexpr double kMeterEvery_s = 1;
constexpr int kGpusMost = 16;  // of a host
// The short trainings come to their end by themselves, unless they take more than this part of the time, or seconds.
constexpr double kShareOfShort = 0.4, kShortAtLeast_s = 20;
constexpr int kShortEpochs = 4;
constexpr double kShortEpoch_s = 0.25, kPair_s = 1.5;
constexpr double kShareOfSteps = 0.7;        // of the time; the short epochs follow
constexpr double kShareOfOtherBatch = 0.35;  // beside it

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// From one step of an epoch to the next. The first of a start makes what the others find made.
std::vector<double> steps_within_epochs(const TimedTraining& training) {
  std::vector<double> seconds;
  const auto& steps = training.steps();
  for (size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].epoch == steps[i - 1].epoch) seconds.push_back(seconds_between(steps[i - 1].time, steps[i].time));
  }
  return seconds;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// How much longer the last steps took than the first; 1 for few. Several may have been seen at one look, so it is the
// median of parts.
double growth(std::span<const double> steps) {
  constexpr size_t kParts = 12, kThird = kParts / 3;
  const size_t size = steps.size() / kParts;
  if (size == 0) return 1;
  std::vector<double> parts;
  for (size_t part = 0; part < kParts; ++part) parts.push_back(mean(steps.subspan(part * size, size)));
  const double first = median({parts.begin(), parts.begin() + kThird}),
               last = median({parts.end() - kThird, parts.end()});
  return first > 0 && last > 0 ? last / first : 1;
}

// The steps of the first epoch where several were seen, else the first quarter: what they took beyond as many of those
// behind them, if that is much. Data that come from afar or caches that are empty do so.
struct FirstSteps {
  size_t count = 0;
  double beyond_s = 0;
};
FirstSteps first_steps(const TimedTraining& training, std::span<const double> within) {
  constexpr double kMuch = 1.2;
  constexpr size_t kBehindMin = 4;
  const int64_t epoch = training.steps().front().epoch;
  const auto of_epoch = static_cast<size_t>(
      std::ranges::count_if(training.steps(), [&](const auto& step) { return step.epoch == epoch; }));
  const size_t count = of_epoch <= within.size() ? of_epoch - 1 : within.size() / 4;
  if (count == 0 || within.size() < count + kBehindMin) return {};
  const double first = mean(within.first(count)), later = mean(within.subspan(count));
  if (first < kMuch * later) return {};
  return {count, (first - later) * static_cast<double>(count)};
}

class Probe {
 public:
  Probe(std::string job, Strings overrides, double seconds)
      : job_(std::move(job)),
        overrides_(std::move(overrides)),
        seconds_(seconds),
        bar_("[plan] measuring", static_cast<int64_t>(seconds)) {
    catch_stop_signals();  // so that the folder is removed
  }

  plan::Measured measure(int64_t other_batch) {
    const job::Job whole = whole_job(job_, overrides_).job;
    plan::Measured found;
    found.job = whole.name;
    found.work = plan::work_digest(whole);
    found.kin = plan::kin_digest(whole);
    found.precision = whole.train.precision;
    found.batch = whole.train.batch;
    found.host = plan::this_host();
    found.when = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    found.device = whole.train.device;
    found.cores = core_time();
    found.threads = whole.train.threads;
    found.replicas =
        whole.train.device == "cpu" ? std::clamp(usable_cores() / whole.train.threads, 1, whole.train.replicas) : 1;
    found.replicas_of_job = whole.train.replicas;
    found.tests = whole.data.tests();
    many_steps(found, "steps", kShareOfSteps * seconds_);
    if (other_batch > 0) at_batch(other_batch, found);
    if (whole.train.replicas > 1) pair(found);
    const JobOutline outline = outline_of(job_, overrides_, found.replicas, found.step_s());
    found.updates = outline.updates;
    found.flop = outline.flop;
    found.steps = outline.steps;
    found.epochs = outline.epochs;
    found.events = outline.events;
    short_epochs(found);
    bar_.finish("");
    return found;
  }

 private:
  TimedTraining start(const char* name, int workers, int replicas, Strings settings) {
    Strings all = overrides_;
    all.insert(all.end(),
               {fmt::format("train.replicas={}", replicas), "train.max_steps=0", "train.early_stopping.patience=-1",
                "checkpoint.every_minutes=0", "budget={}", "plan={}", "distribution.workers_min=1"});
    all.insert(all.end(), settings.begin(), settings.end());
    return TimedTraining({job_, std::move(all), workers, workers, folder_ / name});
  }

  // Goes on until it ends; `enough` asks it to.
  template <class Enough>
  void follow(TimedTraining& training, const Enough& enough) {
    while (training.look()) {
      if (stop_signal() != 0) throw Error(ErrorCode::kPreempted, "[plan] stopped by a signal; nothing is left behind");
      const double passed = seconds_between(began_, Clock::now());
      bar_.update(std::min(static_cast<int64_t>(passed), static_cast<int64_t>(seconds_)),
                  training.steps().empty() ? "it starts" : fmt::format("{} steps", training.steps().size()));
      if (enough(passed)) training.stop();
      std::this_thread::sleep_for(training.steps().empty() ? kLookForStart : kLook);
    }
  }

  bool takes_long(const TimedTraining& training) const {
    return seconds_between(training.began(), Clock::now()) > std::max(kShortAtLeast_s, kShareOfShort * seconds_);
  }

  void take_start(const TimedTraining& training, plan::Measured& found, double step_s) {
    found.start_s.push_back(std::max(0.0, seconds_between(training.began(), training.steps().front().time) - step_s));
    found.memory_gib = std::max(found.memory_gib, training.memory_gib());
  }

  void take_steps(const TimedTraining& training, plan::Measured& found, const std::vector<double>& within) {
    const job::WorkerAccount account = training.times().front();
    if (!account.steps || account.steps->steps == 0) throw environment_error(nothing_measured());
    const auto steps = static_cast<double>(account.steps->steps);
    const FirstSteps first = first_steps(training, within);
    found.first_s = first.beyond_s;
    const double step_s = mean(std::span(within).subspan(first.count));
    found.wave_s = std::min(step_s, account.time_in(job::Phase::kCompute).wall_s / steps);
    found.fixed_s = step_s - found.wave_s;
    found.scatter = job::scatter(*account.steps);
    found.growth = growth(within);
    found.steps_seen = static_cast<int64_t>(within.size());
    found.step_cpu_s = plan::step_cpu_s(account);
    found.checkpoint_s = account.time_in(job::Phase::kCheckpoint).wall_s;
  }

  // An epoch is as long as the job's, or long enough that the next checkpoint does not wait for the one before it.
  void short_epochs(plan::Measured& found) {
    const auto steps_of_job = static_cast<double>(std::max<int64_t>(2, found.steps / found.epochs));
    const double steps_an_epoch = std::clamp(std::ceil(kShortEpoch_s / found.step_s()), 2.0, steps_of_job);
    TimedTraining training = start(
        "epochs", 1, found.replicas,
        {fmt::format("train.steps_per_epoch={:.0f}", steps_an_epoch), fmt::format("train.epochs={}", kShortEpochs)});
    bool cut = false;
    follow(training, [&](double) { return cut = cut || takes_long(training); });
    const auto& steps = training.steps();
    if (steps.empty()) throw environment_error(nothing_measured());
    const std::vector<double> within = steps_within_epochs(training);
    take_start(training, found, within.empty() ? 0 : mean(within));
    if (training.epochs() == 0) return;
    const job::WorkerAccount account = training.times().front();
    const auto in_an_epoch = [&, epochs = static_cast<double>(training.epochs())](job::Phase phase) {
      return account.time_in(phase).wall_s / epochs;
    };
    found.test_s = in_an_epoch(job::Phase::kTest);
    found.between_s = in_an_epoch(job::Phase::kCheckpoint) + in_an_epoch(job::Phase::kReport);
    if (!cut) found.end_s = std::max(0.0, seconds_between(steps.back().time, training.ended()) - *found.test_s);
  }

  // Two workers: a start in which they have to meet, and what their exchange takes.
  void pair(plan::Measured& found) {
    const double steps = std::clamp(std::ceil(kPair_s / found.step_s()), 2.0, 400.0);
    TimedTraining training =
        start("pair", 2, 2,
              {fmt::format("train.steps_per_epoch={:.0f}", steps), "train.epochs=1", "data.test=[]",
               "data.validation_split=0", "checkpoint.best_by=loss", "validate.every_epochs=0"});
    follow(training, [&](double) { return takes_long(training); });
    const auto& seen = training.steps();
    const std::vector<double> within = steps_within_epochs(training);
    if (within.empty()) return;
    // Not the first ones: processes that are new find their memory and their pace.
    found.pair_s = mean(std::span(within).subspan(within.size() / 3));
    for (const job::WorkerAccount& account : training.times()) found.pair_cpu_s += plan::step_cpu_s(account);
    found.start_of_several_s = std::max(0.0, seconds_between(training.began(), seen.front().time) - *found.pair_s);
  }

  // Its steps alone. Where there are too few events for such a batch nothing is known of it.
  void at_batch(int64_t batch, plan::Measured& found) {
    plan::Measured other = found;
    other.memory_gib = 0;
    const double until_s = seconds_between(began_, Clock::now()) + kShareOfOtherBatch * seconds_;
    try {
      many_steps(other, "batch", until_s, {fmt::format("train.batch={}", batch)});
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kPreempted) throw;
      log::warn(fmt::format("[plan] batch {} could not be measured: {}", batch, error.what()));
      return;
    }
    found.at_batches.push_back({batch, other.wave_s, other.fixed_s, other.step_cpu_s, other.memory_gib});
  }

  void many_steps(plan::Measured& found, const char* name, double until_s, Strings more = {}) {
    more.insert(more.end(), {"train.epochs=1000000", "data.test=[]", "data.validation_split=0",
                             "checkpoint.every_epochs=0", "checkpoint.best_by=loss", "validate.every_epochs=0"});
    TimedTraining training = start(name, 1, found.replicas, std::move(more));
    std::vector<int> gpus(found.device == "cpu" ? 0 : kGpusMost);  // those that are there answer
    std::iota(gpus.begin(), gpus.end(), 0);
    energy::EnergyMeter meter(energy::gpu_meter(), gpus, 0);
    double read_s = -INFINITY;
    const auto read = [&](double now_s) {
      if (training.steps().empty() || now_s < read_s + kMeterEvery_s) return;
      meter.read(read_s = now_s);
    };
    follow(training, [&](double passed) {
      const size_t done = training.steps().size();
      read(passed);
      return done > kStepsAtLeast && (passed > until_s || done > kStepsEnough);
    });
    const energy::Use use = meter.use();
    if (use.has_processors && (use.has_gpus || gpus.empty()) && use.seconds > 0) found.watts = use.joules / use.seconds;
    const std::vector<double> steps = steps_within_epochs(training);
    if (steps.empty()) throw environment_error(nothing_measured());
    take_start(training, found, mean(steps));
    take_steps(training, found, steps);
    found.taken = training.taken(found.replicas * found.threads);
  }

  std::string nothing_measured() const {
    return fmt::format(
        "[plan] {}: the training ended before two steps of an epoch were done; give it more --probe-seconds, or "
        "a run that was measured by --measured RUN",
        job_);
  }

  const std::string job_;
  const Strings overrides_;
  const double seconds_;
  const Clock::time_point began_ = Clock::now();
  const TemporaryFolder folder_;
  Progress bar_;
};

}  // namespace

plan::Measured probe(const std::string& job, const std::vector<std::string>& overrides, double seconds,
                     int64_t other_batch) {
  return Probe(job, overrides, seconds).measure(other_batch);
}

}  // namespace linac::cli
