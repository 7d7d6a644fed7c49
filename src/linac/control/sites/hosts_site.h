#pragma once
// Sites without a batch system: this host, or hosts that ssh leads to. On each a script starts the workers, outlives
// who started it, and holds a lock for as long as it or one of them is there: by that a later call knows whether they
// are, and that nobody starts them twice.
//
//   launch/host-0.sh  what runs on the first host     lock-0  held meanwhile      pid-0  leader of its process group
//   launch/log-0.txt  what it prints                  exit-0  how it ended
// The numbers tell hosts apart that share the folder.

#include "linac/control/sites/abilities.h"
#include "linac/control/sites/shell.h"
#include "linac/control/sites/site.h"

namespace linac::sites {

/// What these sites have in common, by the workers of each host.
class HostsSite : public Site, public RunsScripts, public HasFolders {
 public:
  using Site::Site;

  std::vector<PlannedStep> plan(const Launch& launch) const override;
  std::vector<Finding> check(const job::Job* job) const override;
  std::vector<Finding> look_at_script(const Launch& launch) const override;
  std::string submit(const Launch& launch) const override;
  Standing standing(const Record& record) const override;
  std::string cancel(const Record& record) const override;
  std::string log(const Record& record, int64_t from) const override;
  bool is_apart() const override { return false; }
  void fetch(const Record& record, const std::string& folder) const override;
  void remove(const Record& record) const override;
  std::vector<Shell> shells_of_run(const Record& record) const override;
  void reopen(const Record& record) const override;

 protected:
  /// Host number `index` of a launch: its shell, and the script that runs there.
  struct Share {
    std::string host;    // "" for this one
    std::string starts;  // lines of shell that start its workers, each in the background: `run ATTEMPT-RANK VARIABLES`
    std::string workers{};  // the option of each
    bool with_key = false;
    bool in_allocation = false;  // its workers may be on hosts that a batch system has given
  };
  /// User error if it is none for this place.
  virtual std::vector<Share> shares(const Launch& launch) const = 0;
  virtual Shell shell(const std::string& host) const = 0;
  /// Where linac is there.
  virtual std::string program() const { return common().program; }
  /// What the hosts need before anything is started on one of them. Environment error.
  virtual void prepare(const std::vector<Shell>&) const {}
  /// worker.sh
  virtual std::string worker(const Launch& launch, const Share& share) const;
  /// Lines of shell in the launch's folder, before its workers are asked to stop, and before they are killed. There is
  /// scripts.h's `holds`.
  virtual std::string to_ask() const { return ""; }
  virtual std::string to_kill() const { return ""; }
  /// Whether the workers are where its shells lead to, and not on hosts that are known from there.
  virtual bool works_on_shells() const { return true; }
  /// All that the settings name.
  virtual std::vector<std::string> all_hosts() const = 0;

 private:
  std::string host_script(const Launch& launch, const Share& share, size_t index) const;
  std::string start_script(const Launch& launch, const Share& share, size_t index) const;
};

}  // namespace linac::sites
