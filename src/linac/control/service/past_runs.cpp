#include "linac/control/service/past_runs.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <span>

#include "linac/base/base/bytes.h"
#include "linac/base/base/error.h"
#include "linac/base/base/safe_path.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/job/run_record.h"
#include "linac/control/execution/record/run_places.h"

namespace linac::service {
namespace {

constexpr const char* kRecord[] = {"job.yaml", job::kSummaryFile, job::kMetricsFile};

struct FileState {
  int64_t changed_ns = 0, bytes = 0;
};

FileState state_of(const Descriptor& file) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return {};
  return {about.st_mtim.tv_sec * 1'000'000'000 + about.st_mtim.tv_nsec, about.st_size};
}

std::optional<Descriptor> opened(const std::filesystem::path& folder, const char* name) {
  try {
    return open_below(folder, name);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// As it is now: whoever owns the folder may change it meanwhile.
bool copied(const Descriptor& file, const std::filesystem::path& to, int64_t bytes_max) {
  std::ofstream copy(to, std::ios::binary);
  std::vector<char> piece(1 << 16);
  for (int64_t done = 0; done <= bytes_max;) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0) return false;
    if (count == 0) return copy.flush().good();
    copy.write(piece.data(), count);
    done += count;
  }
  return false;
}

// The record's files in a folder of this process's own; false where one is missing, no plain file, or too large.
bool copied_record(const std::filesystem::path& from, const std::filesystem::path& to, int64_t& bytes_left) {
  for (const char* name : kRecord) {
    const auto file = opened(from, name);
    if (!file) return false;
    const int64_t bytes = state_of(*file).bytes;
    if (bytes > PastRuns::kRecordBytesMax || bytes > bytes_left) return false;
    bytes_left -= bytes;
    if (!copied(*file, to / name, PastRuns::kRecordBytesMax)) return false;
  }
  return true;
}

std::optional<PastRuns::Found> read_from(const std::filesystem::path& outputs, const std::string& kin,
                                         const std::optional<plan::GoalWish>& goal, int64_t& bytes_left) {
  const TemporaryFolder copy;
  if (!copied_record(outputs, copy.path(), bytes_left)) return std::nullopt;
  auto found = plan::find_run(copy.path());
  if (!found) return std::nullopt;
  auto past = plan::read_past_run(*found, found->kin == kin ? goal : std::nullopt);
  if (!past) return std::nullopt;
  return PastRuns::Found{std::move(found->job), std::move(*past)};
}

}  // namespace

std::optional<plan::PastRun> PastRuns::read(const catalog::Run& run, const std::string& kin,
                                            const std::optional<plan::GoalWish>& goal, int64_t& bytes_left) {
  const std::filesystem::path outputs = execution::RunPlaces(context_.host, run).outputs;
  const auto summary = opened(outputs, job::kSummaryFile);
  if (!summary) return std::nullopt;
  const FileState state = state_of(*summary);
  {
    const std::lock_guard lock(mutex_);
    const auto known = remembered_.find(run.id);
    const bool fresh = known != remembered_.end() && known->second.changed_ns == state.changed_ns &&
                       known->second.bytes == state.bytes;
    const bool enough = fresh && (!goal || !known->second.past || known->second.past->kin != kin);
    if (enough) return known->second.past;
  }
  auto found = read_from(outputs, kin, goal, bytes_left);
  std::optional<plan::PastRun> past;
  if (found) past = std::move(found->past);
  if (past) past->where = run.id;
  const std::lock_guard lock(mutex_);
  if (remembered_.size() >= kRememberedMax) remembered_.clear();
  Remembered& kept = remembered_[run.id] = {state.changed_ns, state.bytes, past};
  if (kept.past) kept.past->reached.reset();
  return past;
}

std::vector<plan::PastRun> PastRuns::of(const catalog::Viewer& viewer, const std::string& kin,
                                        const std::optional<plan::GoalWish>& goal, bool& more) {
  std::vector<catalog::Run> runs;
  context_.catalog.read(
      [&](catalog::Database& database) {
        catalog::RunSearch search;
        search.order = {"start_time DESC"};
        search.limit = kRunsMax;
        const auto page = catalog::search_run_numbers(database, viewer, search);
        runs = catalog::runs_numbered(database, std::span(page.items));
      },
      kReadMax);
  std::vector<plan::PastRun> found;
  int64_t bytes_left = kBytesAtOnceMax;
  for (const catalog::Run& run : runs) {
    if ((more = bytes_left < kRecordBytesMax)) break;
    auto past = read(run, kin, goal, bytes_left);
    if (past && (past->planned.any() || (!kin.empty() && past->kin == kin))) found.push_back(std::move(*past));
  }
  return found;
}

std::optional<PastRuns::Found> PastRuns::find(const std::string& id) {
  int64_t bytes_left = kBytesAtOnceMax;
  auto found =
      read_from(execution::RunPlaces(context_.host, context_.host.run(id)).outputs, "", std::nullopt, bytes_left);
  if (found) found->past.where = id;
  return found;
}

}  // namespace linac::service
