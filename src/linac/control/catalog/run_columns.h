#pragma once
// How a run is read from the tables, alone or many at once. Private to the module.

#include <span>
#include <string_view>
#include <vector>

#include "linac/control/catalog/runs.h"

namespace linac::catalog {

/// The numbers' runs in their order, with parameters, tags, summaries of metrics and inputs, in a bounded number of
/// statements. `names_max`: of each run's metrics, parameters and tags the first so many, run.cut says of which there
/// are more; 0: all.
std::vector<Run> runs_of(Database& database, std::span<const int64_t> numbers, int64_t names_max = 0);

void add_transition(Database& database, int64_t number, const Transition& transition);

/// Writes a change of state into the run's record and history; sets start and end. `ended_ms` 0: now.
void change_state(Database& database, int64_t number, RunState to, const std::string& reason, int64_t ended_ms = 0);

}  // namespace linac::catalog
