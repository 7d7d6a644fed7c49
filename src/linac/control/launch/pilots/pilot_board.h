#pragma once
// Attempts that agents carry out on hosts of their own (`linac agent`), and the agents that ask for them: where the
// scheduler's side (pilot_launcher.h) and the routes by which agents speak meet. docs/internals/decisions/pilots.md has
// the contract.
//
//   prepared, offered → handed → running → ended | lost
//
// A handed one that is not begun in time is offered again. What runs has a lease: its agent is heard of before it runs
// out, or the attempt is lost. Whoever speaks of an attempt shows the secret of its lease; what comes with another one,
// or after the end, is refused (kState) and changes nothing.
//
// On the disk, in the attempt's folder: lease.json from the beginning of the work on, output.txt (what it prints),
// exit.json. All else is forgotten with the process: a service that is started anew finds what runs by these files, and
// gives it the whole time of its lease again. Thread-safe.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "linac/control/launch/launcher.h"

namespace linac::launch {

/// An agent, as it says it is, but for `user` and `of_all`.
struct PilotAgent {
  std::string id, name, host, version;
  std::string user;     // whose token it has
  bool of_all = false;  // it runs the jobs of all, not only its user's
  Demand all, free;     // seconds_max of `free`: it is there for so long; 0: no end is known
  std::vector<std::string> tags;
  bool draining = false;  // it takes nothing any more
  double price = 0;       // US dollars for an hour of all of its host; 0: nothing
  // Known by the board alone.
  int64_t seen_ms = 0;  // since 1970
  int64_t leases = 0;   // that it has now
};

/// Work that an agent is given.
struct HandedWork {
  std::string label, secret;
  Command command;
  Demand demand;
  bool own = false;  // of the agent's own user
};

/// Who speaks of an attempt.
struct LeaseClaim {
  std::string label, secret, user;
  bool for_all = false;  // he may, now, run the jobs of others, too
};

class PilotBoard {
 public:
  using Clock = std::chrono::steady_clock;
  explicit PilotBoard(std::chrono::milliseconds lease, std::function<Clock::time_point()> clock = Clock::now);

  std::chrono::milliseconds lease() const { return lease_; }

  // --- agents

  /// It asks for work, until leave(). kDenied for an id that another user's agent has, kLimit for too many agents,
  /// of this user or of all.
  void ask(const PilotAgent& agent);
  /// What there is for an agent that asks: nothing that a cheaper one who asks could have. The same again while it has
  /// not begun that.
  std::optional<HandedWork> take(const std::string& agent_id);
  void leave(const std::string& agent_id);
  /// Those that were heard of within the last kShown, and those that have leases.
  std::vector<PilotAgent> agents() const;
  /// Whose agent this is; "" for one that is not known.
  std::string user_of_agent(const std::string& id) const;

  // --- attempts. All throw kState if the claim is no lease, or it is over. Each call renews the lease.

  void check(const LeaseClaim& claim);
  /// It is going to run. On the disk when this returns. Also of one that has begun.
  void begin(const LeaseClaim& claim, int64_t now_ms);
  /// Whether it is to stop.
  bool renew(const LeaseClaim& claim, const AttemptUse& use);
  /// What it has printed from byte `from` on; returns up to where all is there. What is there already is passed over,
  /// and so is what would leave a gap.
  int64_t add_output(const LeaseClaim& claim, int64_t from, std::string_view bytes);
  /// While `work` runs the lease does not end.
  void with_lease(const LeaseClaim& claim, const std::function<void()>& work);
  /// How it ended. On the disk when this returns.
  void end(const LeaseClaim& claim, const Exit& exit);

  // --- the launcher's side, by the contract of launcher.h

  void prepare(const AttemptKey& attempt, const Demand& demand);
  void offer(const AttemptKey& attempt, const Command& command);
  AttemptStatus status(const AttemptKey& attempt);
  AttemptUse use(const AttemptKey& attempt) const;
  std::string output(const AttemptKey& attempt, int64_t from, size_t bytes_max) const;
  void cancel(const AttemptKey& attempt);
  void release(const AttemptKey& attempt);
  /// Of agents that ask and for which nothing is prepared or offered.
  std::vector<Vacancy> vacancies() const;

  static constexpr std::chrono::seconds kHandedMax{30};  // until an agent begins what it was given
  static constexpr std::chrono::seconds kBetweenMax{2};  // from one question of an agent to its next
  static constexpr std::chrono::minutes kShown{10};
  static constexpr size_t kAgentsMax = 20000, kAgentsOfUserMax = 5000;

 private:
  enum class Stage { kPrepared, kOffered, kHanded, kRunning, kEnded, kLost };
  struct Attempt {
    std::filesystem::path folder;
    Demand demand;
    Command command;  // without its secrets once it runs
    Stage stage = Stage::kPrepared;
    std::string secret, agent, agent_name, host, user;  // from kHanded on
    std::string chosen;                                 // why that agent
    Clock::time_point until{};                          // of the lease, or of the time to begin
    bool stop = false;
    AttemptUse use;
    AttemptStatus status;
    std::mutex files{};  // held while something of it is written, and while its lease ends
  };
  struct Agent {
    PilotAgent told;
    Clock::time_point seen{};
    Clock::time_point left{};  // when none waited any more
    int asking = 0;            // requests that wait
    bool took = false;         // work, and has not asked since
  };
  using Held = std::shared_ptr<Attempt>;

  Held alive(const LeaseClaim& claim, bool begun = true);
  Held find(const std::string& label) const;
  void renew_lease(Attempt& attempt);
  void expire(Attempt& attempt);
  static bool may_run(const Attempt& attempt, const PilotAgent& agent);
  bool suits(const Attempt& attempt, const PilotAgent& agent) const;
  bool is_there(const Agent& agent) const;
  bool has_cheaper(const Attempt& attempt, const PilotAgent& agent) const;
  std::string why_chosen(const Attempt& attempt, const PilotAgent& agent) const;
  void forget_old_agents();

  const std::chrono::milliseconds lease_;
  const std::function<Clock::time_point()> clock_;
  mutable std::mutex mutex_;  // of all below, but for Attempt::files, which is locked first
  std::map<std::string, Held> attempts_;
  std::map<std::string, Agent> agents_;
};

}  // namespace linac::launch
