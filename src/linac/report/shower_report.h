#pragma once
// What `linac validate` shows: the comparison of a sample of showers with its Monte Carlo reference as a page, as JSON and as
// pictures. Presentation only; the figures come from physics/comparison.h. Pure, thread-safe.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "linac/physics/gate.h"
#include "linac/physics/sample.h"
#include "linac/plot/figure.h"

namespace linac::report {

struct ShowerReport {
  std::string title;
  std::string reference_name, sample_name;  // "Geant4", "generated": legends and column heads
  const physics::Sample* reference = nullptr;
  const physics::Sample* sample = nullptr;
  double hit_threshold_gev = 0;
  std::vector<physics::Figure> figures;
  bool gated = false;                      // whether there was a gate
  std::string gate_name;                   // its file
  std::vector<physics::Verdict> verdicts;  // worst first
  std::vector<std::pair<std::string, std::string>> facts;  // files, dates, versions, seconds a shower, ...
  std::vector<std::string> remarks;        // what a reader must know: collapse, few events, ...

  bool passed() const;  // no verdict failed
};

/// A picture of the report: PNG under `name`, shown below `title`.
struct NamedPicture {
  std::string name;  // "longitudinal"
  std::string title, caption;
  plot::Picture picture;
};

std::vector<NamedPicture> draw(const ShowerReport& report);

/// One self-contained page that opens offline.
std::string to_html(const ShowerReport& report, const std::vector<NamedPicture>& pictures);

/// Schema: {"passed": bool|null, "gate", "reference": {name, events}, "sample": {...}, "facts": {...}, "remarks": [...],
/// "figures": [{"name", "title", "bin": null|{"energy_gev": [low, high], "angle_rad": [low, high]}, "value",
/// "uncertainty", "floor", "floor_deviation", "limit": null|number, "passed": null|bool}]}. NaN is null.
nlohmann::ordered_json to_json(const ShowerReport& report);

}  // namespace linac::report
