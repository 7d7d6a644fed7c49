#pragma once
// What a training takes on other machines and numbers of workers, from what was measured on one: time, money, energy,
// carbon dioxide and memory, each with an interval and its parts. Pure, thread-safe.
//
//   time = queue + start + steps x step + first steps + epochs x (test + between) + end + preemptions
//   step = waves x computing + what a step takes beside it + waiting for the slowest + exposed exchange
//
// A worker of W carries ceil(R / W) of the job's R replicas, and computes them in waves of as many as its cores hold. A
// wave takes what it took where it was measured, times how much slower the place is; but a host gives no more than its
// cores' CPU seconds a second, however many workers it has. A test is shared by all that compute side by side. All wait
// for the slowest: where n replicas compute side by side and a step scatters by s, for the largest of n normal
// deviates, of which the measured ones have already waited for theirs. The exchange is that of scaling.h. What the
// first steps took beyond as many later ones, as data came from afar, they take once. Hosts that may be taken away are
// those of spot_row.h.
//
// The parts err apart, so each has a spread of its own (the constants in forecast.cpp, with where they come from), and
// those that planned and actual figures of past runs say take their place (Experience).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/plan/estimate.h"
#include "linac/base/plan/measured.h"
#include "linac/base/plan/prices.h"
#include "linac/base/plan/scaling.h"
#include "linac/base/plan/spot_row.h"

namespace linac::plan {

/// Hosts of one kind.
struct Place {
  std::string name;     // "here", a site, a machine of the book
  std::string machine;  // of the book, or what its processor is
  bool here = false;    // the host that was measured
  double cores = 1;     // of a host
  int devices = 0;      // GPUs of a host; its workers share them
  int hosts_max = 1;
  double memory_gib = 0;                    // of a host; 0: not known
  Estimate slower{1, 0};                    // a wave here, against the measured one
  Estimate queue{0, 0};                     // seconds before a launch begins
  std::optional<double> price, spot_price;  // US dollars for an hour of a host
  std::optional<double> watts;              // of a busy host
  std::optional<double> co2_g_per_kwh;
  Link link;
  bool link_known = false;
  double spot_life_h = 0;            // mean time until a spot host is taken away; 0: not known
  double spot_gap_h = 0;             // and until another one can be had; 0: as long as a launch waits
  std::vector<std::string> remarks;  // what was supposed of it
};

struct Candidate {
  size_t place = 0;  // in a list
  int hosts = 1, workers_a_host = 1;
  Market market = Market::kOnDemand;
  size_t work = 0;  // likewise in a list, of whoever plans several

  int workers() const { return hosts * workers_a_host; }
};

/// How far plans of past runs were off.
struct Experience {
  struct Part {
    double bias = 1;     // actual over planned
    double widened = 1;  // of the spread
    int runs = 0;
  };
  Part start, step, whole;
};

/// Steps to the end of the job, or to a quality.
struct Goal {
  Estimate steps;
  std::string remark;  // how the steps to the quality are known
};

struct Forecast {
  Candidate candidate;
  double steps = 0;  // to the end
  // Seconds; of a step: step to exchange.
  Estimate queue, start, step, compute, waiting, exchange, first, between, preempted;
  Estimate seconds;                 // of all, the queue included
  std::optional<Estimate> jitter;   // standard deviation of a step, over its mean
  std::optional<SpotOutcome> spot;  // of hosts that are taken away
  std::optional<Estimate> money, kwh, co2_kg;
  double memory_gib = 0;          // of a host
  double preemptions = 0;         // that are expected
  double checkpoint_minutes = 0;  // the best interval where hosts are taken away; 0: none is
  double on_time = 1;             // how likely the deadline is met; 1 without one
  bool fits = true;               // memory; hosts; price known where a budget is
  bool good = true;               // it fits, and meets deadline and budget four times of five
  std::vector<std::string> remarks;
};

struct Wishes {
  double deadline_s = 0;  // 0: none
  double budget = 0;      // US dollars; 0: none
};

/// How a row of spot hosts is found.
enum class SpotBy { kMeans, kCarryingOut };

Forecast forecast(const Measured& measured, const Goal& goal, const Place& place, const Candidate& candidate,
                  const Wishes& wishes, const Experience& experience, SpotBy by = SpotBy::kMeans);

/// Numbers of hosts (1, 2, 4, ... and the most), workers of each and both markets of each place, as far as the job's
/// replicas go round. One worker keeps all cores or GPUs of a host busy.
std::vector<Candidate> candidates(const Measured& measured, const std::vector<Place>& places, bool spot,
                                  const std::vector<int>& workers_a_host = {1});

enum class Order { kMoney, kTime, kEnergy, kCarbon };
/// Good ones first, then those that fit; each by the order, what is not known last, and by time.
void rank(std::vector<Forecast>& forecasts, Order order);
/// The same; of the rows of spot hosts the first ones are made anew by `carry_out`, so that none of them is the first
/// by means alone: whoever is ranked first was played.
void rank(std::vector<Forecast>& forecasts, Order order, const std::function<Forecast(const Forecast&)>& carry_out);
/// Whether no other that fits is both sooner and cheaper (by money, or where no price is known by energy).
std::vector<bool> pareto(const std::vector<Forecast>& forecasts);

/// A planned interval and what came of it.
struct Outcome {
  Interval planned;
  double actual = 0;
};
/// From pairs of the same part. Few pairs move little: they count beside four that were as the interval says.
Experience::Part learn(const std::vector<Outcome>& outcomes);

}  // namespace linac::plan
