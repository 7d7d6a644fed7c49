#include "linac/base/plan/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "linac/base/base/median.h"
#include "linac/base/plan/spot.h"

namespace linac::plan {
namespace {

// What is not in the measurement's own scatter: the same training on the same host, started anew. From 36 trainings of
// bench/plan.py (seed 3), of which four of five were within 28 % of a step, 33 % of a start and 27 % of the whole.
constexpr double kStepSpread = 0.12, kStartSpread = 0.25, kBetweenSpread = 0.3;
// For each doubling of what computes side by side on a host beyond what was measured: memory and caches are shared.
constexpr double kCrowdingSpread = 0.08;
// The model of the exchange against measured sums of two to eight hosts, which is further off the more there are
// (docs/internals/scaling.md), and over links that nobody has described.
constexpr double kExchangeSpread = 0.25, kUnknownLinkSpread = 0.8, kWithinHostSpread = 0.4;
constexpr double kCheckpointMin_s = 0.05;  // that a checkpoint stops a training
constexpr double kWorthWords = 0.01;
// Beyond these the measurement says of itself that it is not what a training will be.
constexpr double kGrows = 1.15, kTaken = 0.1;
constexpr double kOtherHostStartSpread = 0.5, kMeetingSpread = 0.3;
// Of the scatter itself, of the same training started anew; and of what comes from afar only once.
constexpr double kJitterSpread = 0.5, kFirstSpread = 0.5, kFirstElsewhereSpread = 1;
// Power of a busy machine against what a book says (CodeCarbon against meters: arXiv:2509.22092).
constexpr double kPowerSpread = 0.2;

constexpr Link kWithinHost{
    .bytes_per_s = 2e9, .latency_s = 20e-6, .message_s = 10e-6, .byte_s = 0, .add_s = 0, .threads = 1};

// An integral that few numbers ask for again and again.
double largest_of(int count) {
  thread_local std::map<int, double> known;
  const auto [at, is_new] = known.try_emplace(count, 0);
  if (is_new) at->second = expected_maximum(count);
  return at->second;
}

struct Load {
  int replicas = 1, waves = 1;  // of a worker
  int side_by_side = 1;         // replicas on a host
  double processors = 1;        // of a host that work
  // Of a step: what its waves take, and what the cores' time allows. A quota gives a host pauses, in which a link may
  // bring what it will.
  double free_s = 0, bound_s = 0;

  double compute_s() const { return std::max(free_s, bound_s); }
};

double processors_of(const Measured& measured) {
  const double wanted = measured.replicas * measured.threads;
  return measured.device == "cpu" ? std::min(wanted, measured.cores) : measured.replicas;
}

// Of what was measured, without the pauses of a quota.
double part_without_pauses(const Measured& measured) {
  const int threads = measured.replicas * measured.threads;
  if (measured.cores >= threads || measured.step_cpu_s == 0) return 1;
  return std::min(1.0, measured.step_cpu_s / threads / measured.step_s());
}

Load load_of(const Measured& measured, int replicas, const Place& place, const Candidate& candidate) {
  Load load;
  const auto each = [](int replicas, int of) { return (replicas + of - 1) / of; };
  load.replicas = each(replicas, candidate.workers());
  if (place.devices > 0) {
    const int devices = std::max(1, place.devices / candidate.workers_a_host);
    load.waves = each(load.replicas, devices);
    load.side_by_side = std::min(load.replicas, devices) * candidate.workers_a_host;
    load.processors = load.side_by_side;
    load.free_s = place.slower.middle * (load.waves * measured.wave_s + measured.fixed_s);
    return load;
  }
  const int cores_of_a_worker = std::max(1, static_cast<int>(place.cores / candidate.workers_a_host));
  const int at_once = std::clamp(cores_of_a_worker / measured.threads, 1, load.replicas);
  load.waves = each(load.replicas, at_once);
  load.side_by_side = at_once * candidate.workers_a_host;
  const double cpu_s = each(replicas, candidate.hosts) * measured.step_cpu_s / measured.replicas;
  load.processors = std::min(static_cast<double>(load.side_by_side * measured.threads), place.cores);
  load.free_s = place.slower.middle * part_without_pauses(measured) * (load.waves * measured.wave_s + measured.fixed_s);
  load.bound_s = place.slower.middle * cpu_s / place.cores;
  return load;
}

Estimate widened(Estimate estimate, const Experience::Part& part) {
  return {estimate.middle * part.bias, estimate.spread * part.widened};
}

// Two workers of a host were measured. Of what their exchange takes a part keeps the host's cores busy: n workers send
// n (n - 1) parts, and each 2 (n - 1) / n of what one of two does. The rest they wait.
struct WithinHost {
  double wait_s = 0, cpu_s = 0;  // a step; of both workers

