#pragma once
// A place that runs trainings and belongs to somebody else: what it needs to be told (sites.yaml), and what one launch
// there is, as files and commands. A kind of site is a file with a class for this and its Kind, and its lines in
// kinds.cpp.
//
// Sites are values without state beside their settings. Their calls ask the place by its own tools and may take as
// long as its network does; several threads may call at the same time. Environment error when the place cannot be
// reached or refuses, with its own words.

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/base/config.h"
#include "linac/base/job/job.h"
#include "linac/base/job/run_states.h"
#include "linac/base/plan/worth.h"
#include "linac/control/sites/script/script.h"

namespace linac::sites {

/// "local, ssh, slurm, ... or panda", all of kinds().
const std::string& words_of_kinds();

/// What every kind of site has.
struct CommonSettings {
  std::string kind, folder, out;
  std::string program = "linac", python = "python3";
  std::map<std::string, std::string> environment;
  std::vector<std::string> setup, exclude, users;
  plan::Worth plan;  // what `linac plan` is told of it

  template <class V>
  void common_fields(V& v) {
    v("kind", kind, words_of_kinds().c_str());
    v("folder", folder,
      "absolute path there: each launch gets a folder of its name in it; for slurm, mpi and kubernetes on a disk that "
      "all nodes share");
    v("out", out, "where runs are kept if not in folder: s3://BUCKET/FOLDER");
    v("program", program, "path of linac there, or its name where PATH has it");
    v("python", python, "Python 3.6 or newer there, for scripts (linac spawn), or its name where PATH has it");
    v("environment", environment,
      "variables of the workers, e.g. {GLOO_SOCKET_IFNAME: ib0}; no secrets: others may read them there");
    v("setup", setup, "lines of shell before the workers start, e.g. [module load linac]");
    v("exclude", exclude,
      "hosts that launches keep away from, e.g. [n04], as they call themselves: they are broken, or compute wrongly "
      "(docs/guide/audit.md)");
    v("users", users,
      "of a service that has this site (linac serve --sites): whose jobs it takes, beside admins'; ['*'] for "
      "everybody. "
      "They run under this site's account, without a sandbox");
    v("plan", plan, "");
  }
};

/// One launch: what the job is there, and who carries it; or a script in place of linac.
struct Launch {
  std::string label;  // its name there; letters, digits and ._-
  std::string job;    // the job file, resolved; of a script what its workers have to know (script_files.h)
  int workers = 1;
  int workers_min = 0;      // 0: nobody says
  int64_t seconds_max = 0;  // 0: what the site says
  std::string out;          // of the run: an absolute path there, or s3://; of a script the folder that it works in
  std::string key;          // of its workers, 64 hexadecimal digits
  std::optional<Script> script{};
  bool part = false;    // of a training at several sites (parts.h)
  bool joins = false;   // the other parts go on, and its workers come to them
  bool agents = false;  // in place of the job: so many agents as workers, which take the work of a service
  std::vector<std::string> exclude{};  // hosts that it keeps away from, beside those of the site (exclude.h)
};

/// Many launches of linac that a place takes as one (arrays.h).
struct Array {
  std::string name;  // the label of all; that of a member is NAME-INDEX, from 1 on
  std::vector<Launch> members;
  int at_once = 0;  // so many run at the same time; 0: any number
};

/// What is kept of a launch by who launched it (record.h).
struct Record {
  std::string label, site, kind, folder, out, id;
  std::vector<std::string> hosts;
  bool script = false;
  std::map<std::string, std::string> changes{};  // of the site's settings, for this launch
  std::string array{};                           // that it was submitted with; empty: alone
  int index = 0;                                 // there, from 1 on; 0: it is no member, or was started anew since
};

/// What a launch would be, for people: in the order in which it is done.
struct PlannedStep {
  std::string title;  // "/home/me/linac/a/launch/launch.sbatch"; empty: the text stands for itself
  std::string text;
};

/// Finding::what of whether the place answers at all.
inline constexpr const char* kReached = "reached";

struct Finding {
  bool good = true;
  std::string what, text;  // "partition", "gpu: up, 12 nodes"; or the reason with the way out
  bool doubtful = false;   // good as far as is known, and whoever launches hears of it
};

struct Standing {
  job::RunState state = job::RunState::kPending;
  std::string reason;                                        // why it is so; may be empty
  std::vector<std::pair<std::string, std::string>> details;  // "hosts", "n[01-04]"
  std::optional<int> exit{};                                 // of the run, where that is how it ended and is known
};

/// Memory that some workers of a launch share. The system ends one that takes more.
struct MemoryLimit {
  double gib = 0;
  int workers = 1;      // that share it, at the most
  std::string setting;  // that says so: "memory: 16G"
};
inline constexpr int kAllWorkers = std::numeric_limits<int>::max();

/// What is the same for all launches of a site.
struct Facts {
  int workers = 0;         // where nobody says a number; 0: as many as the job says
  int workers_a_host = 1;  // that one carries; 1 where it is not known
  std::vector<MemoryLimit> memory{};
  std::chrono::seconds pause{1};  // of whoever follows a launch, before the place is asked again
  bool carries_agents = false;    // launches of agents can be brought there
  bool excludes = true;           // it can be told hosts to keep away from
  /// Nothing is left there of a launch that was cancelled: then its user's record alone knows how it ended.
  bool forgets = false;
};

/// What all kinds can do. What some can is an interface of its own (abilities.h).
class Site {
 public:
  Site(std::string name, std::string where) : name_(std::move(name)), where_(std::move(where)) {}
  virtual ~Site() = default;

