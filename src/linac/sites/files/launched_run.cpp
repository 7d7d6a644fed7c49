#include "linac/sites/files/launched_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/error.h"
#include "linac/sites/record.h"
#include "linac/spec/run_record.h"
#include "linac/storage/folder/folder_copy.h"
#include "linac/storage/storage.h"

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
    return file.name != spec::kMetricsFile && file.name != spec::kSummaryFile && file.name != "job.yaml" &&
           file.name != "log.txt";
  });
  if (std::ranges::find(files, spec::kMetricsFile, &RunFile::name) == files.end())
    throw user_error(fmt::format("[launch] {}: the run has written nothing yet to {}", run.label, run.out));
  fetch_run(run.folder, files, into, nullptr);
}

}  // namespace linac::sites
