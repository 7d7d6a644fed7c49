#pragma once
// What some kinds of sites can do beside what all can (site.h), an interface each. A kind that can derives from it as
// well; who needs it asks site.as<RunsScripts>(), or one of the functions below, which know what holds of the others.
// Their calls are as those of a Site.

#include <string>
#include <vector>

#include "linac/control/sites/shell.h"
#include "linac/control/sites/site.h"

namespace linac::sites {

/// It takes many launches as one (arrays.h).
class TakesArrays {
 public:
  virtual std::vector<PlannedStep> plan_array(const Array& array) const = 0;
  /// As Site::submit(), of all members.
  virtual std::string submit_array(const Array& array) const = 0;

 protected:
  ~TakesArrays() = default;
};

/// Its workers are pods.
class RunsPods {
 public:
  /// As Site::plan(), as an object of an operator that is installed there: trainjob, tfjob, pytorchjob.
  virtual std::vector<PlannedStep> plan_as(const Launch& launch, const std::string& kind) const = 0;

 protected:
  ~RunsPods() = default;
};

/// It carries scripts (`linac spawn`).
class RunsScripts {
 public:
  /// Whether the script of a launch could begin there, as far as that can be asked; tried, where it offers that.
  virtual std::vector<Finding> look_at_script(const Launch& launch) const = 0;

 protected:
  ~RunsScripts() = default;
};

/// A launch is a folder there, to which a shell leads.
class HasFolders {
 public:
  /// Where the run's folder can be looked into: one shell of each host that may have it.
  virtual std::vector<Shell> shells_of_run(const Record& record) const = 0;
  /// Whether this host does not see what a script writes, and fetch() brings it.
  virtual bool is_apart() const = 0;
  /// Brings what a script has written into a folder of this host, made if it is not there; of several hosts into one
  /// of the host's name each. What is there already stays, but for files of the same names.
  virtual void fetch(const Record& record, const std::string& folder) const = 0;
  /// Takes away what lies there of a script that has ended, but for what it has written itself: the same name can be
  /// used anew.
  virtual void remove(const Record& record) const = 0;

 protected:
  ~HasFolders() = default;
};

/// Whoever launches chooses the hosts, not the place.
class ChoosesHosts {
 public:
  virtual std::vector<std::string> hosts(const Launch& launch) const = 0;

 protected:
  ~ChoosesHosts() = default;
};

/// It keeps runs in a place of its own, neither below the site's folder nor in its `out`.
class KeepsRuns {
 public:
  /// Where a run of that name is kept if nobody says.
  virtual std::string own_place(const std::string& label) const = 0;

 protected:
  ~KeepsRuns() = default;
};

/// User error for a site that takes none.
const TakesArrays& arrays_of(const Site& site);
/// RunsPods::plan_as(); user error for a site that has no pods.
std::vector<PlannedStep> plan_as(const Site& site, const Launch& launch, const std::string& kind);
/// None where no shell leads to the run.
std::vector<Shell> shells_of_run(const Site& site, const Record& record);
bool is_apart(const Site& site);
/// HasFolders::fetch(); user error for a site that is not apart.
void fetch_written(const Site& site, const Record& record, const std::string& folder);
/// None where the place chooses them itself.
std::vector<std::string> chosen_hosts(const Site& site, const Launch& launch);

}  // namespace linac::sites
