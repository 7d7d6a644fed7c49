#include "linac/base/plan/plan_rows.h"

namespace linac::plan {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Estimate& value) {
  const Interval interval = value.interval();
  return {{"low", interval.low}, {"middle", interval.middle}, {"high", interval.high}};
}

Json json_of(const std::optional<Estimate>& value) {
  return value ? json_of(*value) : Json(nullptr);
}

Json json_of(const Experience::Part& part) {
  return {{"runs", part.runs}, {"bias", part.bias}, {"widened", part.widened}};
}

Json json_of(const PlanRow& row) {
  const Forecast& found = row.forecast;
  return {{"name", row.name},
          {"place", row.place},
          {"hosts", found.candidate.hosts},
          {"workers_a_host", found.candidate.workers_a_host},
          {"market", found.candidate.market == Market::kSpot ? "spot" : "on_demand"},
          {"replicas", row.replicas},
          {"batch", row.batch},
          {"precision", row.precision},
          {"steps", found.steps},
          {"price_usd", row.price ? Json(*row.price) : Json(nullptr)},
          {"good", found.good},
          {"fits", found.fits},
          {"front", row.front},
          {"on_time", found.on_time},
          {"seconds", json_of(found.seconds)},
          {"queue_s", json_of(found.queue)},
          {"start_s", json_of(found.start)},
          {"step_s", json_of(found.step)},
          {"compute_s", json_of(found.compute)},
          {"waiting_s", json_of(found.waiting)},
          {"exchange_s", json_of(found.exchange)},
          {"first_s", json_of(found.first)},
          {"between_s", json_of(found.between)},
          {"preempted_s", json_of(found.preempted)},
          {"jitter", json_of(found.jitter)},
          {"money_usd", json_of(found.money)},
          {"kwh", json_of(found.kwh)},
          {"co2_kg", json_of(found.co2_kg)},
          {"memory_gib", found.memory_gib},
          {"played", found.spot && found.spot->played},
          {"on_demand", found.spot ? found.spot->on_demand : 0},
          {"preemptions", found.preemptions},
          {"checkpoint_minutes", found.checkpoint_minutes},
          {"remarks", found.remarks}};
}

}  // namespace

Json to_json(const Ranking& ranking) {
  return to_json(ranking, ranking.rows.size());
}

Json to_json(const Ranking& report, size_t rows_max) {
  Json rows = Json::array(), facts = Json::object();
  for (size_t i = 0; i < report.rows.size(); ++i)
    if (i < rows_max || report.rows[i].front) rows.push_back(json_of(report.rows[i]));
  for (const auto& [name, value] : report.facts) facts[name] = value;
  return {{"title", report.title},
          {"deadline_s", report.wishes.deadline_s},
          {"budget_usd", report.wishes.budget},
          {"currency", {{"code", report.currency.currency}, {"usd", report.currency.usd}}},
          {"goal", {{"steps", json_of(report.goal.steps)}, {"remark", report.goal.remark}}},
          {"experience",
           {{"start", json_of(report.experience.start)},
            {"step", json_of(report.experience.step)},
            {"whole", json_of(report.experience.whole)}}},
          {"rows", std::move(rows)},
          {"facts", std::move(facts)},
          {"remarks", report.remarks}};
}

}  // namespace linac::plan
