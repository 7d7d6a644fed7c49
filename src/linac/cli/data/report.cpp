#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/config.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/cli/data/report_folder.h"
#include "linac/cli/data/verbs.h"
#include "linac/control/client/login.h"
#include "linac/control/client/run_copy.h"
#include "linac/control/client/runs.h"
#include "linac/control/sites/files/launched_run.h"
#include "linac/io/storage/output.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/store.h"
#include "linac/physics/report/run/report.h"
#include "linac/physics/report/study/report.h"

namespace linac::cli {
namespace {

struct ReportOptions {
  std::string run, out, prices, server, study;
  std::optional<double> price;
  bool json = false;
};

double checked(double price, const std::string& what) {
  if (std::isfinite(price) && price >= 0) return price;
  throw user_error(
      fmt::format("[report] {}: {} is no price; give EUR for an hour of a worker, 0 or more", what, price));
}

std::optional<report::HostPrices> prices_of(const ReportOptions& options) {
  if (options.price) return report::HostPrices{.by_host = {}, .otherwise = checked(*options.price, "--price")};
  if (options.prices.empty()) return std::nullopt;
  const YAML::Node file = config::parse_text(read_file(options.prices), options.prices);
  if (!file.IsMap())
    throw user_error(fmt::format("[report] {}: wanted is a line `HOST: EUR an hour` for each host, or `default: EUR`",
                                 options.prices));
  report::HostPrices prices;
  for (const auto& entry : file) {
    const auto host = entry.first.as<std::string>("");
    const double price = checked(entry.second.IsScalar() ? entry.second.as<double>(NAN) : NAN,
                                 fmt::format("{}: {}", options.prices, host));
    if (host == "default") {
      prices.otherwise = price;
    } else {
      prices.by_host[host] = price;
    }
  }
  return prices;
}

void add_facts(const ReportOptions& options, report::RunReport& report) {
  report.facts = {made_fact(), {"folder", options.run}};
  for (const auto& [what, text] : report.record.facts) report.facts.emplace_back("run: " + what, text);
  if (options.price) report.facts.emplace_back("price", fmt::format("{:g} EUR a worker and hour", *options.price));
  if (!options.prices.empty()) report.facts.emplace_back("prices", options.prices);
}

// Of the run in `run`, into `folder`.
void write_report_of(const ReportOptions& options, const std::filesystem::path& run,
                     const std::filesystem::path& folder, const std::string& place) {
  const std::optional<report::HostPrices> prices = prices_of(options);
  report::RunReport report = report::make_run_report(job::read_run_record(run), prices);
  add_facts(options, report);
  write_report(folder, report);
  if (options.json) {
    fmt::print("{}\n", report_text(report));
    return;
  }
  fmt::print("{}", report::to_text(report));
  for (const std::string& remark : report.remarks) fmt::print("  note: {}\n", remark);
  fmt::print("  report  {}\n", place);
}

// The service has the run's folder: what a report is made from comes here, the report goes there.
void report_run_of_service(const ReportOptions& options) {
  namespace fs = std::filesystem;
  client::ServiceClient service(client::find_login(options.server));
  const std::string run = client::find_run(service, options.run);
  const TemporaryFolder copy;
  if (!client::copy_record(service, run, copy.path()))
    throw user_error(
        fmt::format("[report] {}: neither a folder here, nor a run whose folder the service has (it may "
                    "have been made elsewhere); give the folder of `linac train --out`",
                    options.run));
  const fs::path folder = options.out.empty() ? copy / "report" : fs::path(options.out);
  write_report_of(options, copy.path(), folder, service.login().server + "/#/runs/" + run);
  for (const auto& file : fs::directory_iterator(folder))
    service.upload(client::file_address(run, "report/" + file.path().filename().string()), file.path());
}

// Its record comes here, and the report stays: where `linac artifacts` brings the rest.
void report_launch(const ReportOptions& options, const sites::LaunchName& launch) {
  namespace fs = std::filesystem;
  const sites::LaunchedRun run = sites::find_run(launch);
  const TemporaryFolder copy;
  sites::fetch_record(run, copy.path());
  const fs::path folder = options.out.empty() ? fs::path(run.label) / "report" : fs::path(options.out);
  write_report_of(options, copy.path(), folder, (folder / "report.html").string());
}

// What `linac study report` asks for.
void draw_study(const ReportOptions& options) {
  const report::StudyRecord record = report::parse_study_record(read_file(options.study), options.study);
  write_file_atomically(options.out, report::to_html(record, report::draw(record)));
}

void run_report(const ReportOptions& options) {
  if (!options.study.empty()) return draw_study(options);
  if (options.run.empty()) throw user_error("[report] of which run? linac report RUN, the folder of linac train --out");
  storage::need_local_folder(options.out, "report");
  if (const auto launch = sites::launch_named(options.run)) return report_launch(options, *launch);
  const bool elsewhere = storage::scheme_of(options.run).has_value();
  if (elsewhere && options.out.empty())
    throw user_error(fmt::format("[report] {}: say where the report goes: --out FOLDER", options.run));
  const std::filesystem::path run = storage::local_copy(options.run);
  if (!std::filesystem::is_directory(run) && options.run.find('/') == std::string::npos)
    return report_run_of_service(options);
  const std::filesystem::path folder = options.out.empty() ? run / "report" : std::filesystem::path(options.out);
  write_report_of(options, run, folder, (folder / "report.html").string());
}

}  // namespace

void add_report_verb(CLI::App& app) {
  auto options = std::make_shared<ReportOptions>();
  auto* verb = add_handed_verb(app, "report");
  verb->add_option(
      "run", options->run,
      "the run's folder, the id or name of a run of a service, or SITE:NAME for a launch; it may still go on");
  verb->add_option("--study", options->study, "")->group("");  // hidden
  verb->add_option("--server", options->server,
                   "address of that service (default: LINAC_SERVER, else that of the last login)");
  auto* price = verb->add_option("--price", options->price, "EUR for an hour of a worker");
  verb->add_option("--prices", options->prices, "YAML file with such a price for each host, and a `default`")
      ->excludes(price);
  verb->add_option("--out", options->out,
                   "folder for report.html, report.json and the pictures (default: RUN/report, at the service if the "
                   "run is there, NAME/report for a launch)");
  verb->add_flag("--json", options->json, "print report.json");
  verb->footer(
      "Examples:\n"
      "  linac report runs/demo\n"
      "  linac report runs/demo --price 2.40\n"
      "  linac report topology                       # of a run of the service; its page shows the report\n"
      "  linac report farm:topology                  # of a launch (docs/guide/launch.md)\n"
      "  linac report runs/demo --prices prices.yaml --out report --json");
  verb->callback([options] { run_report(*options); });
}

}  // namespace linac::cli
