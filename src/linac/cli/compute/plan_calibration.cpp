#include "linac/cli/compute/plan_calibration.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/cli/compute/plan_runs.h"
#include "linac/cli/data/report_folder.h"
#include "linac/io/storage/output.h"
#include "linac/physics/report/calibration/report.h"

namespace linac::cli {
namespace {

struct CalibrationOptions {
  std::vector<std::string> places;
  std::string out;
  bool json = false;
};

void run_calibration(const CalibrationOptions& options) {
  storage::need_local_folder(options.out, "plan");
  std::vector<plan::PastRun> runs = past_runs(options.places, "", "");
  std::erase_if(runs, [](const plan::PastRun& run) { return !run.planned.any(); });
  if (runs.empty())
    throw user_error(
        "[plan] no run there was planned; `linac plan JOB.yaml --write JOB.yaml` plans one before it "
        "starts");
  report::CalibrationReport report;
  report.experience = plan::experience_of(runs);
  for (const plan::PastRun& run : runs)
    report.runs.push_back({run.name, run.planned.on, run.status, report::beside_plan(run.planned, run.actual)});
  report.facts = {made_fact()};
  if (!options.out.empty()) write_report(options.out, report, "calibration");
  if (options.json) {
    fmt::print("{}\n", report_text(report));
    return;
  }
  fmt::print("{}", report::to_text(report));
  if (!options.out.empty())
    fmt::print("  page    {}\n", (std::filesystem::path(options.out) / "calibration.html").string());
}

}  // namespace

void add_plan_calibration(CLI::App& plan) {
  auto options = std::make_shared<CalibrationOptions>();
  auto* verb = plan.add_subcommand("calibration", "What was planned of runs beside what came of them");
  verb->add_option("runs", options->places, "folders of runs, or with such folders in them; or a service, https://HOST")
      ->required();
  verb->add_option("--out", options->out, "folder for the page, its picture and the same as JSON");
  verb->add_flag("--json", options->json, "all of it as JSON");
  verb->footer(
      "Examples: linac plan calibration runs --out calibration\n"
      "          linac plan calibration https://linac.lab.org");
  verb->callback([options] { run_calibration(*options); });
}

}  // namespace linac::cli
