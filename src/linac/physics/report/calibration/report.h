#pragma once
// What was planned of runs beside what came of them: a page, JSON, a picture, text. Pure, thread-safe.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/plan/forecast.h"
#include "linac/physics/report/page/named_picture.h"
#include "linac/physics/report/run/actual.h"

namespace linac::report {

struct CalibratedRun {
  std::string name, on, status;
  std::vector<PlannedBeside> figures;
};

struct CalibrationReport {
  std::vector<CalibratedRun> runs;
  plan::Experience experience;  // that follows from them
  std::vector<std::pair<std::string, std::string>> facts;
};

/// Of the figures called so, over all runs.
struct CalibrationSum {
  int count = 0, inside = 0;
  double median_off = 0;  // |actual / planned - 1|
};
CalibrationSum sum_of(const CalibrationReport& report, const std::string& what);

std::vector<NamedPicture> draw(const CalibrationReport& report);
std::string to_html(const CalibrationReport& report, const std::vector<NamedPicture>& pictures);
/// Schema: {"runs": [{"name", "on", "status", "figures": [{"what", "unit", "low", "middle", "high", "actual",
/// "inside"}]}], "sums": {what: {"count", "inside", "median_off"}}, "facts"}.
nlohmann::ordered_json to_json(const CalibrationReport& report);
std::string to_text(const CalibrationReport& report);

}  // namespace linac::report
