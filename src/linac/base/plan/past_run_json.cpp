#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "linac/base/base/error.h"
#include "linac/base/plan/past_run.h"

namespace linac::plan {
namespace {

using nlohmann::json;

json known(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? json(*value) : json(nullptr);
}

std::optional<double> number_in(const json& object, const char* name) {
  const json value = object.is_object() ? object.value(name, json()) : json();
  return value.is_number() && std::isfinite(value.get<double>()) ? std::optional(value.get<double>()) : std::nullopt;
}

std::string text_in(const json& object, const char* name) {
  const json value = object.is_object() ? object.value(name, json()) : json();
  return value.is_string() ? value.get<std::string>() : "";
}

std::vector<double> interval_in(const json& object, const char* name) {
  const json values = object.is_object() ? object.value(name, json()) : json();
  std::vector<double> found;
  if (values.is_array())
    for (const json& value : values)
      if (value.is_number()) found.push_back(value.get<double>());
  return found;
}

}  // namespace

json to_json(const PastRun& run) {
  return {{"where", run.where},
          {"name", run.name},
          {"status", run.status},
          {"work", run.work},
          {"kin", run.kin},
          {"replicas", run.replicas},
          {"planned",
           {{"on", run.planned.on},
            {"start_s", run.planned.start_s},
            {"step_s", run.planned.step_s},
            {"jitter", run.planned.jitter},
            {"hours", run.planned.hours},
            {"kwh", run.planned.kwh},
            {"co2_kg", run.planned.co2_kg}}},
          {"actual",
           {{"start_s", known(run.actual.start_s)},
            {"step_s", known(run.actual.step_s)},
            {"jitter", known(run.actual.jitter)},
            {"hours", known(run.actual.hours)},
            {"kwh", known(run.actual.kwh)},
            {"co2_kg", known(run.actual.co2_kg)}}},
          {"measured", run.measured ? json::parse(to_text(*run.measured)) : json(nullptr)},
          {"why_not", run.why_not},
          {"reached", known(run.reached)}};
}

PastRun past_run_from(const json& object, const std::string& where) {
  if (!object.is_object())
    throw user_error(fmt::format("[plan] {}: tells no run; is it a service of this linac?", where));
  PastRun run;
  run.where = text_in(object, "where");
  run.name = text_in(object, "name");
  run.status = text_in(object, "status");
  run.work = text_in(object, "work");
  run.kin = text_in(object, "kin");
  run.replicas = static_cast<int>(std::clamp(number_in(object, "replicas").value_or(1), 1.0, 1e9));
  const json planned = object.value("planned", json()), actual = object.value("actual", json());
  run.planned.on = text_in(planned, "on");
  run.planned.start_s = interval_in(planned, "start_s");
  run.planned.step_s = interval_in(planned, "step_s");
  run.planned.jitter = interval_in(planned, "jitter");
  run.planned.hours = interval_in(planned, "hours");
  run.planned.kwh = interval_in(planned, "kwh");
  run.planned.co2_kg = interval_in(planned, "co2_kg");
  run.actual = {number_in(actual, "start_s"), number_in(actual, "step_s"), number_in(actual, "jitter"),
                number_in(actual, "hours"),   number_in(actual, "kwh"),    number_in(actual, "co2_kg")};
  const json measured = object.value("measured", json());
  if (!measured.is_null())
    run.measured =
        read_measured(measured.dump(-1, ' ', false, json::error_handler_t::replace), where + ", " + run.name);
  run.why_not = text_in(object, "why_not");
  run.reached = number_in(object, "reached");
  if (run.reached && *run.reached <= 0) run.reached.reset();
  return run;
}

}  // namespace linac::plan
