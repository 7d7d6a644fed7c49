#pragma once
// What `linac validate` shows: the comparison of a sample of showers with its Monte Carlo reference as a page, as JSON
// and as pictures. Presentation only; the figures come from physics/physics/comparison.h. Pure, thread-safe.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "linac/physics/physics/gate.h"
#include "linac/physics/physics/sample.h"
#include "linac/physics/report/page/named_picture.h"

namespace linac::report {

/// Borrows its samples, which have the same shape and bins and are never nullptr.
struct ShowerReport {
  std::string title;
  std::string reference_name, sample_name;  // "Geant4", "generated": legends and column heads
  const physics::Sample* reference = nullptr;
  const physics::Sample* sample = nullptr;
  struct Beside {
    std::string name;
    const physics::Sample* sample = nullptr;
  };
  std::vector<Beside> beside;  // others that the pictures show too; nothing judges them
  double hit_threshold_gev = 0;
  std::vector<physics::Figure> figures;
  bool gated = false;                                      // whether there was a gate
  std::string gate_name;                                   // its file
  int64_t gate_showers = 0;                                // fewer in either sample and nothing passes
  std::vector<physics::Verdict> verdicts;                  // worst first
  std::vector<std::pair<std::string, std::string>> facts;  // files, dates, versions, seconds a shower, ...
  std::vector<std::string> remarks;                        // what a reader must know: collapse, few events, ...

  /// The worst of the verdicts, and at best undecided with too few showers. A gate that judged nothing has failed;
  /// without a gate everything passes.
  physics::Judgement judgement() const;
  bool passed() const { return judgement() == physics::Judgement::kPassed; }
  bool has_too_few_showers() const;
  size_t count(physics::Judgement judgement) const;  // of the verdicts
};

/// What the samples can show, in the order of the page: nothing without events in both, no single showers where the
/// samples keep no examples. Environment error where there is no memory for a picture.
std::vector<NamedPicture> draw(const ShowerReport& report);

/// One self-contained page (UTF-8) that opens offline: the verdict and the remarks, the figures, the pictures, the
/// facts. It needs no script, and every text in it is escaped.
std::string to_html(const ShowerReport& report, const std::vector<NamedPicture>& pictures);

/// Schema: {"passed": bool|null, "verdict": "passed"|"undecided"|"failed"|null, "gate": string|null, "reference":
/// SAMPLE, "sample": SAMPLE, "facts": {...}, "remarks": [...], "figures": [{"name", "title",
/// "bin": null|{"energy_gev": [low, high], "angle_rad": [low, high]}, "value", "uncertainty", "floor",
/// "floor_deviation", "limit": null|number, "passed": null|bool, "verdict": null|string}]} with
/// SAMPLE {"name", "events", "resolution": null|{"stochastic": TERM, "constant": TERM, "noise_gev": TERM, "chi2",
/// "degrees_of_freedom"}} and TERM {"value", "error"}, as physics/physics/resolution.h fits them.
/// "passed", "verdict" and "gate" are null without a gate, "passed" also where the verdict is undecided; a bin names
/// only the sides that it has. NaN and infinity are null.
nlohmann::ordered_json to_json(const ShowerReport& report);

}  // namespace linac::report
