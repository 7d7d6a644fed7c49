#pragma once
// The job of a run in the queue, exchanged. Within the transaction that is given.

#include <string>

#include "linac/control/catalog/database.h"

namespace linac::catalog {

/// From the next attempt on. kNotFound for a run that has no job.
void set_job_text(Database& database, const std::string& run, const std::string& job);

}  // namespace linac::catalog
