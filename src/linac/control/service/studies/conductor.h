#pragma once
// Carries out the studies that were submitted: asks each for points, as many at a time as its `parallel` says, puts
// each trial into the queue as a job, reports what its run measures, cancels what the pruner gives up, and tells how it
// ended. What is decided there is decided as by `linac tune` (control/study/conduct.h).
//
// It has no thread: each study is looked after by a coroutine on the readers' threads, when something was heard of one
// of its runs (Hub::listen) and every kLookEvery. Everything it knows is in the catalog. A trial that was asked for and
// has no job is given one, by a key that makes it once; what a run has measured is read again from its folder, and
// steps that were reported are passed over; a job that has ended is told, unless its trial is. So a service that was
// killed goes on where it was.
//
// Thread-safe. Outlived by all that it is given.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "linac/control/catalog/study_jobs.h"
#include "linac/control/execution/scheduler.h"
#include "linac/control/service/declared_sites.h"
#include "linac/control/service/studies/desks.h"
#include "linac/control/service/studies/limits.h"
#include "linac/control/study/conduct.h"

namespace linac::service {

class Conductor {
 public:
  /// Takes up at once what the catalog says is to go on.
  Conductor(Context& context, Desks& desks, execution::Scheduler& scheduler, const DeclaredSites& sites);
  ~Conductor() { stop(); }

  /// Something of the study has changed. After the commit.
  void look(const std::string& study);
  /// Looks where nobody did for kLookEvery. To be called each second.
  void tick();
  /// Nothing is begun any more; returns when nothing is under way. The threads of the readers go on until then.
  void stop();

  static constexpr std::chrono::seconds kLookEvery{10};
  static constexpr int64_t kFailedInRowMax = 20;  // then something is wrong that no other point mends

 private:
  /// A trial whose job runs.
  struct Followed {
    std::string run;
    study::TrialRecord record;
    bool judged = false;  // by the pruner, since this service runs
  };
  struct Piece {  // a study
    bool busy = false, again = false;
    std::chrono::steady_clock::time_point looked{};
    std::map<int64_t, Followed> followed{};  // by trial; of the coroutine that is busy
    Limits limits{};                         // likewise
  };
  struct Standing;

  void heard(const std::string& run);
  void begin(const std::string& study, const std::shared_ptr<Piece>& piece);  // with the mutex
  Task<void> conduct(std::string study, std::shared_ptr<Piece> piece);
  /// Whether there is more to come.
  Task<bool> look_after(const std::string& name, Piece& piece);
  Task<void> see(const std::string& name, Standing& standing);
  /// Of the trials that have a job: how many go on.
  Task<int64_t> look_after_jobs(Standing& standing, Piece& piece);
  /// What its trials used since the last time; the study stops where its limits are used up.
  Task<void> count(Standing& standing, Piece& piece, int64_t under_way);
  Task<int64_t> begin_trials(Standing& standing, int64_t under_way);
  Task<void> hear(const Standing& standing, const catalog::StudyJob& job, Piece& piece);
  Task<void> prune(const Standing& standing, const catalog::StudyJob& job, const std::string& why);
  Task<void> finish(Standing& standing, const catalog::StudyJob& job, Piece& piece);
  /// Whether it goes on.
  Task<std::optional<tune::Trial>> ask(const Standing& standing);
  enum class Submitted { kYes, kWaits, kNo };
  Task<Submitted> resume(const Standing& standing, const catalog::StudyJob& job);
  Task<Submitted> submit(Standing& standing, const tune::Trial& trial);
  Task<bool> tell(const Standing& standing, int64_t trial,
                  const std::function<std::optional<study::TrialEnd>(const study::Ledger&)>& end,
                  double cost = std::numeric_limits<double>::quiet_NaN());
  /// The study ends with an error; the run of `trial` is forgotten, if there is one.
  Task<void> fail(Standing& standing, const std::string& why, int64_t trial = 0);
  Task<void> say(const Standing& standing, catalog::StudyState state, const std::string& reason);
  void changed(const std::vector<std::string>& runs);
  void follow(const std::string& run, const std::string& study);

  Context& context_;
  Desks& desks_;
  execution::Scheduler& scheduler_;
  const DeclaredSites& sites_;

  std::mutex mutex_;
  std::condition_variable at_rest_;
  std::map<std::string, std::shared_ptr<Piece>> pieces_;  // by the study's name
  std::unordered_map<std::string, std::string> studies_;  // by run
  int busy_ = 0;
  bool stopping_ = false;
};

}  // namespace linac::service
