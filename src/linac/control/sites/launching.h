#pragma once
// A job brought to a site: what somebody asks for becomes a launch, and is started once. Functions that may be called
// from several processes at the same time.

#include <map>
#include <string>
#include <vector>

#include "linac/control/sites/record.h"
#include "linac/control/sites/site.h"

namespace linac::sites {

struct Wishes {
  std::string job;  // path of the job file
  std::vector<std::string> overrides;
  std::string name;                    // of the launch; empty: a new one
  std::string workers;                 // "4" or "2:4"; empty: what the site has or the job says
  std::string time;                    // "4h"; empty: what the site says
  std::string out;                     // empty: where the site keeps runs
  std::vector<std::string> exclude{};  // hosts that it keeps away from
};

struct AgentWishes {
  int count = 1;
  std::string name, time;  // as above
};

inline constexpr int kWorkersMax = 4096;

/// The job resolved, with paths that count from the folder of this process; user or data error if it is none.
job::Job resolved_job(const std::string& file, const std::vector<std::string>& overrides);

/// Of what is planned of the job (its `plan`), what will most likely be more than its `budget` allows: such a run ends
/// by its budget, and what it has cost is lost unless somebody goes on with it. None of them is good.
std::vector<Finding> over_budget(const job::Job& job);

/// User error for what can be no launch there.
Launch make_launch(const Site& site, const Wishes& wishes);
/// The same of a job whose paths are absolute, or URLs; `wishes` may leave its file out.
Launch make_launch(const Site& site, const job::Job& job, const Wishes& wishes);

/// Agents in place of a job. User error for a site that carries none.
Launch make_agents(const Site& site, const AgentWishes& wishes);

/// Of a new launch: the name that was given, else a new one of what it runs. User error if it is none.
std::string label_of(const std::string& given, const std::string& what);
/// Of a new launch: 64 hexadecimal digits.
std::string new_key();
/// Since 1970.
int64_t now_ms();
/// Where a run is kept if nobody says, or a script works.
std::string default_out(const Site& site, const std::string& label, bool script);

/// Warns of each host of the site's that the launch does not go to, as it is excluded.
void tell_left_out(const Site& site, const Launch& launch);

struct Started {
  KeptLaunch kept;
  bool found = false;  // it had been submitted before: by a client that died, or under the same name
};
/// Keeps that it is going to be submitted, submits it, keeps what the place calls it. The same wishes, whose client
/// died before it knew, go on with that launch; so does one of the same name. User error if the name is another
/// launch's.
/// `changes`: of the site's settings, which it has already.
Started start(const Site& site, Launch launch, bool named, const std::map<std::string, std::string>& changes = {});

/// Starts a launch of linac that has ended without success once more, from its newest checkpoint. User error for one
/// that runs, waits, has succeeded or is a script's. A client that dies meanwhile leaves it LOST: it is resumed again.
/// `joins`: its workers come to those of the other parts, who go on.
KeptLaunch resume(const Site& site, const std::string& label, bool joins = false);

}  // namespace linac::sites
