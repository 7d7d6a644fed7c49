#pragma once
// A check in a process of its own, for a library that a damaged file can bring down (HDF5 1.10): its end by a signal is
// damage, and the other files go on. Linux. Thread-safe.

#include <functional>
#include <string>

#include "linac/io/data/verify/findings.h"

namespace linac::data {

/// Runs `check` in a child process, which ends with this one, and tells `findings` what it finds. `check` uses no
/// thread and no lock of others but HDF5's. Its Error is thrown here. Environment error if no process can be made.
void check_in_child(Findings& findings, const std::function<void(Findings&)>& check);

}  // namespace linac::data
