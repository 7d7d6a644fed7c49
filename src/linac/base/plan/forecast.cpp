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
constexpr double kExchangeSpread = 0.25, kUnknownLinkSpread = 0.8;
// Beyond these the measurement says of itself that it is not what a training will be.
constexpr double kGrows = 1.15, kWaited = 0.1;
constexpr double kOtherHostStartSpread = 0.5, kMeetingSpread = 0.5;
constexpr double kPreemptionSpread = 0.5;
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
  double compute_s = 0;         // of a step
  int side_by_side = 1;         // replicas on a host
};

Load load_of(const Measured& measured, const Place& place, const Candidate& candidate) {
  Load load;
  const auto each = [](int replicas, int of) { return (replicas + of - 1) / of; };
  load.replicas = each(measured.replicas_of_job, candidate.workers());
  const double wave_s = measured.mean_step_s();
  if (place.devices > 0) {
    const int devices = std::max(1, place.devices / candidate.workers_a_host);
    load.waves = each(load.replicas, devices);
    load.side_by_side = std::min(load.replicas, devices) * candidate.workers_a_host;
    load.compute_s = load.waves * wave_s * place.slower.middle;
    return load;
  }
  const int cores_of_a_worker = std::max(1, static_cast<int>(place.cores / candidate.workers_a_host));
  const int at_once = std::clamp(cores_of_a_worker / measured.threads, 1, load.replicas);
  load.waves = each(load.replicas, at_once);
  load.side_by_side = at_once * candidate.workers_a_host;
  const double cpu_s = each(measured.replicas_of_job, candidate.hosts) * measured.step_cpu_s / measured.replicas;
  load.compute_s = place.slower.middle * std::max(load.waves * wave_s, cpu_s / place.cores);
  return load;
}

Estimate widened(Estimate estimate, const Experience::Part& part) {
  return {estimate.middle * part.bias, estimate.spread * part.widened};
}

void forecast_step(const Measured& measured, const Place& place, const Load& load, const Experience& experience,
                   Forecast& found) {
  const Candidate& candidate = found.candidate;
  const double jitter = measured.jitter();
  const double of_mean = jitter / std::sqrt(static_cast<double>(measured.step_s.size()));
  double spread = joined(joined(kStepSpread, of_mean), place.slower.spread);
  if (const double growth = measured.growth(); growth > kGrows) {
    spread = joined(spread, std::log(growth));
    found.remarks.push_back(
        fmt::format("its steps took {:.0f} % longer at the end of the measurement than at its begin: "
                    "a longer one tells more (--probe-seconds)",
                    100 * (growth - 1)));
  }
  if (measured.waited > kWaited) {
    spread = joined(spread, measured.waited);
    found.remarks.push_back(
        fmt::format("its threads waited for a processor for {:.0f} % of the time when it was measured: "
                    "other work ran beside it, and alone it is sooner",
                    100 * measured.waited));
  }
  if (load.side_by_side > measured.replicas)
    spread = joined(spread, kCrowdingSpread * std::log2(static_cast<double>(load.side_by_side) / measured.replicas));
  const double compute_s = load.compute_s;
  found.compute = {compute_s, spread};
  const int workers = candidate.workers();
  // What was measured waited for the slowest of those that were side by side there.
  const double waits = largest_of(load.side_by_side * candidate.hosts) - largest_of(measured.replicas);
  found.waiting = {compute_s * jitter * std::max(0.0, waits) / std::sqrt(static_cast<double>(load.waves)), 0.5};
  if (workers > 1) {
    Step step{.compute_s = compute_s, .replicas = load.replicas, .updates = measured.updates};
    const double scale = compute_s / (load.waves * measured.mean_step_s());
    for (Update& update : step.updates) {
      update.beside_s *= scale * load.waves;
      for (Bucket& bucket : update.buckets) bucket.left_s *= scale;
    }
    const bool within = candidate.hosts == 1;
    found.exchange = {predict(step, workers, within ? kWithinHost : place.link).exposed_s,
                      within || place.link_known ? kExchangeSpread * (1 + std::log2(workers) / 2) : kUnknownLinkSpread};
    if (!within && !place.link_known)
      found.remarks.push_back("its link is not known: 10gbit:50us is supposed; set plan.link of the site");
  }
  const Estimate parts[] = {found.compute, found.waiting, found.exchange};
  found.step = widened(sum(parts), experience.step);
}

