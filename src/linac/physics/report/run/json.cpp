#include <cmath>

#include "linac/physics/report/run/report.h"
#include "linac/physics/report/run/words.h"

namespace linac::report {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json known(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json keys(const std::vector<WorkerKey>& workers) {
  Json list = Json::array();
  for (const auto& [host, pid] : workers) list.push_back({host, pid});
  return list;
}

Json phases(const TimeSplit& time) {
  Json json;
  for (size_t i = 0; i < job::kPhases.size(); ++i) json[job::kPhases[i].name] = time.phases[i];
  json["waiting"] = time.waiting;
  json["unknown"] = time.unknown;
  return json;
}

Json shares(const TimeSplit& time) {
  Json json = phases(time);
  for (auto& part : json) {
    const double seconds = part;
    part = {{"s", seconds}, {"share", time.seconds > 0 ? Json(seconds / time.seconds) : Json(nullptr)}};
  }
  return json;
}

Json to_json(const std::optional<job::ToldReading>& reading) {
  if (!reading) return nullptr;
  return {{"store_bytes", reading->store_bytes},
          {"worker_bytes", reading->worker_bytes},
          {"given_bytes", reading->given_bytes},
          {"failed", reading->failed}};
}

Json to_json(const RunWorker& worker) {
  Json views = Json::array();
  for (const RunSpan& span : worker.spans)
    views.push_back({{"begin", span.begin}, {"end", span.end}, {"replicas", span.replicas}});
  return {{"start", worker.start},
          {"host", worker.key.first},
          {"pid", worker.key.second},
          {"entered", worker.entered()},
          {"left", worker.left()},
          {"lost", worker.departure == Departure::kLost ? Json(worker.reason) : Json(nullptr)},
          {"s", worker.time.seconds},
          {"phases", phases(worker.time)},
          {"efficiency", number(worker.time.efficiency())},
          {"replicas", worker.replicas},
          {"pace_s", worker.pace_s > 0 ? Json(worker.pace_s) : Json(nullptr)},
          {"slowness", number(worker.slowness)},
          {"slow", worker.slow()},
          {"steps", worker.steps},
          {"sent_bytes", worker.sent_bytes},
          {"exchange_s", worker.exchange_s},
          {"reading", to_json(worker.reading)},
          {"views", std::move(views)}};
}

Json to_json(const Pauses& pauses) {
  return {{"number", pauses.number}, {"s", pauses.sum}, {"median_s", pauses.median}, {"longest_s", pauses.longest}};
}

Json starts_of(const RunReport& report) {
  Json list = Json::array();
  for (const RunStart& start : report.record.starts) {
    list.push_back({{"begin", start.begin()},
                    {"end", known(start.ended)},
                    {"status", start.ended ? Json(start.status) : Json(nullptr)},
                    {"first_step", start.views[0].global_step},
                    {"last_step", start.last_step}});
  }
  return list;
}

Json changes_of(const RunReport& report) {
  Json list = Json::array();
  for (const RunChange& change : report.changes) {
    list.push_back({{"start", change.start},
                    {"time", change.time},
                    {"global_step", change.global_step},
                    {"s", change.seconds},
                    {"workers", change.workers},
                    {"lost", keys(change.lost)},
                    {"joined", keys(change.joined)},
                    {"reasons", change.reasons}});
  }
  return list;
}

Json input_of(const RunReport& report) {
  if (!report.input) return nullptr;
  return {{"first_epoch_s", report.input->first_s},
          {"opened_s", report.input->opened_s},
          {"later_epochs_s", known(report.input->later_s)},
          {"first_to_later", known(first_to_later(*report.input))}};
}

// Shares of the whole.
Json step_of(const job::StepTime& time) {
  if (time.steps == 0) return nullptr;
  Json shares, networks;
  for (const TimePart& part : step_parts_of(time)) shares[part.name] = part.seconds / time.wall_s;
  for (const job::NetworkTime& network : time.networks)
    for (const job::NetworkPart& part : job::kNetworkParts)
      networks[network.network][part.name] = network.*part.seconds / time.wall_s;
  return {{"s", time.wall_s / static_cast<double>(time.steps)}, {"shares", shares}, {"networks", networks}};
}

Json cost_of(const RunReport& report) {
  if (!report.cost) return nullptr;
  return {{"eur", report.cost->total},
          {"not_computing_eur", report.cost->not_computing},
          {"per_epoch_eur", known(report.cost->per_epoch)},
          {"per_1000_events_eur", known(report.cost->per_1000_events)}};
}

Json energy_of(const job::RunEnergy& energy) {
  return {{"kwh", known(energy.kwh)},           {"model_kwh", known(energy.model_kwh)},
          {"idle_kwh", known(energy.idle_kwh)}, {"co2_kg", known(energy.co2_kg)},
          {"machines", energy.machines},        {"methods", energy.methods}};
}

Json planned_of(const RunReport& report) {
  Json list = Json::array();
  for (const PlannedBeside& figure : report.planned) list.push_back(to_json(figure));
  return list;
}

}  // namespace

Json to_json(const PlannedBeside& figure) {
  return {{"what", figure.what},         {"unit", figure.unit},
          {"low", figure.planned.low},   {"middle", figure.planned.middle},
          {"high", figure.planned.high}, {"actual", figure.actual},
          {"inside", figure.inside()}};
}

Json to_json(const RunReport& report) {
  const RunRecord& record = report.record;
  Json workers = Json::array(), facts = Json::object();
  for (const RunWorker& worker : report.workers) workers.push_back(to_json(worker));
  for (const auto& [name, value] : report.facts) facts[name] = value;
  return {{"name", record.name},
          {"status", record.status.empty() ? Json(nullptr) : Json(record.status)},
          {"wall_s", report.wall_s},
          {"worker_s", report.time.seconds},
          {"efficiency", number(report.time.efficiency())},
          {"efficiency_max", number(report.time.efficiency_max())},
          {"phases", shares(report.time)},
          {"step", step_of(report.step_time)},
          {"trace", record.traced},
          {"starting_s", report.starting_s},
          {"changing_s", report.changing_s},
          {"starts", starts_of(report)},
          {"workers", std::move(workers)},
          {"changes", changes_of(report)},
          {"pauses", to_json(report.all_changes)},
          {"recoveries", to_json(report.losses)},
          {"steps",
           {{"done", record.steps},
            {"twice", record.steps_twice},
            {"missing", record.steps_missing},
            {"redone_after_restarts", report.steps_redone}}},
          {"communication",
           {{"sent_bytes_per_step_and_worker", number(report.sent_per_step)},
            {"hidden_fraction", number(report.hidden_fraction)}}},
          {"rounds",
           {{"done", record.rounds.rounds},
            {"steps", record.rounds.steps},
            {"drift_first", record.rounds.first_drift},
            {"drift_last", record.rounds.last_drift},
            {"staleness", record.rounds.staleness},
            {"staleness_max", record.rounds.staleness_max},
            {"wait_s", record.rounds.wait_s},
            {"exchange_s", record.rounds.exchange_s},
            {"sent_bytes", record.rounds.bytes},
            {"groups_anew", record.rounds.anew}}},
          {"input", input_of(report)},
          {"reading", to_json(report.reading)},
          {"energy", energy_of(report.energy)},
          {"cost", cost_of(report)},
          {"actual",
           {{"start_s", known(report.actual.start_s)},
            {"step_s", known(report.actual.step_s)},
            {"jitter", known(report.actual.jitter)},
            {"hours", known(report.actual.hours)},
            {"kwh", known(report.actual.kwh)},
            {"co2_kg", known(report.actual.co2_kg)}}},
          {"planned", planned_of(report)},
          {"facts", std::move(facts)},
          {"remarks", report.remarks}};
}

}  // namespace linac::report
