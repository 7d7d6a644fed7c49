#pragma once
// The control group of an attempt: the kernel's own list of all that its command has started, whatever session, group
// and environment they have taken. It bounds their memory together (files in memory and shared memory counted), their
// number and their time on processors; it says what they use, and kills them at one stroke. Where it is made says
// control_groups.h. Of version 1 of the kernel's interface each controller has a folder of its own, of version 2 all
// have one (cgroups(7)). Thread-safe for different groups.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/control/launch/command.h"
#include "linac/control/launch/process_facts.h"

namespace linac::launch {

/// Writes to a file of the kernel's; false (errno) if it does not take that.
bool tell_kernel(const std::string& file, const std::string& value);

class ControlGroup {
 public:
  /// Of an empty place: none, of which the calls below do and find nothing.
  explicit ControlGroup(GroupPlace place) : place_(std::move(place)) {}

  /// Makes it with these limits. Environment error if that fails.
  void make(const Limits& limits) const;
  /// Brings the calling process in, which has one thread; false (errno) if it cannot be.
  bool enter() const;

  /// Those in it that have not ended.
  std::vector<ProcessKey> members() const;
  /// Of all in it, with what they have in memory of files that are nowhere else; nothing if it is not counted.
  std::optional<int64_t> memory_bytes() const;
  /// How many of its processes the kernel has killed because all together had reached the limit of memory.
  int64_t killed_for_memory() const;

  /// Kills all that is in it. To be repeated until nothing is, where the kernel is older than its way for that.
  void kill() const;
  /// Takes the group away; one that is not empty stays, after a wait of kRemovalMax.
  void remove() const;

 private:
  std::vector<std::string> folders() const;
  bool unified(const std::string& folder) const { return folder == place_.unified; }

  GroupPlace place_;
};

}  // namespace linac::launch
