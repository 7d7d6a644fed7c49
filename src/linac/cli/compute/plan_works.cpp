#include "linac/cli/compute/plan_works.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/base/plan/batch_law.h"
#include "linac/base/plan/places.h"
#include "linac/base/plan/work.h"
#include "linac/cli/compute/job_file.h"
#include "linac/cli/compute/probe.h"
#include "linac/train/train/loops/loop.h"

namespace linac::cli {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

template <class T>
std::vector<T> each_once(const T& own, std::vector<T> wanted) {
  if (wanted.empty()) return {own};
  std::vector<T> found;
  for (T& one : wanted)
    if (std::ranges::find(found, one) == found.end()) found.push_back(std::move(one));
  return found;
}

// What of the job is other.
Settings settings_of(const job::Train& own, const std::string& precision, int64_t batch, int replicas) {
  Settings settings;
  if (batch != own.batch) settings.emplace_back("batch", std::to_string(batch));
  if (precision != own.precision) settings.emplace_back("precision", precision);
  if (replicas != own.replicas) settings.emplace_back("replicas", std::to_string(replicas));
  return settings;
}

std::string name_of(const Settings& settings) {
  std::string name;
  for (const auto& [key, value] : settings)
    name += ", " + (key == "batch" ? "batch " + value : key == "replicas" ? value + " replicas" : value);
  return name;
}

// What makes it another training.
std::string mathematics_of(const job::Train& own, const job::Train& other) {
  const auto events = [](const job::Train& train) { return train.batch * train.replicas; };
  const std::string& rule = other.schedule.scale_with_replicas;
  const double factor = rule == "linear" ? other.replicas : rule == "sqrt" ? std::sqrt(other.replicas) : 1;
  std::string words = fmt::format(
      "another training than the job's: an update of {} x {} = {} events (the job's: {}), "
      "learning rate {:.4g}, {} (train.schedule.scale_with_replicas: {})",
      other.replicas, other.batch, events(other), events(own), other.optimizer.lr * factor,
      rule == "none" ? "as it is" : fmt::format("{:.4g} times the setting", factor), rule);
  if (other.precision != own.precision) words += ", " + other.precision;
  return words;
}

// Of a precision that was not measured.
plan::Measured supposed(const plan::Measured& measured, const std::string& precision, const plan::Book& book) {
  constexpr double kSpread = 0.6;  // as of the share of a peak that a network gets (base/plan/places.cpp)
  plan::Measured other = measured;
  other.precision = precision;
  const plan::Machine* machine = measured.machine.empty() ? nullptr : book.machine(measured.machine);
  const double here = machine == nullptr ? 0 : plan::peak_tflops(*machine, measured.precision),
               there = machine == nullptr ? 0 : plan::peak_tflops(*machine, precision);
  return plan::slowed(std::move(other), here > 0 && there > 0 ? here / there : 1, kSpread);
}

// Measurements by precision.
class Measurements {
 public:
  Measurements(const WorkSources& sources, const plan::Measured& own) : sources_(sources) {
    found_[own.precision] = {own, ""};
    own_ = own.precision;
  }

  struct Known {
    plan::Measured measured;
    std::string remark;
  };
  const Known& of(const std::string& precision) {
    const auto found = found_.find(precision);
    return found != found_.end() ? found->second : found_[precision] = measure(precision);
  }

 private:
  Known measure(const std::string& precision) const {
    const plan::Measured& own = found_.at(own_).measured;
    const std::vector<std::string> overrides = with({{"precision", precision}, {"batch", std::to_string(own.batch)}});
    const job::Job job = whole_job(sources_.job, overrides).job;
    std::string why = "no run of it is known, and nothing is measured";
    plan::Measured other;
    const std::vector<plan::KnownRun> before = plan::measured_by_runs(sources_.runs, job, plan::this_host());
    if (!before.empty()) {
      other = before.front().measured;
    } else if (sources_.probe_seconds > 0) {
      try {
        other = probe(sources_.job, overrides, sources_.probe_seconds);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kPreempted) throw;
        const std::string words = error.what();
        why = words.substr(0, words.find('\n'));
      }
    }
    if (other.steps_seen == 0)
      return {supposed(own, precision, sources_.book),
              fmt::format("{} was not measured ({}): supposed by the peaks of the price book, or as {} where it has "
                          "none, so the interval is wide",
                          precision, why, own.precision)};
    other.machine = own.machine;
    other.events = own.events;
    other.flop = own.flop;
    if (other.updates.empty()) other.updates = own.updates;
    return {other, ""};
  }

