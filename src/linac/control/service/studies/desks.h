#pragma once
// Studies that are in use, in memory: what was asked and told of each (control/study/ledger.h) and who has its trials.
// The catalog keeps all of it: a line counts once it is committed there, and a study that is not in memory, or of which
// a write failed, is read again. Whoever changes or reads a study has it for himself meanwhile, in the order of asking.
//
// The next one does not wait for the commit, so many changes of a study share one: what is in memory is ahead of the
// catalog, and an answer waits until all that it rests on is committed. If a write fails, those that were made after it
// fail as well, as the catalog takes none that does not follow on what it has.
// Thread-safe.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "linac/control/catalog/studies.h"
#include "linac/control/service/context.h"
#include "linac/control/service/turns.h"
#include "linac/control/study/ledger.h"

namespace linac::service {

/// What the page of a study shows, as it was when somebody looked last.
struct DrawnStudy {
  std::shared_ptr<const nlohmann::json> record;  // null: nobody did
  int64_t lines = 0, at_ms = 0, took_ms = 0;
};

/// How far the catalog is behind what is in memory. Set by the thread that writes, too.
struct UnderWay {
  std::atomic<int64_t> writes = 0;
  std::atomic<bool> failed = false;  // one of them: the study is to be read again
};

struct OpenStudy {
  catalog::StudyRecord record;
  study::Ledger ledger;
  std::map<int64_t, catalog::StudyLease> leases;  // by trial: of those that run
  mutable DrawnStudy drawn{};
  std::shared_ptr<UnderWay> under_way = std::make_shared<UnderWay>();
};

/// A change of a study, carried out as one.
struct StudyStep {
  std::vector<std::string> lines{};                // that the ledger takes
  std::vector<catalog::StudyLease> leases{};       // given, or given on
  std::vector<int64_t> free{};                     // trials that are told, whose leases go
  int64_t asked = 0;                               // so many of the lines ask for a trial
  std::function<void(catalog::Database&)> also{};  // in the same transaction; of the record itself, alone
  bool again = false;                              // there is more to do: the step is asked for anew

  bool empty() const { return lines.empty() && leases.empty() && free.empty() && !also; }
};

class Desks {
 public:
  explicit Desks(Context& context) : context_(context) {}

  using Make = std::function<StudyStep(OpenStudy&)>;
  using Answer = std::function<nlohmann::json(const OpenStudy&)>;
  /// What `make` says is done, then `answer` is asked; both on a thread of the readers. `request`: whose change it is,
  /// for the audit log; null: the service's own. kNotFound for a study that is not there, or by then is another's. What
  /// is given outlives the wait; not to be given temporaries: gcc 12 destroys those of a co_await twice.
  Task<nlohmann::json> change(Request* request, const std::string& name, const Make& make, const Answer& answer);
  /// Deletes the study, also one that cannot be read. kNotFound; kState, without `force`, while programs have trials of
  /// it. What is asked and told of it from then on is kNotFound, or about the next study of its name.
  Task<void> remove(Request& request, const std::string& name, bool force);
  /// `answer` of the study as it is.
  Task<nlohmann::json> look(const std::string& name, const Answer& answer);

  static constexpr size_t kOpenMax = 64;             // studies in memory
  static constexpr int64_t kOpenLinesMax = 2000000;  // of all of them
  static constexpr int kThinkingMax = 2;             // at a time, of the readers' threads

 private:
  struct Desk {
    Turns turn{1};
    std::unique_ptr<OpenStudy> study;  // null: to be read
    std::atomic<int64_t> lines = 0;    // of it
    int64_t used = 0;
  };
  std::shared_ptr<Desk> desk_of(const std::string& name);
  void make_room();
  void load(Desk& desk, const std::string& name);
  /// In memory.
  static void apply(OpenStudy& study, const StudyStep& step);
  /// What also() has changed is read again.
  void reload_record(OpenStudy& study);
  /// The next step, made and in memory, and what is to be said of it.
  nlohmann::json take_step(Desk& desk, const Request* request, const std::string& name, const Make& make,
                           const Answer& answer, StudyStep& step);
  /// Writes a step that is in memory. `turn` is given on as soon as the write is queued: the study may then change.
  Task<void> write(const OpenStudy& study, const StudyStep& step, Request* request, std::shared_ptr<void>& turn);

  Context& context_;
  Turns thinking_{kThinkingMax};
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Desk>> desks_;
  int64_t uses_ = 0;
};

}  // namespace linac::service
