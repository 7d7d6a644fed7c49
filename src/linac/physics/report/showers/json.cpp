#include <cmath>

#include "linac/physics/report/showers/ledger.h"
#include "linac/physics/report/showers/measured.h"
#include "linac/physics/report/showers/report.h"

namespace linac::report {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json bin_of(const physics::Sample& sample, const physics::Bin& bin) {
  if (bin == physics::Bin{}) return nullptr;
  const auto range = [](const std::vector<double>& edges, int i) {
    return Json::array({edges[static_cast<size_t>(i)], edges[static_cast<size_t>(i) + 1]});
  };
  Json json = Json::object();
  if (bin.energy >= 0) json["energy_gev"] = range(sample.options().energy_edges, bin.energy);
  if (bin.angle >= 0) json["angle_rad"] = range(sample.options().angle_edges, bin.angle);
  return json;
}

/// true, false or, where it is undecided, null.
Json whether_passed(physics::Judgement judgement) {
  if (judgement == physics::Judgement::kUndecided) return nullptr;
  return judgement == physics::Judgement::kPassed;
}

Json figure_of(const ShowerReport& report, const Ledger& ledger, const physics::Figure& figure) {
  const physics::Verdict* verdict = ledger.verdict(figure);
  return {{"name", figure.name},
          {"title", figure.title},
          {"bin", bin_of(*report.reference, figure.bin)},
          {"value", number(figure.value)},
          {"uncertainty", number(figure.uncertainty)},
          {"floor", number(figure.floor)},
          {"floor_deviation", number(figure.floor_deviation)},
          {"limit", verdict ? number(verdict->allowed) : Json(nullptr)},
          {"passed", verdict ? whether_passed(verdict->judgement()) : Json(nullptr)},
          {"verdict", verdict ? Json(to_string(verdict->judgement())) : Json(nullptr)}};
}

Json resolution_of(const ShowerReport& report, const physics::Sample& sample) {
  if (report.reference->events() == 0 || sample.events() == 0) return nullptr;
  const auto fit = resolution_in_slices(sample, energy_slices(report)).fit;
  if (!fit) return nullptr;
  const auto term = [](const physics::Term& one) { return Json{{"value", one.value}, {"error", one.error}}; };
  return {{"stochastic", term(fit->stochastic)},
          {"constant", term(fit->constant)},
          {"noise_gev", term(fit->noise)},
          {"chi2", fit->chi2},
          {"degrees_of_freedom", fit->degrees}};
}

Json sample_of(const ShowerReport& report, const std::string& name, const physics::Sample& sample) {
  return {{"name", name}, {"events", sample.events()}, {"resolution", resolution_of(report, sample)}};
}

}  // namespace

nlohmann::ordered_json to_json(const ShowerReport& report) {
  const Ledger ledger(report);
  Json facts = Json::object(), figures = Json::array();
  for (const auto& [name, value] : report.facts) facts[name] = value;
  for (const physics::Figure& figure : report.figures) figures.push_back(figure_of(report, ledger, figure));
  return {{"passed", report.gated ? whether_passed(report.judgement()) : Json(nullptr)},
          {"verdict", report.gated ? Json(to_string(report.judgement())) : Json(nullptr)},
          {"gate", report.gated ? Json(report.gate_name) : Json(nullptr)},
          {"reference", sample_of(report, report.reference_name, *report.reference)},
          {"sample", sample_of(report, report.sample_name, *report.sample)},
          {"facts", std::move(facts)},
          {"remarks", report.remarks},
          {"figures", std::move(figures)}};
}

}  // namespace linac::report
