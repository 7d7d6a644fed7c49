#include "linac/cli/compute/plan_calibration.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/cli/compute/plan_runs.h"
#include "linac/cli/compute/report_folder.h"
#include "linac/io/storage/output.h"
#include "linac/physics/report/calibration/report.h"

namespace linac::cli {
namespace {

struct CalibrationOptions {
  std::vector<std::string> folders;
  std::string out;
  bool json = false;
};

void run_calibration(const CalibrationOptions& options) {
  storage::need_local_folder(options.out, "plan");
  const std::vector<PlannedRun> runs = runs_before(runs_in(options.folders), nullptr).planned;
  if (runs.empty())
    throw user_error(
        "[plan] no run in these folders was planned; `linac plan JOB.yaml --write JOB.yaml` plans one before it "
        "starts");
  report::CalibrationReport report;
  report.experience = experience_of(runs);
  for (const PlannedRun& run : runs)
    report.runs.push_back({run.name, run.on, run.status, report::beside_plan(run.planned, run.actual)});
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
  verb->add_option("runs", options->folders, "folders of runs, or with such folders in them")->required();
  verb->add_option("--out", options->out, "folder for the page, its picture and the same as JSON");
  verb->add_flag("--json", options->json, "all of it as JSON");
  verb->footer("Example: linac plan calibration runs --out calibration");
  verb->callback([options] { run_calibration(*options); });
}

}  // namespace linac::cli