void forecast_time(const Measured& measured, const Goal& goal, const Place& place, const Experience& experience,
                   Forecast& found) {
  double start_s = 0;
  for (const double one : measured.start_s) start_s += one / static_cast<double>(measured.start_s.size());
  const bool meet = found.candidate.workers() > 1;
  if (meet && measured.start_of_several_s) start_s = std::max(start_s, *measured.start_of_several_s);
  const double start_spread = joined(place.here ? kStartSpread : kOtherHostStartSpread,
                                     meet && !measured.start_of_several_s ? kMeetingSpread : 0);
  found.queue = place.queue;
  found.start = widened({start_s, start_spread}, experience.start);
  const double boundaries = static_cast<double>(measured.epochs - 1);
  const double of_job = goal.steps.middle / static_cast<double>(measured.steps);
  const double between = measured.between_s ? *measured.between_s : measured.tests ? measured.mean_step_s() : 0;
  const double end = measured.end_s.value_or(between + measured.checkpoint_s);
  found.between = {place.slower.middle * (boundaries * of_job * between + end),
                   joined(measured.between_s ? kBetweenSpread : 1, place.slower.spread)};
  if (!measured.between_s && measured.tests)
    found.remarks.push_back("the test at an epoch's end took too long to be measured; a step's time is supposed");
  const Estimate steps = product(goal.steps, found.step);
  const Estimate undisturbed[] = {found.start, steps, found.between};
  double busy_s = sum(undisturbed).middle;
  if (found.candidate.market == Market::kSpot && place.spot_life_h > 0) {
    const double life_s = place.spot_life_h * 3600 / found.candidate.hosts;
    const double interval_s = young_interval_s(std::max(0.05, measured.checkpoint_s), life_s);
    found.checkpoint_minutes = interval_s / 60;
    const double lost_s = found.start.middle + place.queue.middle + std::min(interval_s, busy_s) / 2;
    found.preemptions = busy_s / std::max(life_s - lost_s, life_s / 100);
    found.preempted = {found.preemptions * lost_s, joined(kPreemptionSpread, 1 / std::sqrt(1 + found.preemptions))};
  } else if (found.candidate.market == Market::kSpot) {
    found.remarks.push_back("how long its spot hosts live is not known: none is supposed to be taken away");
  }
  const Estimate all[] = {found.queue, found.start, steps, found.between, found.preempted};
  found.seconds = widened(sum(all), experience.whole);
}

void forecast_worth(const Place& place, const Wishes& wishes, Forecast& found) {
  const Candidate& candidate = found.candidate;
  const double paid_s = found.seconds.middle - found.queue.middle;
  const Estimate hours{paid_s / 3600 * candidate.hosts, found.seconds.spread};
  const auto& price = candidate.market == Market::kSpot ? place.spot_price : place.price;
  if (price) found.money = hours * *price;
  if (place.watts) {
    found.kwh = product(hours * (*place.watts / 1000), {1, kPowerSpread});
    if (place.co2_g_per_kwh) found.co2_kg = *found.kwh * (*place.co2_g_per_kwh / 1000);
  }
  if (place.memory_gib > 0 && found.memory_gib > place.memory_gib) {
    found.fits = false;
    found.remarks.push_back(
        fmt::format("needs {:.1f} GiB on each host, which has {:.1f}", found.memory_gib, place.memory_gib));
  }
  if (wishes.deadline_s > 0) found.on_time = found.seconds.no_more_than(wishes.deadline_s);
  constexpr double kFourOfFiveShare = 0.8;
  found.good = found.fits && found.on_time >= kFourOfFiveShare;
  if (wishes.budget > 0) {
    if (!found.money) found.remarks.push_back("no price is known, so the budget cannot be kept");
    found.good = found.good && found.money && found.money->no_more_than(wishes.budget) >= kFourOfFiveShare;
  }
}