  std::vector<std::string> with(const Settings& settings) const {
    std::vector<std::string> all = sources_.overrides;
    for (const auto& [key, value] : settings) all.push_back("train." + key + "=" + value);
    return all;
  }

  const WorkSources& sources_;
  std::string own_;
  std::map<std::string, Known> found_;
};

// Steps and epochs of this job, whose epochs have other steps than the measured one's.
void set_steps(const job::Train& own, const job::Job& job, plan::Measured& measured) {
  int64_t an_epoch = 0;
  if (measured.events > 0) {
    an_epoch = train::steps_per_epoch(job, measured.events);
  } else {  // nobody has counted them
    const double of_own = static_cast<double>(measured.steps) / static_cast<double>(measured.epochs);
    const double events = of_own * static_cast<double>(own.batch * own.replicas);
    an_epoch =
        std::max<int64_t>(1, static_cast<int64_t>(events / static_cast<double>(job.train.batch * job.train.replicas)));
  }
  measured.steps = an_epoch * job.train.epochs;
  if (job.train.max_steps > 0) measured.steps = std::min(measured.steps, job.train.max_steps);
  measured.epochs = (measured.steps + an_epoch - 1) / an_epoch;
}

}  // namespace

int64_t second_batch(const job::Job& job, const WorkWishes& wishes) {
  const auto off = [&](int64_t batch) {
    return std::abs(std::log(static_cast<double>(batch) / static_cast<double>(job.train.batch)));
  };
  int64_t furthest = job.train.batch;
  for (const int64_t batch : wishes.batches)
    if (off(batch) >= off(furthest)) furthest = batch;
  return furthest == job.train.batch ? 0 : furthest;
}

std::vector<PlannedWork> works_of(const WorkWishes& wishes, const WorkSources& sources, const plan::Measured& measured,
                                  std::vector<std::string>& remarks) {
  const job::Job own = whole_job(sources.job, sources.overrides).job;
  const auto precisions = each_once(own.train.precision, wishes.precisions);
  const auto batches = each_once(own.train.batch, wishes.batches);
  const auto replicas = each_once(own.train.replicas, wishes.replicas);
  if (precisions.size() * batches.size() * replicas.size() > kWorksMax)
    throw user_error(fmt::format("[plan] --precision, --batch, --replicas: {} jobs; {} are the most",
                                 precisions.size() * batches.size() * replicas.size(), kWorksMax));
  Measurements measurements(sources, measured);
  std::vector<PlannedWork> works;
  for (const std::string& precision : precisions) {
    for (const int64_t batch : batches) {
      for (const int count : replicas) {
        PlannedWork work;
        work.settings = settings_of(own.train, precision, batch, count);
        std::vector<std::string> overrides = sources.overrides;
        for (const auto& [key, value] : work.settings) overrides.push_back("train." + key + "=" + value);
        const job::Job job = work.settings.empty() ? own : whole_job(sources.job, overrides).job;
        const auto& [known, doubt] = measurements.of(precision);
        work.measured = plan::at_batch(known, batch);
        work.measured.work = plan::work_digest(job);
        work.measured.replicas_of_job = count;
        work.name = name_of(work.settings);
        try {
          if (!work.settings.empty() || known.batch != batch) set_steps(own.train, job, work.measured);
        } catch (const Error& error) {
          if (error.code() != ErrorCode::kData) throw;
          remarks.push_back(fmt::format("left out{}: {}", work.name, error.what()));
          continue;
        }
        if (!work.settings.empty()) work.remarks.push_back(mathematics_of(own.train, job.train));
        if (!doubt.empty()) work.remarks.push_back(doubt);
        if (batch != known.batch && !plan::has_batch_law(known))
          work.remarks.push_back(
              fmt::format("how its steps grow with the batch was not measured: from as long as at "
                          "{} to in proportion; --anew measures it",
                          known.batch));
        works.push_back(std::move(work));
      }
    }
  }
  if (works.empty()) throw data_error("[plan] no job is left to plan: " + remarks.back());
  return works;
}

}  // namespace linac::cli
