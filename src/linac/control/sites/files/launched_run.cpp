#include "linac/control/sites/files/launched_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/job/run_record.h"
#include "linac/control/sites/record.h"
#include "linac/io/storage/folder/folder_copy.h"
#include "linac/io/storage/storage.h"

namespace linac::sites {

LaunchedRun find_run(const LaunchName& name) {
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
