#include "linac/base/plan/plan_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "linac/base/base/test_errors.h"
#include "linac/base/plan/work.h"

namespace linac::plan {
namespace {

Measured measured_on_host(const std::string& host, double wave_s) {
  Measured found;
  found.host = host;
  found.work = "00ff";
  found.start_s = {1};
  found.wave_s = wave_s;
  found.steps_seen = 10;
  found.steps = 1000;
  found.epochs = 10;
  found.replicas_of_job = 8;
  found.updates = {{.buckets = {{1e6, 0.1 * wave_s}}, .beside_s = 0}};
  return found;
}

Offer offered(const std::string& name, const std::string& host) {
  return {name, {}, HostOf{host, 1, 0}, false};
}

Ranking ranked(const std::vector<Measured>& measured, const Question& question, const std::vector<PastRun>& past = {}) {
  Ranking ranking;
  const Work work{.measured = measured, .goal = all_steps(measured.front()), .name = "", .remarks = {}};
  rank_places({work}, question, past, parse_book("{}", "a book"), ranking);
  return ranking;
}

const PlanRow& row(const Ranking& ranking, const std::string& name) {
  return *std::ranges::find(ranking.rows, name, &PlanRow::name);
}

TEST(Ranking, AHostIsPlannedByItsOwnMeasurement) {
  const Question question{.offers = {offered("near", "a, x"), offered("far", "b"), offered("strange", "c")}};
  const Ranking ranking = ranked({measured_on_host("a, x", 1), measured_on_host("b, y", 3)}, question);
  EXPECT_NEAR(row(ranking, "near, 1 worker").forecast.compute.middle, 8, 1e-9);
  EXPECT_NEAR(row(ranking, "far, 1 worker").forecast.compute.middle, 24, 1e-9);
  const Forecast& strange = row(ranking, "strange, 1 worker").forecast;
  EXPECT_NEAR(strange.compute.middle, 8, 1e-9);
  EXPECT_NE(strange.remarks.at(0).find("measured on another host (a, x)"), std::string::npos);
}

TEST(Ranking, MessagesOfAnotherMeasurementOfTheWorkServe) {
  std::vector<Measured> measured{measured_on_host("a", 2), measured_on_host("b", 1)};
  measured[0].updates.clear();
  const Question question{.offers = {offered("a", "a"), offered("b", "b")}, .workers = {1, 2}};
  EXPECT_EQ(ranked(measured, question).rows.size(), 4u);
  measured[1].updates.clear();
  const Ranking alone = ranked(measured, question);
  EXPECT_EQ(alone.rows.size(), 2u);
  ASSERT_EQ(alone.remarks.size(), 1u);
  EXPECT_NE(alone.remarks[0].find("one worker at each place"), std::string::npos);
}

TEST(Ranking, TooManyWaysAreRefused) {
  const Question question{.offers = {offered("a", "a")}, .workers = {1, 2, 4}, .candidates_max = 2};
  expect_in(message_of([&] { ranked({measured_on_host("a", 1)}, question); }), {"3 ways", "2 are the most"});
}

TEST(Ranking, FewRowsHaveTheFrontBehindThem) {
  Question question{.order = Order::kTime};
  for (int i = 0; i < 20; ++i) {
    Offer& offer = question.offers.emplace_back(offered("host" + std::to_string(i), "a"));
    offer.worth.slower = 1 + i;
    offer.worth.price = i == 7 ? 0.01 : 100 + i;
    offer.host.reset();
  }
  const auto json = to_json(ranked({measured_on_host("a", 1)}, question), 2);
  ASSERT_EQ(json.at("rows").size(), 3u);
  EXPECT_EQ(json.at("rows").at(2).at("place"), "host7");
  EXPECT_EQ(json.at("rows").at(2).at("price_usd"), 0.01);
}

TEST(Offer, ComesBackFromJson) {
  Offer offer = offered("farm", "n1");
  offer.worth.price = 2.5;
  offer.worth.queue_s = {1, 2, 3};
  const Offer back = offer_from(to_json(offer), "a server");
  EXPECT_EQ(to_json(back), to_json(offer));
  auto json = to_json(offer);
  json["plan"]["price"] = -1;
  expect_in(message_of([&] { offer_from(json, "a server"); }), {"a server.plan.price"});
  json["plan"]["price"] = "dear";
  expect_in(message_of([&] { offer_from(json, "a server"); }), {"a server.plan.price", "another kind"});
  json = to_json(offer);
  json["host"]["cores"] = 0;
  expect_in(message_of([&] { offer_from(json, "a server"); }), {"farm", "cores"});
  expect_in(message_of([&] { offer_from("farm", "a server"); }), {"a server: tells no place"});
}

TEST(Work, StepsFollowTheJob) {
  Measured measured = measured_on_host("a", 1);  // 100 steps an epoch of 8 replicas
  job::Job job;
  job.train.replicas = 4;
  job.train.batch = static_cast<int>(measured.batch);
  job.train.epochs = 3;
  fit_to(job, measured.batch, measured);
  EXPECT_EQ(measured.steps, 600);
  EXPECT_EQ(measured.epochs, 3);
  EXPECT_EQ(measured.replicas_of_job, 4);
  job.train.max_steps = 250;
  fit_to(job, measured.batch, measured);
  EXPECT_EQ(measured.steps, 250);
  EXPECT_EQ(measured.epochs, 2);
}

TEST(Work, AHostMayBeKnownByItsNameAlone) {
  EXPECT_TRUE(is_host("gpu03, Xeon", "gpu03"));
  EXPECT_TRUE(is_host("gpu03, Xeon", "gpu03, Xeon"));
  EXPECT_FALSE(is_host("gpu03, Xeon", "gpu03, EPYC"));
  EXPECT_FALSE(is_host("gpu033, Xeon", "gpu03"));
}

PastRun past(const std::string& on, double planned_s, double actual_s) {
  PastRun run;
  run.planned.on = on;
  run.planned.step_s = {0.9 * planned_s, planned_s, 1.1 * planned_s};
  run.actual.step_s = actual_s;
  return run;
}

TEST(PastRun, ThreeAtAPlaceSpeakForItAlone) {
  std::vector<PastRun> runs{past("a, 1 worker", 1, 2), past("a, 1 worker", 1, 2), past("b, 1 worker", 1, 1)};
  EXPECT_EQ(experience_of(runs, "a").step.runs, 3);
  runs.push_back(past("a, 2 workers", 1, 2));
  EXPECT_EQ(experience_of(runs, "a").step.runs, 3);
  runs.insert(runs.end(), 2, past("b, 1 worker", 1, 1));
  EXPECT_DOUBLE_EQ(experience_of(runs, "b").step.bias, 1);
  EXPECT_GT(experience_of(runs, "a").step.bias, experience_of(runs, "b").step.bias);
}

TEST(PastRun, ComesBackFromJson) {
  PastRun run = past("a, 1 worker", 1, 2);
  run.where = "abc", run.name = "mine", run.status = "succeeded", run.work = "00ff";
  run.measured = measured_on_host("a, x", 1);
  run.reached = 400;
  EXPECT_EQ(to_json(past_run_from(to_json(run), "a server")), to_json(run));
  auto json = to_json(run);
  json["measured"]["wave_s"] = -1;
  expect_in(message_of([&] { past_run_from(json, "a server"); }), {"a server, mine", "wave_s"});
  json["measured"] = nullptr;
  json["reached"] = -3;
  json["planned"] = "soon";
  EXPECT_FALSE(past_run_from(json, "a server").reached);
  expect_in(message_of([&] { past_run_from("run", "a server"); }), {"a server", "tells no run"});
}

TEST(PastRun, TheNewestOfEachHostMeasures) {
  job::Job job;
  job.train.batch = 8;
  std::vector<PastRun> runs(5);
  const std::tuple<const char*, const char*, int> told[] = {
      {"a", "1", 8}, {"b", "4", 8}, {"a", "3", 8}, {"a", "2", 16}, {"c", "9", 16}};
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto& [host, when, batch] = told[i];
    runs[i].kin = kin_digest(job);
    runs[i].where = when;
    runs[i].measured = measured_on_host(host, 1);
    runs[i].measured->when = when;
    runs[i].measured->batch = batch;
  }
  const std::vector<KnownRun> found = measured_by_runs(runs, job);
  ASSERT_EQ(found.size(), 2u);  // one batch of another alone measures nothing
  EXPECT_EQ(found[0].measured.host, "b");
  EXPECT_EQ(found[1].where, "3");
  ASSERT_EQ(found[1].measured.at_batches.size(), 1u);
  EXPECT_EQ(found[1].measured.at_batches[0].batch, 16);
  EXPECT_EQ(measured_by_runs(runs, job, "a").size(), 1u);
  job.train.replicas = 64;
  EXPECT_EQ(measured_by_runs(runs, job).size(), 2u);
  job.train.fit.loss = {"another"};
  EXPECT_TRUE(measured_by_runs(runs, job).empty());
}

}  // namespace
}  // namespace linac::plan