  double of_one_s(int workers) const { return cpu_s * (workers - 1) / workers; }
  double free_s(int workers) const { return wait_s + of_one_s(workers); }
  double bound_s(int workers, double cores) const { return cpu_s * (workers - 1) / cores; }
};

std::optional<WithinHost> within_host(const Measured& measured) {
  if (!measured.pair_s || measured.step_cpu_s == 0) return std::nullopt;
  Place there;
  there.cores = measured.cores;
  const Load alone = load_of(measured, 2, there, {.workers_a_host = 2});
  WithinHost found;
  found.cpu_s = std::max(0.0, measured.pair_cpu_s - 2 * measured.step_cpu_s / measured.replicas);
  found.wait_s = std::max(
      0.0, *measured.pair_s - std::max(alone.free_s + found.free_s(2), alone.bound_s + found.bound_s(2, there.cores)));
  return found;
}

// Widened by what the measurement doubts of itself, which is said.
double compute_spread(const Measured& measured, const Place& place, const Load& load,
                      std::vector<std::string>& remarks) {
  const double of_mean = measured.scatter / std::sqrt(static_cast<double>(measured.steps_seen));
  double spread = joined(joined(kStepSpread, of_mean), place.slower.spread);
  spread = joined(spread, measured.doubt);
  if (measured.growth > kGrows) {
    spread = joined(spread, std::log(measured.growth));
    remarks.push_back(
        fmt::format("its steps took {:.0f} % longer at the end of the measurement than at its begin: "
                    "a longer one tells more (--probe-seconds)",
                    100 * (measured.growth - 1)));
  }
  if (measured.taken > kTaken) {
    spread = joined(spread, measured.taken);
    remarks.push_back(
        fmt::format("other work had {:.0f} % of its processors' time when it was measured: alone it is sooner",
                    100 * measured.taken));
  }
  if (load.side_by_side > measured.replicas)
    spread = joined(spread, kCrowdingSpread * std::log2(static_cast<double>(load.side_by_side) / measured.replicas));
  return spread;
}

void forecast_exchange(const Measured& measured, const Place& place, const Load& load, Forecast& found) {
  const int workers = found.candidate.workers();
  const bool within = found.candidate.hosts == 1;
  const auto pair = place.devices == 0 ? within_host(measured) : std::nullopt;
  const double slower = place.slower.middle;
  if (within && pair) {
    const double step_s = std::max(load.free_s + slower * pair->free_s(workers),
                                   load.bound_s + slower * pair->bound_s(workers, place.cores));
    found.exchange = {step_s - load.compute_s(), kWithinHostSpread};
    return;
  }
  Step step{.compute_s = load.free_s, .replicas = load.replicas, .updates = measured.updates};
  const double scale = load.free_s / (load.waves * measured.step_s());
  for (Update& update : step.updates) {
    update.beside_s *= scale * load.waves;
    for (Bucket& bucket : update.buckets) bucket.left_s *= scale;
  }
  const bool known = within || place.link_known;
  const double exposed_s = predict(step, workers, within ? kWithinHost : place.link).exposed_s;
  // What each host does for it counts against its cores' time.
  const double own_s = pair ? slower * pair->of_one_s(workers) / place.cores : 0;
  const double step_s = within ? load.compute_s() + exposed_s : std::max(load.free_s + exposed_s, load.bound_s + own_s);
  found.exchange = {std::max(0.0, step_s - load.compute_s()),
                    known ? kExchangeSpread * (1 + std::log2(workers) / 2) : kUnknownLinkSpread};
  if (!known) found.remarks.push_back("its link is not known: 10gbit:50us is supposed; set plan.link of the site");
}

void forecast_step(const Measured& measured, const Place& place, const Load& load, const Experience& experience,
                   Forecast& found) {
  found.compute = {load.compute_s(), compute_spread(measured, place, load, found.remarks)};
  // What was measured waited for the slowest of those that were side by side there.
  const double waits =
      std::max(0.0, largest_of(load.side_by_side * found.candidate.hosts) - largest_of(measured.replicas));
  // Where a quota holds it, steps scatter by its pauses, and who waits has his later.
  const double scatter = part_without_pauses(measured) < 1 ? 0 : measured.scatter;
  found.waiting = {load.compute_s() * scatter * waits / std::sqrt(static_cast<double>(load.waves)), 0.5};
  if (found.candidate.workers() > 1) forecast_exchange(measured, place, load, found);
  const Estimate parts[] = {found.compute, found.waiting, found.exchange};
  found.step = widened(sum(parts), experience.step);
  if (measured.scatter > 0)
    found.jitter = Estimate{
        measured.scatter / std::sqrt(static_cast<double>(load.waves)),
        joined(joined(kJitterSpread, measured.taken), 1 / std::sqrt(2 * static_cast<double>(measured.steps_seen)))};
}

// Workers of one host start on its cores: each beyond the two that were measured to meet takes its part of them.
double start_of(const Measured& measured, const Place& place, const Candidate& candidate) {
  const double one_s = place.here ? measured.start_s.back() : measured.start_s.front();
  if (candidate.workers() == 1) return one_s;
  const double measured_a_core = 2 / std::max(1.0, measured.cores),
               a_core = candidate.workers_a_host / std::max(1.0, place.cores);
  return std::max(one_s, measured.start_of_several_s.value_or(one_s) + one_s * (a_core - measured_a_core));
}

// `work`: behind the start.
void forecast_spot(const Place& place, const Estimate& work, double checkpoint_s, const Wishes& wishes, SpotBy by,
                   Forecast& found) {
  SpotRow row;
  row.life_s = place.spot_life_h * 3600 / found.candidate.hosts;
  row.gap_s = place.spot_gap_h > 0 ? place.spot_gap_h * 3600 : place.queue.middle;
  row.queue = place.queue;
  row.spot_price = place.spot_price.value_or(0);
  row.on_demand_price = place.price.value_or(0);
  row.deadline_s = wishes.deadline_s;
  row.work_spread = work.spread;
  row.job = {.work_s = work.middle, .recovery_s = found.start.middle};
  if (place.price && wishes.deadline_s > 0) row.job.deadline_s = std::max(1.0, wishes.deadline_s - place.queue.middle);
  row.job.checkpoint_s = young_interval_s(std::max(kCheckpointMin_s, checkpoint_s), row.life_s);
  found.checkpoint_minutes = row.job.checkpoint_s / 60;
  const SpotOutcome outcome = by == SpotBy::kMeans ? by_means(row) : carried_out(row);
  found.spot = outcome;
  found.preemptions = outcome.preemptions;
  if (!outcome.ends) {
    found.fits = false;
    found.remarks.push_back("its spot hosts are taken away sooner than its work gets on: it never ends");
    return;
  }
  const double lost_s = outcome.seconds.middle - found.seconds.middle;
  found.preempted = {std::max(0.0, lost_s), outcome.seconds.spread};
  found.seconds = outcome.seconds;
  if (outcome.on_demand > kWorthWords)
    found.remarks.push_back(
        fmt::format("for {:.0f} % of its time on hosts that stay, as the deadline wants it (linac launch --then)",
                    100 * outcome.on_demand));
}

void forecast_time(const Measured& measured, const Goal& goal, const Place& place, const Load& load,
                   const Wishes& wishes, const Experience& experience, SpotBy by, Forecast& found) {
  const bool meet = found.candidate.workers() > 1;
  const double start_s = start_of(measured, place, found.candidate);
  const bool as_measured = !meet || (measured.start_of_several_s && found.candidate.hosts == 1);
  const double start_spread =
      joined(place.here ? kStartSpread : kOtherHostStartSpread, as_measured ? 0 : kMeetingSpread);
  found.queue = place.queue;
  found.start = widened({start_s, start_spread}, experience.start);
  const double boundaries = static_cast<double>(measured.epochs - 1);
  const double of_job = goal.steps.middle / static_cast<double>(measured.steps);
  // Of a test that nobody has measured, a step's time is supposed. All replicas share it.
  const double share = processors_of(measured) / (load.processors * found.candidate.hosts);
  const double test = measured.test_s.value_or(measured.tests ? measured.step_s() : 0) * share;
  const double between = measured.between_s.value_or(measured.checkpoint_s);
  found.between = {
      place.slower.middle * (boundaries * of_job * (between + test) + measured.end_s.value_or(between) + test),
      joined(measured.test_s ? kBetweenSpread : 1, place.slower.spread)};
  if (!measured.test_s && measured.tests)
    found.remarks.push_back("the test at an epoch's end took too long to be measured; a step's time is supposed");
  const Estimate steps = product(goal.steps, found.step);
  if (measured.first_s > 0)
    found.first = {place.slower.middle * measured.first_s, place.here ? kFirstSpread : kFirstElsewhereSpread};
  const Estimate training[] = {steps, found.first, found.between};
  const Estimate work = sum(training);
  const Estimate all[] = {found.queue, found.start, work};
  found.seconds = widened(sum(all), experience.whole);
  if (found.candidate.market != Market::kSpot) return;
  const Estimate without_queue[] = {found.start, work};
  const double spread = widened(sum(without_queue), experience.whole).spread;
  if (place.spot_life_h > 0)
    forecast_spot(place, {work.middle * experience.whole.bias, spread}, measured.checkpoint_s, wishes, by, found);
  else
    found.remarks.push_back("how long its spot hosts live is not known: none is supposed to be taken away");
}

void forecast_worth(const Place& place, const Wishes& wishes, Forecast& found) {
  const Candidate& candidate = found.candidate;
  const bool taken_away = found.spot && found.spot->ends;
  const double paid_s = taken_away ? found.spot->paid_s : found.seconds.middle - found.queue.middle;
  const Estimate hours{paid_s / 3600 * candidate.hosts, found.seconds.spread};
  const auto& price = candidate.market == Market::kSpot ? place.spot_price : place.price;
  if (price) found.money = taken_away ? found.spot->money * candidate.hosts : hours * *price;
  if (place.watts) {
    found.kwh = product(hours * (*place.watts / 1000), {1, kPowerSpread});
    if (place.co2_g_per_kwh) found.co2_kg = *found.kwh * (*place.co2_g_per_kwh / 1000);
  }
  if (place.memory_gib > 0 && found.memory_gib > place.memory_gib) {
    found.fits = false;
    found.remarks.push_back(
        fmt::format("needs {:.1f} GiB on each host, which has {:.1f}", found.memory_gib, place.memory_gib));
  }
  if (wishes.deadline_s > 0)
    found.on_time = taken_away ? found.spot->on_time : found.seconds.no_more_than(wishes.deadline_s);
  constexpr double kFourOfFiveShare = 0.8;
  found.good = found.fits && found.on_time >= kFourOfFiveShare;
  if (wishes.budget > 0) {
    if (!found.money) found.remarks.push_back("no price is known, so the budget cannot be kept");
    found.good = found.good && found.money && found.money->no_more_than(wishes.budget) >= kFourOfFiveShare;
  }
}

}  // namespace

Forecast forecast(const Measured& measured, const Goal& goal, const Place& place, const Candidate& candidate,
                  const Wishes& wishes, const Experience& experience, SpotBy by) {
  Forecast found;
  found.candidate = candidate;
  found.steps = goal.steps.middle;
  found.remarks = place.remarks;
  const Load load = load_of(measured, measured.replicas_of_job, place, candidate);
  forecast_step(measured, place, load, experience, found);
  forecast_time(measured, goal, place, load, wishes, experience, by, found);
  found.memory_gib = measured.memory_gib * candidate.workers_a_host;
  forecast_worth(place, wishes, found);
  return found;
}

Experience::Part learn(const std::vector<Outcome>& outcomes) {
  constexpr double kBefore = 4;
  std::vector<double> off, spreads;
  for (const Outcome& outcome : outcomes) {
    if (!(outcome.planned.middle > 0 && outcome.actual > 0 && outcome.planned.low > 0)) continue;
    off.push_back(std::log(outcome.actual / outcome.planned.middle));
    spreads.push_back(std::max(0.005, Estimate::of(outcome.planned).spread));
  }
  Experience::Part part;
  part.runs = static_cast<int>(off.size());
  if (off.empty()) return part;
  const double count = static_cast<double>(off.size());
  const double bias = median(off) * count / (count + kBefore);
  double squares = kBefore;
  for (size_t i = 0; i < off.size(); ++i) squares += std::pow((off[i] - bias) / spreads[i], 2);
  part.bias = std::exp(bias);
  part.widened = std::sqrt(squares / (count + kBefore));
  return part;
}

}  // namespace linac::plan
