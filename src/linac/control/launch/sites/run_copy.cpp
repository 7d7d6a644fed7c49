#include "linac/control/launch/sites/run_copy.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/job/run_files.h"
#include "linac/base/job/run_record.h"
#include "linac/control/sites/abilities.h"
#include "linac/control/sites/files/fetch_run.h"
#include "linac/io/storage/folder/folder_copy.h"
#include "linac/io/storage/storage.h"

namespace linac::launch {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kEvery{2};
constexpr int kTenth = 10;  // of the time at most is spent on one run

bool is_record(const std::string& name) {
  return name == job::kMetricsFile || name == job::kSummaryFile || name == "job.yaml";
}

}  // namespace

// A run's folder has the key of its workers, too.
bool RunCopy::is_wanted(const std::string& name, Part part) {
  return part == Part::kAll ? job::is_handed_in(name) : is_record(name);
}

void RunCopy::check_room(int64_t bytes) const {
  std::error_code error;
  const auto space = std::filesystem::space(into_, error);
  if (!error && static_cast<int64_t>(space.available) < bytes + keep_free_)
    throw environment_error(fmt::format("[queue] {} bytes of the run find no room on the service's disk", bytes));
}

void RunCopy::bring(const sites::Site& site, const sites::Record& record, Part part) const {
  if (storage::is_remote(record.out)) {
    auto read = storage::read_manifest(record.out);
    if (!read) return;
    std::erase_if(read->manifest.files, [&](const auto& file) { return !is_wanted(file.name, part); });
    int64_t bytes = 0;
    for (const auto& file : read->manifest.files) bytes += file.size;
    check_room(bytes);
    storage::fetch_files(record.out, std::move(*read), into_);
    return;
  }
  if (sites::shells_of_run(site, record).empty()) return;
  const sites::RunFolder folder = sites::folder_of_run(site, record);
  std::vector<sites::RunFile> files = sites::list_run(folder).files;
  std::erase_if(files, [&](const auto& file) { return !is_wanted(file.name, part); });
  int64_t bytes = 0;
  for (const auto& file : files) bytes += file.bytes;
  check_room(bytes);
  sites::fetch_run(folder, files, into_, nullptr);
}

void RunCopy::follow(const sites::Site& site, const sites::Record& record) {
  const auto begin = steady_clock::now();
  if (begin < due_) return;
  due_ = begin + kEvery;
  bring(site, record, Part::kRecord);
  const auto end = steady_clock::now();
  due_ = end + std::max<steady_clock::duration>(kEvery, kTenth * (end - begin));
}

void RunCopy::finish(const sites::Site& site, const sites::Record& record) {
  bring(site, record, Part::kAll);
}

}  // namespace linac::launch
