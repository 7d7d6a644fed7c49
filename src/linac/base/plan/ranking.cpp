// Candidates of forecast.h, and their order.

#include <algorithm>
#include <limits>

#include "linac/base/plan/forecast.h"

namespace linac::plan {
namespace {

constexpr size_t kPlayedAtOnce = 32;  // rows of spot hosts
constexpr int kRoundsMax = 8;

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

void rank(std::vector<Forecast>& forecasts, Order order, const std::function<Forecast(const Forecast&)>& carry_out) {
  const auto by_means = [](const Forecast& found) { return found.spot && !found.spot->played; };
  rank(forecasts, order);
  for (int round = 0; round < kRoundsMax; ++round) {
    size_t left = kPlayedAtOnce;
    for (auto found = forecasts.begin(); found != forecasts.end() && left > 0; ++found)
      if (by_means(*found)) *found = carry_out(*found), --left;
    rank(forecasts, order);
    if (left > 0 || !by_means(forecasts.front())) return;
  }
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

}  // namespace linac::plan
