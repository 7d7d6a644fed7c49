#pragma once
// Between a command that was given secrets and its log: a process that copies what it prints and replaces the values by
// their names, so that none comes to the disk. It outlives the supervisor, and ends when nobody is left who could print
// anything. Private to the module.

#include "linac/base/base/descriptor.h"
#include "linac/base/base/redactor.h"

namespace linac::launch {

/// The end to print to. A child of this process, which has one thread: whoever waits for all children waits for it.
/// What the disk does not take is lost, and said once it takes something again: the command never waits for that.
/// Environment error if there is no process left.
Descriptor start_log_relay(const Descriptor& log, const Redactor& redactor);

}  // namespace linac::launch
