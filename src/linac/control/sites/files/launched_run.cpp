#include "linac/control/sites/files/launched_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/job/run_record.h"
#include "linac/control/sites/parts.h"
#include "linac/control/sites/record.h"
#include "linac/io/storage/folder/folder_copy.h"
#include "linac/io/storage/storage.h"

namespace linac::sites {

namespace {

LaunchedRun run_of(const LaunchName& name) {
  const Record record = find_launch(name.site, name.label, false).record;
  LaunchedRun run{record.label, record.out, {}};
  if (!storage::is_remote(record.out)) {
    run.folder = folder_of_run(*find_site(name.site, record.changes), record);
    return run;
  }
  const auto copy = storage::cached_folder(record.out);
  if (!copy)
    throw user_error(fmt::format("[launch] {}:{}: it has written nothing yet to {}", name.site, record.label, run.out));
  run.folder = {Shell(), copy->string()};
  return run;
}

}  // namespace

// Each part keeps the record of all workers: a site that was lost has less of it.
LaunchedRun find_run(const LaunchName& name) {
  const std::vector<LaunchName> parts = parts_of(name);
  if (parts.size() == 1) return run_of(name);
  const std::string label = find_launch(parts.front().site, name.label, false).record.label;
  std::optional<LaunchedRun> best;
  int64_t most = -1;
  std::string why;
  for (const LaunchName& part : parts) {
    try {
      LaunchedRun run = run_of({part.site, label});
      const int64_t length = length_of_record(run.folder);
      if (best && length <= most) continue;
      best = std::move(run);
      most = length;
    } catch (const Error& error) {
      why = error.what();
      log::warn(why);
    }
  }
  if (!best) throw environment_error(fmt::format("[launch] {}:{}: no part has its files ({})", name.site, label, why));
  return *best;
}

void fetch_record(const LaunchedRun& run, const std::filesystem::path& into) {
  std::vector<RunFile> files = list_run(run.folder).files;
  std::erase_if(files, [](const RunFile& file) {
    return file.name != job::kMetricsFile && file.name != job::kSummaryFile && file.name != "job.yaml" &&
           file.name != "log.txt";
  });
  if (std::ranges::find(files, job::kMetricsFile, &RunFile::name) == files.end())
    throw user_error(fmt::format("[launch] {}: the run has written nothing yet to {}", run.label, run.out));
  fetch_run(run.folder, files, into, nullptr);
}

}  // namespace linac::sites
