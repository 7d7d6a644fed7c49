#pragma once
// Where this host lets attempts have control groups (control_group.h): below the group of this process, or beside it
// where systemd has handed over the one above (Delegate=, DelegateSubgroup=). A process that is the service of a whole
// container moves into a group of its own first, as version 2 wants. What version 2 does not have here is taken from
// version 1, if that is there. A copy may be used by any thread.

#include <filesystem>
#include <string>

#include "linac/control/launch/command.h"

namespace linac::launch {

class ControlGroups {
 public:
  /// None: what attempts start is found by other means.
  ControlGroups() = default;
  /// Of this process, by trying. `self`: its folder of /proc.
  static ControlGroups of_host(const std::filesystem::path& self = "/proc/self");

  /// Of the attempt in `folder`; empty if there are none here.
  GroupPlace place(const std::string& label, const std::filesystem::path& folder) const;
  /// What holds here and what does not, as a sentence for whoever starts a service.
  std::string said() const;

 private:
  GroupPlace below_;  // the folders in which groups are made
};

}  // namespace linac::launch
