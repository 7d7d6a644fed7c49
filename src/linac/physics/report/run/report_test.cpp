#include "linac/physics/report/run/report.h"

#include <gtest/gtest.h>

#include <cmath>

#include "linac/base/base/error.h"
#include "linac/physics/report/run/test_run.h"

namespace linac::report {
namespace {

TEST(RunReport, OneWorkerWithoutAName) {
  TestRun run;
  run.job();
  run.view(100, 1, 0, 2, {member("", 0, 4)});
  run.steps(1, 3);
  run.line({{"kind", "epoch"}, {"epoch", 0}, {"global_step", 3}, {"events_per_s", 3.0}});
  run.end(108, 3, "succeeded", {account("n1", 7, {{"compute", 5}, {"test", 1}, {"input", 1}, {"report", 0.5}})});
  const RunReport report = run.report(HostPrices{.by_host = {}, .otherwise = 3600});
  EXPECT_DOUBLE_EQ(report.wall_s, 10);
  EXPECT_DOUBLE_EQ(report.time.efficiency(), 0.6);
  EXPECT_DOUBLE_EQ(report.time.waiting, 2.5);
  EXPECT_DOUBLE_EQ(report.time.unknown, 0);
  EXPECT_DOUBLE_EQ(report.starting_s, 2);
  ASSERT_EQ(report.workers.size(), 1U);
  EXPECT_EQ(report.workers[0].key, (WorkerKey{"n1", 7}));
  EXPECT_TRUE(std::isnan(report.sent_per_step)) << "nobody to talk to";
  EXPECT_TRUE(std::isnan(report.hidden_fraction));
  EXPECT_TRUE(std::isnan(report.workers[0].slowness));
  EXPECT_DOUBLE_EQ(report.cost->total, 10);
  EXPECT_DOUBLE_EQ(report.cost->not_computing, 4);
  EXPECT_DOUBLE_EQ(report.cost->per_epoch.value(), 10);
  EXPECT_DOUBLE_EQ(report.cost->per_1000_events.value(), 10 / 0.12);
  EXPECT_TRUE(report.remarks.empty());
}

TEST(RunReport, TheFirstEpochsInputBesideLaterOnes) {
  TestRun run;
  run.view(100, 1, 0, 2, {member("", 0, 4)});
  EXPECT_FALSE(run.report().input) << "no epoch is done";
  const auto epoch = [&](int number, double input_s) {
    run.line({{"kind", "epoch"}, {"epoch", number}, {"global_step", number + 1}, {"input_s", input_s}});
  };
  run.line({{"kind", "epoch"}, {"epoch", 0}, {"global_step", 1}, {"input_s", 2.0}, {"opened_s", 8.0}});
  EXPECT_EQ(to_text(run.report()).find("later ones"), std::string::npos);
  epoch(1, 0.25);
  epoch(2, 5);
  epoch(3, 0.5);
  const RunReport report = run.report();
  EXPECT_DOUBLE_EQ(report.input->first_s, 10);
  EXPECT_DOUBLE_EQ(report.input->later_s.value(), 0.5);
  const Json json = to_json(report)["input"];
  EXPECT_DOUBLE_EQ(json["first_to_later"].get<double>(), 20);
  EXPECT_DOUBLE_EQ(json["opened_s"].get<double>(), 8);
  for (const std::string& form : {to_text(report), to_html(report, {})}) {
    EXPECT_NE(form.find("waited 10 s for its input, 8 s of that before its first step; later ones 0.5 s each"),
              std::string::npos)
        << form;
    EXPECT_NE(form.find("20 times as long"), std::string::npos);
  }
}

TEST(RunReport, LostAndJoined) {
  TestRun run;
  write_changing(run);
  const RunReport report = run.report();
  ASSERT_EQ(report.workers.size(), 3U);
  const RunWorker &first = report.workers[0], &lost = report.workers[1], &joined = report.workers[2];
  EXPECT_DOUBLE_EQ(report.time.seconds, 50 + 20 + 20);
  EXPECT_DOUBLE_EQ(report.time.computing(), 30 + 4 + 12);
  EXPECT_DOUBLE_EQ(report.time.waiting, 10 + 4 + 6);
  EXPECT_DOUBLE_EQ(report.time.unknown, 10) << "of the lost one, after its account";
  EXPECT_DOUBLE_EQ(report.time.efficiency_max(), 56.0 / 90);
  EXPECT_EQ(lost.departure, Departure::kLost);
  EXPECT_EQ(lost.reason, "its process has ended") << "the log knows more than the record";
  EXPECT_EQ(joined.departure, Departure::kStayed);
  EXPECT_DOUBLE_EQ(joined.entered(), 1030);
  EXPECT_EQ(std::vector<int64_t>({first.steps, lost.steps, joined.steps}), std::vector<int64_t>({50, 10, 20}));
  EXPECT_DOUBLE_EQ(first.replicas, 2.4);
  EXPECT_DOUBLE_EQ(report.sent_per_step, 100);
  EXPECT_DOUBLE_EQ(report.hidden_fraction, 0.5);
  EXPECT_DOUBLE_EQ(first.slowness, 0.75) << "1 and 0.5";
  EXPECT_DOUBLE_EQ(joined.slowness, 1.5);
  EXPECT_TRUE(joined.slow());
  EXPECT_FALSE(lost.slow());
  ASSERT_EQ(report.changes.size(), 2U);
  EXPECT_EQ(report.changes[0].lost, std::vector<WorkerKey>({{"n<2>", 2}}));
  EXPECT_EQ(report.changes[1].joined, std::vector<WorkerKey>({{"n3", 3}}));
  EXPECT_DOUBLE_EQ(report.all_changes.sum, 1.5);
  EXPECT_DOUBLE_EQ(report.all_changes.median, 0.75);
  EXPECT_DOUBLE_EQ(report.all_changes.longest, 1);
  EXPECT_EQ(report.losses.number, 1);
  EXPECT_DOUBLE_EQ(report.changing_s, 1 * 1 + 2 * 0.5);
  EXPECT_EQ(report.record.steps, 50);
  EXPECT_EQ(report.record.steps_twice + report.record.steps_missing, 0);
}

TEST(RunReport, PricesByHost) {
  TestRun run;
  write_changing(run);
  const RunReport report = run.report(HostPrices{.by_host = {{"n1", 3.6}}, .otherwise = 7.2});
  EXPECT_DOUBLE_EQ(report.cost->total, 0.05 + 0.04 + 0.04);
  EXPECT_DOUBLE_EQ(report.cost->not_computing, 0.02 + 0.032 + 0.016);
  try {
    run.report(HostPrices{.by_host = {{"n1", 3.6}}, .otherwise = {}});
    FAIL() << "two hosts have no price";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("n3"), std::string::npos);
  }
}

TEST(RunReport, AllFormsAgree) {
  TestRun run;
  write_changing(run);
  const RunReport report = run.report(HostPrices{.by_host = {}, .otherwise = 3.6});
  const Json json = to_json(report);
  EXPECT_DOUBLE_EQ(json["efficiency"].get<double>(), 46.0 / 90);
  double parts = 0;
  for (const Json& part : json["phases"]) parts += part["s"].get<double>();
  EXPECT_DOUBLE_EQ(parts, json["worker_s"].get<double>());
  EXPECT_EQ(json["changes"][0]["lost"], Json::array({{"n<2>", 2}}));
  EXPECT_EQ(json["workers"][1]["lost"], "its process has ended");
  EXPECT_DOUBLE_EQ(json["cost"]["eur"].get<double>(), 0.09);
  EXPECT_EQ(Json::parse(json.dump()), json);
  const std::string page = to_html(report, draw(report)), text = to_text(report);
  for (const std::string& form : {page, text}) {
    EXPECT_NE(form.find("51 %"), std::string::npos);
    EXPECT_NE(form.find("0.09"), std::string::npos);
    EXPECT_NE(form.find("showers"), std::string::npos);
    EXPECT_NE(form.find("300 ms"), std::string::npos) << "the pace of the slow one";
  }
  EXPECT_NE(page.find("n&lt;2&gt;"), std::string::npos);
  EXPECT_EQ(page.find("n<2>"), std::string::npos);
  EXPECT_NE(text.find("n3 3"), std::string::npos) << "hosts are named where there are several";
}

Json with_steps(Json account, const Json& steps) {
  account["steps"] = steps;
  return account;
}

Json network(const std::string& name, double forward, double backward, double sum, double idle, double update) {
  return {{"network", name}, {"forward_s", forward}, {"backward_s", backward},
          {"sum_s", sum},    {"idle_s", idle},       {"update_s", update}};
}

Json with_energy(Json account, double from, double seconds, const Json& joules, const Json& idle_w, double model_j) {
  account["energy"] = {{"machine", "m"},   {"method", "by <a> meter"}, {"from", from},      {"seconds", seconds},
                       {"joules", joules}, {"idle_w", idle_w},         {"model_j", model_j}};
  return account;
}

TEST(RunReport, TheEnergyOfAllStarts) {
  const Json full{{"processors", 3.6e6}}, half{{"processors", 1.8e6}}, idle{{"processors", 9000}};
  TestRun run;
  run.add("job.yaml",
          "train: {batch: 10, replicas: 4}\nbudget: {co2_g_per_kwh: 500, price: 36}\n"
          "plan: {on: here, hours: [1, 2, 3], money: [2, 3, 4], kwh: [1, 2, 3], co2_kg: [2, 3, 4]}\n");
  run.view(1000, 1, 0, 0, {member("n1", 1, 2), member("n1", 2, 2)});
  run.workers(1050, 1, {with_energy(account("n1", 1, {}), 1000, 50, half, idle, 0)});
  run.workers(1100, 2,
              {with_energy(account("n1", 1, {}), 1000, 100, full, idle, 0),
               with_energy(account("n1", 2, {}), 1000, 100, full, idle, 0)});
  run.steps(1, 2);
  run.view(2000, 1, 2, 0, {member("n1", 1, 4)});  // after a kill
  run.steps(3, 4);
  run.end(2100, 4, "succeeded", {with_energy(account("n1", 1, {}), 2000, 100, {}, {}, 3.6e6)});
  run.add("run.json", R"({"status": "succeeded"})");
  const RunReport report = run.report();
  const Json energy = to_json(report)["energy"];
  EXPECT_NEAR(energy["kwh"].get<double>(), 2, 1e-9) << "one machine in each start";
  EXPECT_NEAR(energy["model_kwh"].get<double>(), 1, 1e-9);
  EXPECT_NEAR(energy["idle_kwh"].get<double>(), 0.25, 1e-9);
  EXPECT_NEAR(energy["co2_kg"].get<double>(), 1, 1e-9);
  const std::string text = to_text(report), page = to_html(report, {});
  EXPECT_NE(text.find("energy: 2 kWh, of which 1 by a model, of which 0.25 idle; 1 kg"), std::string::npos) << text;
  EXPECT_NE(text.find("money: 3 USD, planned 3 (2 to 4) USD"), std::string::npos) << text;
  EXPECT_NE(text.find("energy: 2 kWh, planned 2 (1 to 3) kWh"), std::string::npos) << text;
  EXPECT_NE(text.find("carbon dioxide: 1 kg, planned 3 (2 to 4) kg, outside"), std::string::npos) << text;
  EXPECT_NE(page.find("by &lt;a&gt; meter; 500 g of carbon dioxide"), std::string::npos);

  TestRun without;
  write_changing(without);
  EXPECT_TRUE(to_json(without.report())["energy"]["kwh"].is_null());
  EXPECT_EQ(to_text(without.report()).find("energy"), std::string::npos);
  TestRun damaged;
  damaged.view(100, 1, 0, 0, {member("n1", 1, 4)});
  damaged.end(110, 4, "succeeded",
              {with_energy(account("n1", 1, {}), -5, 100, {{"processors", "NaN"}}, {{"processors", -1}}, -1),
               with_energy(account("n1", 2, {}), 5, 1e300, "many", 7, 1e300)});
  EXPECT_TRUE(to_json(damaged.report())["energy"]["kwh"].is_null());
}

TEST(RunReport, WhereAStepsTimeGoes) {
  TestRun run;
  run.job();
  run.view(100, 1, 0, 0, {member("n1", 1, 2), member("n1", 2, 2)});
  run.steps(1, 4);
  const Json first{{"steps", 4},
                   {"wall_s", 8.0},
                   {"input_s", 1.0},
                   {"networks", {network("generator", 1, 2, 0, 0, 0.5), network("g<2>", 0.5, 1, 0.25, 0.25, 0.5)}}};
  const Json second{{"steps", 4}, {"wall_s", 8.0}, {"input_s", 0.0}, {"networks", {network("g<2>", 3, 4, 0, 1, 0)}}};
  run.end(
      110, 4, "succeeded",
      {with_steps(account("n1", 1, {{"compute", 5}}), first), with_steps(account("n1", 2, {{"compute", 5}}), second)});
  const RunReport report = run.report();
  const Json step = to_json(report)["step"];
  EXPECT_DOUBLE_EQ(step["s"].get<double>(), 2);
  EXPECT_DOUBLE_EQ(step["networks"]["generator"]["backward"].get<double>(), 2.0 / 16);
  EXPECT_DOUBLE_EQ(step["shares"]["idle"].get<double>(), 1.25 / 16);
  EXPECT_DOUBLE_EQ(step["shares"]["other"].get<double>(), 1.0 / 16);
  double shares = 0;
  for (const Json& share : step["shares"]) shares += share.get<double>();
  EXPECT_NEAR(shares, 1, 1e-12);
  const std::vector<NamedPicture> pictures = draw(report);
  ASSERT_EQ(pictures.size(), 3U);
  const std::string page = to_html(report, pictures), text = to_text(report);
  EXPECT_NE(text.find("a step takes 2 s"), std::string::npos) << text;
  EXPECT_NE(text.find("backward   12 %"), std::string::npos) << text;
  EXPECT_NE(page.find("Where a step's time goes"), std::string::npos);
  EXPECT_EQ(page.find("g<2>"), std::string::npos);
}

TEST(RunReport, WhereTheBytesOfStoresCameFrom) {
  const auto with_reading = [](Json account, const Json& reading) {
    account["reading"] = reading;
    return account;
  };
  const Json much{{"store_bytes", 3'000'000}, {"worker_bytes", 6'000'000}, {"given_bytes", 5}, {"failed", 2}};
  TestRun run;
  run.view(100, 1, 0, 0, {member("n1", 1, 2), member("n2", 2, 1), member("n3", 3, 1)});
  EXPECT_FALSE(run.report().reading);
  Json wrong = much;
  wrong["store_bytes"] = -5;
  run.end(110, 4, "succeeded",
          {with_reading(account("n1", 1, Json::object()), much), with_reading(account("n2", 2, Json::object()), much),
           with_reading(account("n3", 3, Json::object()), wrong)});
  const RunReport report = run.report();
  const Json json = to_json(report);
  EXPECT_EQ(json["reading"]["store_bytes"], 6'000'000);
  EXPECT_EQ(json["workers"][1]["reading"], much);
  EXPECT_TRUE(json["workers"][2]["reading"].is_null()) << "nobody read less than nothing";
  for (const std::string& form : {to_text(report), to_html(report, {})})
    EXPECT_NE(form.find("6 MB came from stores and 12 MB from other workers; 4 ranges did not come from them"),
              std::string::npos)
        << form;
}

TEST(RunReport, StepsOfAnotherHandSayNothingWrong) {
  const Json good{{"steps", 4}, {"wall_s", 8.0}, {"input_s", 1.0}, {"networks", {network("g", 1, 2, 0, 0, 0.5)}}};
  const auto changed = [&](const std::string& member, const Json& value) {
    Json steps = good;
    steps[Json::json_pointer(member)] = value;
    return steps;
  };
  for (const Json& steps :
       {Json(nullptr), Json("four"), changed("/steps", 0), changed("/steps", -3), changed("/wall_s", "NaN"),
        changed("/wall_s", -1), changed("/wall_s", 1e300), changed("/input_s", "Infinity"), changed("/wall_s", 0),
        changed("/networks/0/idle_s", "NaN"), changed("/networks/0/sum_s", -2),
        changed("/networks", std::vector<Json>(1000, network("g", 1, 1, 1, 1, 1)))}) {
    TestRun run;
    run.view(100, 1, 0, 0, {member("n1", 1, 4)});
    run.end(110, 4, "succeeded", {with_steps(account("n1", 1, {{"compute", 5}}), steps)});
    const RunReport report = run.report();
    EXPECT_TRUE(to_json(report)["step"].is_null()) << steps;
    EXPECT_EQ(draw(report).size(), 2U);
    EXPECT_EQ(to_text(report).find("a step takes"), std::string::npos);
  }
}

TEST(RunReport, ManyWorkersFitOnASheet) {
  TestRun run;
  std::vector<Json> members, accounts;
  for (int i = 0; i < 100; ++i) {
    members.push_back(member("a-host-with-a-rather-long-name.example.org", i, 1));
    accounts.push_back(account("a-host-with-a-rather-long-name.example.org", i, {{"compute", 3}}));
  }
  run.view(100, 1, 0, 0, members);
  run.end(110, 10, "succeeded", accounts);
  const std::vector<NamedPicture> pictures = draw(run.report());
  ASSERT_EQ(pictures.size(), 2U);
  for (const NamedPicture& one : pictures) {
    EXPECT_EQ(one.picture.width, 2 * kWide);
    EXPECT_LT(one.picture.height, 2 * 900);
    EXPECT_GT(one.picture.png.size(), 5000U);
  }
}

}  // namespace
}  // namespace linac::report