  const std::string& name() const { return name_; }
  /// "[sites] sites.yaml:3: farm", for messages.
  std::string place() const { return "[sites] " + where_ + ": " + name_; }
  /// The ability, if the site has it.
  template <class Ability>
  const Ability* as() const {
    return dynamic_cast<const Ability*>(this);
  }

  virtual const CommonSettings& common() const = 0;
  virtual Facts facts() const { return {}; }
  /// Hosts of its settings that the launch does not go to, as they are excluded. User error if none is left.
  virtual std::vector<std::string> left_out(const Launch&) const { return {}; }

  /// User error if the launch is none for this place.
  virtual std::vector<PlannedStep> plan(const Launch& launch) const = 0;
  /// Whether a launch could begin there. Starts nothing and costs nothing. With the job also whether its files are
  /// there.
  virtual std::vector<Finding> check(const job::Job* job) const = 0;
  /// Starts it, or finds that it was started: a label is started once, whoever asked for it and died meanwhile. What
  /// the place calls it.
  virtual std::string submit(const Launch& launch) const = 0;
  virtual Standing standing(const Record& record) const = 0;
  /// It writes a checkpoint and stops; asked once more, it stops at once. What was done, in words.
  virtual std::string cancel(const Record& record) const = 0;
  /// Prepares that a launch which has ended is submitted once more: what tells of its end goes, what the run has left
  /// stays. User error if something of it runs. Done twice, it is as if done once.
  virtual void reopen(const Record& record) const = 0;
  /// What it has printed from byte `from` on; a bounded piece.
  virtual std::string log(const Record& record, int64_t from) const = 0;

 private:
  std::string name_, where_;
};

/// A kind of site: `make` reads its settings, all of them, and checks them.
struct Kind {
  const char* word;
  const char* meaning;
  std::unique_ptr<Site> (*make)(const YAML::Node& settings, const std::string& where, const std::string& name);
  std::vector<config::Setting> (*settings)();
  std::string (*notes)() = nullptr;  // lines that begin with '#', for whoever fills the settings in
};
const std::vector<Kind>& kinds();

/// User error "[sites] FILE: NAME.field ..." unless it holds.
void need(bool holds, const std::string& place, const std::string& what);
/// The checks that all kinds share.
void check_common(const CommonSettings& settings, const std::string& place);

}  // namespace linac::sites
