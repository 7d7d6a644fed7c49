#pragma once
// A job brought to a site: what somebody asks for becomes a launch, and is started once. Functions that may be called
// from several processes at the same time.

#include <string>
#include <vector>

#include "linac/sites/record.h"
#include "linac/sites/site.h"

namespace linac::sites {

struct Wishes {
  std::string job;  // path of the job file
  std::vector<std::string> overrides;
  std::string name;     // of the launch; empty: a new one
  std::string workers;  // "4" or "2:4"; empty: what the site has or the job says
  std::string time;     // "4h"; empty: what the site says
  std::string out;      // empty: where the site keeps runs
};

/// The job resolved, with paths that count from the folder of this process; user or data error if it is none.
spec::Job resolved_job(const std::string& file, const std::vector<std::string>& overrides);

/// User error for what can be no launch there.
Launch make_launch(const Site& site, const Wishes& wishes);

struct Started {
  KeptLaunch kept;
  bool found = false;  // it had been submitted before: by a client that died, or under the same name
};
/// Keeps that it is going to be submitted, submits it, keeps what the place calls it. The same wishes, whose client
/// died before it knew, go on with that launch; so does one of the same name. User error if the name is another
/// launch's.
Started start(const Site& site, Launch launch, bool named);

}  // namespace linac::sites
