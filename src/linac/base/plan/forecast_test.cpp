#include "linac/base/plan/forecast.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

namespace linac::plan {
namespace {

// Two replicas side by side on two cores, 0.1 s a wave, of a job of eight.
Measured measured() {
  Measured found;
  found.cores = 2;
  found.replicas = 2;
  found.replicas_of_job = 8;
  found.start_s = {2};
  found.start_of_several_s = 3;
  found.wave_s = 0.1;
  found.steps_seen = 3;
  found.step_cpu_s = 0.2;
  found.test_s = 0.75;
  found.between_s = 0.25;
  found.end_s = 4;
  found.checkpoint_s = 0.5;
  found.memory_gib = 3;
  found.steps = 100;
  found.epochs = 10;
  found.tests = true;
  return found;
}

Place place(double cores = 2) {
  Place found;
  found.name = "here";
  found.here = true;
  found.cores = cores;
  return found;
}

Goal whole() {
  return {{100, 0}, ""};
}

Forecast of(const Candidate& candidate, const Place& where, const Wishes& wishes = {}) {
  return forecast(measured(), whole(), where, candidate, wishes, {});
}

TEST(Forecast, TimeIsStartStepsAndWhatIsBetween) {
  const Forecast found = of({}, place());
  EXPECT_NEAR(found.compute.middle, 4 * 0.1, 1e-12);  // eight replicas in waves of two
  EXPECT_EQ(found.exchange.middle, 0);
  EXPECT_NEAR(found.seconds.middle, 2 + 100 * 0.4 + 9 * (0.25 + 0.75) + 0.75 + 4, 1e-9);
  EXPECT_LT(found.seconds.interval().low, found.seconds.middle);
}

TEST(Forecast, WhatAStepTakesBesideItsReplicasIsTakenOnce) {
  Measured updates = measured();
  updates.fixed_s = 0.05;
  EXPECT_NEAR(forecast(updates, whole(), place(), {}, {}, {}).compute.middle, 4 * 0.1 + 0.05, 1e-12);
}

TEST(Forecast, HostsShareTheTest) {
  Place many = place();
  many.hosts_max = 4;
  const Forecast one = of({}, many), four = of({.hosts = 4}, many);
  EXPECT_NEAR(one.between.middle - four.between.middle, 10 * 0.75 * (1 - 1 / 4.0), 1e-9);
  // Two workers of a host have the same cores as one.
  EXPECT_NEAR(of({.workers_a_host = 2}, many).between.middle, one.between.middle, 1e-9);
  Measured unknown = measured();
  unknown.test_s = std::nullopt;
  const Forecast supposed = forecast(unknown, whole(), many, {}, {}, {});
  EXPECT_NEAR(supposed.between.middle, 9 * (0.25 + 0.1) + 0.1 + 4, 1e-9);
  EXPECT_NE(supposed.remarks.at(0).find("too long to be measured"), std::string::npos);
}

TEST(Forecast, TwoWorkersOfAHostTellWhatTheirExchangeTakes) {
  Measured pair = measured();
  pair.pair_s = 0.13;      // a wave takes 0.1 of it
  pair.pair_cpu_s = 0.24;  // the replicas 0.2
  const auto exchange = [&](int workers) {
    return forecast(pair, whole(), place(), {.workers_a_host = workers}, {}, {}).exchange.middle;
  };
  EXPECT_EQ(exchange(1), 0);
  EXPECT_NEAR(exchange(2), 0.03, 1e-9);  // each sends and adds for 0.02, and waits for 0.01
  EXPECT_NEAR(exchange(4), 3 * 0.04 / 2, 1e-9) << "the cores are busy";
  pair.pair_cpu_s = 0.2;
  EXPECT_NEAR(exchange(4), 0, 1e-9) << "while one waits the other ones compute";
  pair.pair_s = 0.09;
  EXPECT_NEAR(exchange(2), 0, 1e-9);
}

TEST(Forecast, AQuotasPausesHideTheLink) {
  // A replica of 0.1 CPU seconds with half a core's time: a step of 0.2 s, half of which it must not work.
  Measured held = measured();
  held.cores = 0.5;
  held.replicas = 1;
  held.replicas_of_job = 2;
  held.wave_s = 0.2;
  held.step_cpu_s = 0.1;
  held.scatter = 0.5;
  held.updates = {{.buckets = {{1e6, 0}}, .beside_s = 0}};
  Place half = place(0.5);
  half.hosts_max = 2;
  half.link_known = true;
  EXPECT_NEAR(forecast(held, {{100, 0}, ""}, half, {}, {}, {}).compute.middle, 2 * 0.2, 1e-9);
  half.link = parse_link("1gbit:50us");
  const Forecast fast = forecast(held, {{100, 0}, ""}, half, {.hosts = 2}, {}, {});
  EXPECT_NEAR(fast.compute.middle, 0.2, 1e-9);
  EXPECT_EQ(fast.exchange.middle, 0);
  EXPECT_EQ(fast.waiting.middle, 0) << "its steps scatter by the pauses";
  half.link = parse_link("50mbit:50us");
  const Forecast slow = forecast(held, {{100, 0}, ""}, half, {.hosts = 2}, {}, {});
  const double link_s = predict({.compute_s = 0.1, .updates = held.updates}, 2, half.link).exposed_s;
  EXPECT_NEAR(slow.step.middle, 0.1 + link_s, 1e-3);
  held.pair_s = 0.5;  // two workers on that half core, which take 0.05 of its time to send
  held.pair_cpu_s = 0.25;
  half.link = parse_link("1gbit:50us");
  const Forecast sends = forecast(held, {{100, 0}, ""}, half, {.hosts = 2}, {}, {});
  EXPECT_NEAR(sends.step.middle, (0.1 + 0.05 / 2) / 0.5, 1e-9);
}

TEST(Forecast, WorkersOfAHostStartOnItsCores) {
  EXPECT_EQ(of({.workers_a_host = 2}, place()).start.middle, 3);
  EXPECT_EQ(of({.workers_a_host = 4}, place()).start.middle, 3 + 2 * (4 / 2.0 - 2 / 2.0));
  EXPECT_EQ(of({.hosts = 2}, place()).start.middle, 3 + 2 * (1 / 2.0 - 2 / 2.0)) << "each has cores of its own";
  EXPECT_EQ(of({.hosts = 2}, place(100)).start.middle, 2) << "never sooner than one worker on its own";
}

TEST(Forecast, AHostGivesNoMoreThanItsCores) {
  // However they are dealt: eight replicas of 0.1 CPU seconds on two cores.
  for (const int workers : {1, 2, 3, 4, 8})
    EXPECT_NEAR(of({.workers_a_host = workers}, place()).compute.middle, 0.4, 1e-9) << workers;
  EXPECT_NEAR(of({.workers_a_host = 1}, place(1)).compute.middle, 0.8, 1e-9);
  EXPECT_NEAR(of({.workers_a_host = 1}, place(4)).compute.middle, 0.2, 1e-9);
  // Three workers on a host of eight cores: one of them carries three.
  EXPECT_NEAR(of({.workers_a_host = 3}, place(8)).compute.middle, 0.2, 1e-9);
  EXPECT_EQ(of({.workers_a_host = 2}, place()).start.middle, 3);
  EXPECT_EQ(of({.workers_a_host = 2}, place()).memory_gib, 6);
}

TEST(Forecast, WorkersShareTheGpusOfAHost) {
  Place gpus = place();
  gpus.devices = 4;
  EXPECT_NEAR(of({}, gpus).compute.middle, 0.2, 1e-12);
  EXPECT_NEAR(of({.workers_a_host = 2}, gpus).compute.middle, 0.2, 1e-12);
  EXPECT_EQ(candidates(measured(), {gpus}, false, {1, 8}).size(), 1u) << "a worker without a GPU";
  gpus.devices = 8;
  EXPECT_NEAR(of({}, gpus).compute.middle, 0.1, 1e-12);
}

TEST(Forecast, WaitsForTheSlowestAndForTheLink) {
  Measured scatters = measured();
  scatters.scatter = 0.1;
  Place many = place();
  many.hosts_max = 4;
  const Candidate four{.hosts = 4};
  const double waiting = forecast(scatters, whole(), many, four, {}, {}).waiting.middle;
  EXPECT_NEAR(waiting, 0.1 * 0.1 * (expected_maximum(8) - expected_maximum(2)), 1e-9);
  EXPECT_NEAR(of(four, many).waiting.middle, 0, 1e-12);

  Measured talks = measured();
  talks.updates = {{.buckets = {{1e6, 0}}, .beside_s = 0}};
  many.link = parse_link("100mbit:1ms");
  many.link_known = true;
  const Forecast slow = forecast(talks, whole(), many, four, {}, {});
  EXPECT_GT(slow.exchange.middle, 2 * 1e6 * 8 / 100e6 * 0.7);
  many.link_known = false;
  EXPECT_FALSE(forecast(talks, whole(), many, four, {}, {}).remarks.empty());
}

TEST(Forecast, AMeasurementThatDoubtsItselfIsWide) {
  const double calm = of({}, place()).compute.spread;
  Measured noisy = measured();
  noisy.taken = 0.3;
  const Forecast beside = forecast(noisy, whole(), place(), {}, {}, {});
  EXPECT_GT(beside.compute.spread, calm + 0.2);
  EXPECT_NE(beside.remarks.at(0).find("other work had 30 %"), std::string::npos);
  Measured grows = measured();
  grows.growth = 1.5;
  const Forecast longer = forecast(grows, whole(), place(), {}, {}, {});
  EXPECT_GT(longer.compute.spread, calm + 0.2);
  EXPECT_NE(longer.remarks.at(0).find("longer at the end"), std::string::npos);
  Measured follows = measured();
  follows.doubt = 0.5;
  EXPECT_NEAR(of({}, place()).compute.spread, calm, 1e-12);
  EXPECT_GT(forecast(follows, whole(), place(), {}, {}, {}).compute.spread, 0.5);
}

TEST(Forecast, MoneyEnergyAndCarbonFollowFromTheHours) {
  Place rented = place();
  rented.price = 3.6;
  rented.watts = 500;
  rented.co2_g_per_kwh = 100;
  rented.queue = {1000, 0.5};
  rented.hosts_max = 2;
  const Forecast found = of({.hosts = 2}, rented);
  const double hours = 2 * (found.seconds.middle - 1000) / 3600;  // a queue costs nothing
  EXPECT_NEAR(found.money->middle, 3.6 * hours, 1e-9);
  EXPECT_NEAR(found.kwh->middle, 0.5 * hours, 1e-9);
  EXPECT_NEAR(found.co2_kg->middle, 0.05 * hours, 1e-9);
  EXPECT_FALSE(of({.market = Market::kSpot}, rented).money) << "no price of the spot market is known";
}

TEST(Forecast, SpotHostsAreTakenAway) {
  Place rented = place();
  rented.spot_price = 1;
  rented.spot_life_h = 100.0 / 3600;
  const Forecast found = of({.market = Market::kSpot}, rented);
  EXPECT_NEAR(found.checkpoint_minutes, std::sqrt(2 * 0.5 * 100) / 60, 1e-9);
  EXPECT_GT(found.preemptions, 0.5);
  EXPECT_GT(found.preempted.middle, found.preemptions * 2);
  rented.spot_life_h = 0;
  EXPECT_FALSE(of({.market = Market::kSpot}, rented).remarks.empty());
}

TEST(Forecast, SpotRowsThatMayBeFirstAreCarriedOut) {
  Measured hours = measured();
  hours.steps = 100000;  // 11 h of training on two cores
  const Goal all{{100000, 0}, ""};
  std::vector<Place> places(40, place());
  for (size_t i = 0; i < places.size(); ++i) {
    places[i].price = 3;
    places[i].spot_price = 1 + 0.01 * static_cast<double>(i);
    places[i].spot_life_h = 4;
    places[i].spot_gap_h = 1;
  }
  const Wishes wishes{.deadline_s = 20 * 3600};
  int carried = 0;
  const auto of = [&](const Candidate& one, SpotBy by) {
    return forecast(hours, all, places[one.place], one, wishes, {}, by);
  };
  std::vector<Forecast> found;
  for (const Candidate& one : candidates(hours, places, true)) found.push_back(of(one, SpotBy::kMeans));
  rank(found, Order::kMoney, [&](const Forecast& one) {
    ++carried;
    return of(one.candidate, SpotBy::kCarryingOut);
  });
  ASSERT_EQ(found.size(), 80u);
  EXPECT_EQ(found[0].candidate.place, 0u);
  EXPECT_TRUE(found[0].spot->played);
  EXPECT_TRUE(found[0].good) << found[0].on_time;
  EXPECT_LT(found[0].money->middle, 3 * 11.2);
  EXPECT_LT(carried, 40) << "who cannot be first is not played";
  EXPECT_GE(carried, 32);
  // A host that lives longer costs less.
  places[0].spot_life_h = 400;
  const Candidate spot{.market = Market::kSpot};
  EXPECT_LT(of(spot, SpotBy::kCarryingOut).money->middle, found[0].money->middle);
  // Two hosts lose their work twice as often.
  EXPECT_GT(of({.hosts = 2, .market = Market::kSpot}, SpotBy::kCarryingOut).preemptions, 0);
  places[0].spot_life_h = 1e-6;
  places[0].price = std::nullopt;
  const Forecast never = of(spot, SpotBy::kCarryingOut);
  EXPECT_FALSE(never.fits && never.good);
}

TEST(Forecast, JitterIsThatOfAStepOfAllItsWaves) {
  EXPECT_FALSE(of({}, place()).jitter) << "nobody has told it";
  Measured scatters = measured();
  scatters.scatter = 0.2;
  const auto jitter = [&](const Place& where) { return *forecast(scatters, whole(), where, {}, {}, {}).jitter; };
  EXPECT_NEAR(jitter(place()).middle, 0.2 / 2, 1e-12) << "four waves";
  EXPECT_NEAR(jitter(place(8)).middle, 0.2, 1e-12);
  const double few = jitter(place()).spread;
  scatters.steps_seen = 1000;
  EXPECT_LT(jitter(place()).spread, few);
  const double calm = jitter(place()).spread;
  scatters.taken = 0.5;
  EXPECT_GT(jitter(place()).spread, calm) << "other work was there";
}

TEST(Forecast, TheFirstStepsTakeTheirTimeOnce) {
  Measured far = measured();
  far.first_s = 7;
  const auto seconds = [&](double steps) {
    return forecast(far, {{steps, 0}, ""}, place(), {}, {}, {}).seconds.middle -
           forecast(measured(), {{steps, 0}, ""}, place(), {}, {}, {}).seconds.middle;
  };
  EXPECT_NEAR(seconds(100), 7, 1e-9);
  EXPECT_NEAR(seconds(10000), 7, 1e-6);
  Place away = place();
  away.here = false;
  EXPECT_GT(forecast(far, whole(), away, {}, {}, {}).first.spread,
            forecast(far, whole(), place(), {}, {}, {}).first.spread);
}

TEST(Forecast, DeadlineBudgetAndMemoryDecide) {
  Place rented = place();
  rented.price = 3600;  // a dollar a second
  const double seconds = of({}, rented).seconds.middle;
  EXPECT_TRUE(of({}, rented, {.deadline_s = 1.3 * seconds}).good);
  EXPECT_FALSE(of({}, rented, {.deadline_s = seconds}).good) << "an even chance is too little";
  EXPECT_FALSE(of({}, rented, {.budget = seconds}).good);
  EXPECT_TRUE(of({}, rented, {.budget = 1.3 * seconds}).good);
  EXPECT_FALSE(of({}, place(), {.budget = 1e9}).good) << "no price is known";
  rented.memory_gib = 2;
  EXPECT_FALSE(of({}, rented).fits);
}

TEST(Forecast, RanksGoodOnesFirstAndFindsTheFront) {
  Place cheap = place(1), fast = place(8), dear = place(8), small = place(8);
  cheap.price = 1, fast.price = 10, dear.price = 20;
  small.price = 0.001, small.memory_gib = 1;
  const std::vector<Place> places{dear, cheap, fast, small};
  std::vector<Forecast> found;
  for (size_t i = 0; i < places.size(); ++i) found.push_back(of({.place = i}, places[i]));
  rank(found, Order::kMoney);
  EXPECT_EQ(found[0].candidate.place, 1u);
  EXPECT_EQ(found[1].candidate.place, 2u);
  EXPECT_EQ(found[3].candidate.place, 3u) << "the cheapest does not fit";
  const std::vector<bool> front = pareto(found);
  EXPECT_EQ(front, (std::vector<bool>{true, true, false, false}));
  rank(found, Order::kTime);
  EXPECT_NE(found[0].candidate.place, 1u);
}

TEST(Forecast, CandidatesGoAsFarAsReplicas) {
  Place farm = place(16);
  farm.hosts_max = 6;
  farm.spot_price = 1;
  std::vector<std::pair<int, int>> counts;
  for (const Candidate& one : candidates(measured(), {farm}, false, {1, 4}))
    counts.emplace_back(one.hosts, one.workers_a_host);
  EXPECT_EQ(counts, (std::vector<std::pair<int, int>>{{1, 1}, {1, 4}, {2, 1}, {2, 4}, {4, 1}, {6, 1}}));
  EXPECT_EQ(candidates(measured(), {farm}, true, {1, 4}).size(), 2 * counts.size());
}

TEST(Forecast, TenThousandTakeNoTime) {
  Measured talks = measured();
  talks.replicas_of_job = 1 << 20;
  talks.updates.assign(4, {.buckets = std::vector<Bucket>(3, {1e6, 0.001}), .beside_s = 0.01});
  std::vector<Place> places(2000, place(16));
  for (Place& one : places) one.hosts_max = 16, one.price = 1, one.spot_price = 0.3, one.spot_life_h = 0.05;
  const std::vector<Candidate> all = candidates(talks, places, true);
  EXPECT_GE(all.size(), 20000u);
  const auto row = [&](const Candidate& one, SpotBy by) {
    return forecast(talks, whole(), places[one.place], one, {.deadline_s = 36000}, {}, by);
  };
  std::vector<Forecast> found;
  for (const Candidate& one : all) found.push_back(row(one, SpotBy::kMeans));
  rank(found, Order::kMoney, [&](const Forecast& one) { return row(one.candidate, SpotBy::kCarryingOut); });
  EXPECT_EQ(pareto(found).size(), all.size());
}

TEST(Learn, FewRunsMoveLittleAndManyMuch) {
  const Interval planned = Estimate{100, 0.05}.interval();
  EXPECT_EQ(learn({}).runs, 0);
  EXPECT_EQ(learn({}).widened, 1);
  const Experience::Part one = learn({{planned, 120}});
  EXPECT_GT(one.bias, 1.02);
  EXPECT_LT(one.bias, 1.06);
  const Experience::Part many = learn(std::vector<Outcome>(40, {planned, 120}));
  EXPECT_NEAR(many.bias, 1.2, 0.03);
  EXPECT_LT(many.widened, 1) << "once the bias is gone they are all alike";
  std::vector<Outcome> wild;
  for (int i = 0; i < 20; ++i) wild.push_back({planned, i % 2 == 0 ? 70.0 : 140.0});
  EXPECT_GT(learn(wild).widened, 3);
  // What is no figure teaches nothing.
  EXPECT_EQ(learn({{planned, 0}, {{0, 0, 0}, 5}, {planned, std::nan("")}}).runs, 0);
}

}  // namespace
}  // namespace linac::plan