// 1, 2, 4, ... and the most.
std::vector<int> doubled(int most) {
  std::vector<int> counts;
  for (int count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

double value_of(const Forecast& found, Order order) {
  const auto known = [](const std::optional<Estimate>& value) {
    return value ? value->middle : std::numeric_limits<double>::infinity();
  };
  switch (order) {
    case Order::kMoney:
      return known(found.money);
    case Order::kEnergy:
      return known(found.kwh);
    case Order::kCarbon:
      return known(found.co2_kg);
    case Order::kTime:
      break;
  }
  return found.seconds.middle;
}

}  // namespace

Forecast forecast(const Measured& measured, const Goal& goal, const Place& place, const Candidate& candidate,
                  const Wishes& wishes, const Experience& experience) {
  Forecast found;
  found.candidate = candidate;
  found.remarks = place.remarks;
  const Load load = load_of(measured, place, candidate);
  forecast_step(measured, place, load, experience, found);
  forecast_time(measured, goal, place, experience, found);
  found.memory_gib = measured.memory_gib * candidate.workers_a_host;
  forecast_worth(place, wishes, found);
  return found;
}

std::vector<Candidate> candidates(const Measured& measured, const std::vector<Place>& places, bool spot,
                                  const std::vector<int>& workers_a_host) {
  std::vector<Candidate> all;
  for (size_t place = 0; place < places.size(); ++place) {
    const Place& there = places[place];
    for (const int hosts : doubled(there.hosts_max)) {
      for (const int workers : workers_a_host) {
        if (hosts * workers > measured.replicas_of_job || (there.devices > 0 && workers > there.devices)) continue;
        all.push_back({place, hosts, workers, Market::kOnDemand});
        if (spot && there.spot_price) all.push_back({place, hosts, workers, Market::kSpot});
      }
    }
  }
  return all;
}

void rank(std::vector<Forecast>& forecasts, Order order) {
  const auto group = [](const Forecast& found) { return found.good ? 0 : found.fits ? 1 : 2; };
  std::stable_sort(forecasts.begin(), forecasts.end(), [&](const Forecast& a, const Forecast& b) {
    if (group(a) != group(b)) return group(a) < group(b);
    const double of_a = value_of(a, order), of_b = value_of(b, order);
    return of_a != of_b ? of_a < of_b : a.seconds.middle < b.seconds.middle;
  });
}

std::vector<bool> pareto(const std::vector<Forecast>& forecasts) {
  const bool priced =
      std::any_of(forecasts.begin(), forecasts.end(), [](const Forecast& f) { return f.money.has_value(); });
  const Order worth = priced ? Order::kMoney : Order::kEnergy;
  std::vector<size_t> by_time(forecasts.size());
  for (size_t i = 0; i < by_time.size(); ++i) by_time[i] = i;
  std::sort(by_time.begin(), by_time.end(), [&](size_t a, size_t b) {
    const double seconds_a = forecasts[a].seconds.middle, seconds_b = forecasts[b].seconds.middle;
    return seconds_a != seconds_b ? seconds_a < seconds_b
                                  : value_of(forecasts[a], worth) < value_of(forecasts[b], worth);
  });
  std::vector<bool> front(forecasts.size(), false);
  double least = std::numeric_limits<double>::infinity();
  for (const size_t i : by_time) {
    if (!forecasts[i].fits || value_of(forecasts[i], worth) >= least) continue;
    least = value_of(forecasts[i], worth);
    front[i] = true;
  }
  return front;
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
