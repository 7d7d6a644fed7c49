#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/bytes.h"
#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/base/job/job.h"
#include "linac/cli/data/asked_to_stop.h"
#include "linac/cli/data/bytes_bar.h"
#include "linac/cli/data/data_of_job.h"
#include "linac/cli/data/data_verbs.h"
#include "linac/cli/data/report_folder.h"
#include "linac/io/data/table_stats.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/output.h"
#include "linac/io/storage/storage.h"
#include "linac/physics/report/columns/report.h"

namespace linac::cli {
namespace {

struct StatsWords {
  std::vector<std::string> files, test, targets;
  data::StatsOptions options;
  std::string out;
  bool json = false;
};

/// The files and targets of a job in place of its name.
void take_job(StatsWords& words, report::ColumnsReport& report) {
  const job::Job job = job::read_job(words.files.front(), {});
  const job::Data& data = job.data;
  words.files = data.train;
  if (words.test.empty()) words.test = data.test;
  for (const job::DataColumn& target : data.targets) {
    if (target.columns.empty()) words.targets.push_back(target.column.empty() ? target.name : target.column);
    for (const std::string& column : target.columns) words.targets.push_back(column);
  }
  const bool transforms =
      !data.filter.empty() || !data.define.empty() || !data.lists.empty() || !data.split.key.empty();
  const bool splits = data.validation_split > 0 || data.split.divides();
  if (transforms || splits)
    report.remarks.emplace_back(
        "events and columns are those of the files: what the job makes of them by filter, "
        "define, lists, split and validation_split is not looked at");
}

void add_facts(const columns::SideStats& side, const std::string& name, report::ColumnsReport& report) {
  constexpr size_t kFilesNamed = 20;
  for (size_t i = 0; i < std::min(side.file_events.size(), kFilesNamed); ++i)
    report.facts.emplace_back(side.urls.size() > 1 ? fmt::format("{} {}", name, i + 1) : name,
                              fmt::format("{}: {}", side.urls[i], plural(side.file_events[i], "event")));
  if (side.urls.size() > kFilesNamed)
    report.facts.emplace_back(
        name, fmt::format("and {} more", plural(static_cast<int64_t>(side.urls.size() - kFilesNamed), "file")));
}

/// What people read has no signed addresses.
void hide_secrets(columns::SideStats& side) {
  for (std::string& url : side.urls)
    if (storage::is_remote(url)) url = net::without_secrets(url);
}

columns::TableStats gathered(StatsWords& words) {
  words.options.train = storage::expand_all(words.files);
  if (!words.test.empty()) words.options.test = storage::expand_all(words.test);
  BytesBar bar("stats");
  words.options.stop = asked_to_stop();
  words.options.progress = [&](int64_t done, int64_t all) { bar.update(done, all); };
  columns::TableStats stats = data::table_stats(words.options);
  if (stats.stopped) {
    throw Error(ErrorCode::kPreempted, fmt::format("[stats] stopped by a signal after {}; the same command begins anew",
                                                   plural(stats.train.events + stats.test.events, "event")));
  }
  return stats;
}

void need_columns(const report::ColumnsReport& report) {
  for (const std::string& target : report.targets) {
    const auto& columns = report.stats.train.columns;
    if (std::ranges::find(columns, target, &columns::ColumnStats::name) != columns.end()) continue;
    throw user_error(
        fmt::format("[stats] --target {}: is none of the columns that are looked at; name one of the file's "
                    "(linac data info)",
                    target));
  }
}

void run_stats(StatsWords& words) {
  if (!words.out.empty()) {
    storage::need_local_folder(words.out, "stats");
    make_folder(words.out);  // before all is read
  }
  report::ColumnsReport report;
  report.title = words.files.size() == 1 ? words.files.front() : fmt::format("{} files of events", words.files.size());
  const bool is_job = words.files.size() == 1 && names_job(words.files.front());
  if (is_job) take_job(words, report);
  report.stats = gathered(words);
  report.targets = words.targets;
  if (is_job)  // a job's target may be computed
    std::erase_if(report.targets, [&](const std::string& target) {
      const auto& columns = report.stats.train.columns;
      return std::ranges::find(columns, target, &columns::ColumnStats::name) == columns.end();
    });
  need_columns(report);
  hide_secrets(report.stats.train);
  hide_secrets(report.stats.test);
  report.facts = {made_fact()};
  add_facts(report.stats.train, report.has_test() ? "training" : "file", report);
  add_facts(report.stats.test, "test", report);
  if (!words.out.empty()) write_report(words.out, report, "stats");
  if (words.json) {
    fmt::print("{}\n", report_text(report));
    return;
  }
  fmt::print("{}", report::to_text(report));
  if (!words.out.empty()) fmt::print("report: {}\n", (std::filesystem::path(words.out) / "stats.html").string());
}

}  // namespace

void add_data_stats(CLI::App& data) {
  auto words = std::make_shared<StatsWords>();
  auto* verb = data.add_subcommand(
      "stats",
      "What the columns of event files hold: range, mean, quantiles, NaN, lengths, classes; and events that are "
      "there twice, also between training and test files");
  verb->add_option("files", words->files, "HDF5, Parquet, ROOT or TFRecord files: paths, globs, URLs; or a job (.yaml)")
      ->required();
  const auto repeated = [&](const char* name, std::vector<std::string>& values, const char* help) {
    verb->add_option(name, values, help)->type_size(1)->allow_extra_args(false);
  };
  repeated("--test", words->test, "test files, whose events should not be among the others (may be repeated)");
  repeated("--column", words->options.columns, "only this column (may be repeated)");
  repeated("--without", words->options.without, "not this column, e.g. a number of the event (may be repeated)");
  repeated("--target", words->targets, "a column whose classes a training learns (may be repeated)");
  verb->add_option("--out", words->out, "folder for stats.html, stats.json and the pictures");
  verb->add_flag("--json", words->json, "print stats.json");
  verb->footer(
      "Examples:\n  linac data stats examples/topology.yaml --out stats\n"
      "  linac data stats 'train/*.parquet' --test 'test/*.parquet' --target label");
  verb->callback([words] { run_stats(*words); });
}

}  // namespace linac::cli
