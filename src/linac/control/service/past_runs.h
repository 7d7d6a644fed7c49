#pragma once
// The runs of the catalog as a planner sees them (base/plan/past_run.h), read from their folders at the service. What a
// run's record says is remembered until its run.json is another one. Files are of strangers: links are not followed,
// what is no plain file or too large is passed over. Thread-safe; blocks on the catalog and on files.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/plan/past_run.h"
#include "linac/control/catalog/visibility.h"
#include "linac/control/service/context.h"

namespace linac::service {

class PastRuns {
 public:
  explicit PastRuns(Context& context) : context_(context) {}

  /// Of the newest kRunsMax that the viewer may read: those of this work at any batch (`kin`: kin_digest()), with the
  /// steps that `goal` took, and all that were planned. `where` is the id. A run without a record here is passed over.
  /// `more`: one call reads no more than kBytesAtOnceMax; the next one goes on.
  std::vector<plan::PastRun> of(const catalog::Viewer& viewer, const std::string& kin,
                                const std::optional<plan::GoalWish>& goal, bool& more);
  /// One run, which the caller may read; nothing if it has left no record here.
  struct Found {
    job::Job job;
    plan::PastRun past;
  };
  std::optional<Found> find(const std::string& id);

  static constexpr int64_t kRunsMax = 500, kRecordBytesMax = 64 << 20, kBytesAtOnceMax = 128 << 20;
  static constexpr size_t kRememberedMax = 5000;

 private:
  struct Remembered {
    int64_t changed_ns = 0, bytes = 0;  // of run.json
    std::optional<plan::PastRun> past;
  };
  std::optional<plan::PastRun> read(const catalog::Run& run, const std::string& kin,
                                    const std::optional<plan::GoalWish>& goal, int64_t& bytes_left);

  Context& context_;
  std::mutex mutex_;
  std::map<std::string, Remembered> remembered_;  // by id
};

}  // namespace linac::service
