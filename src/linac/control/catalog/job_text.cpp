#include "linac/control/catalog/job_text.h"

#include "linac/control/catalog/queue_rows.h"

namespace linac::catalog {

void set_job_text(Database& database, const std::string& run, const std::string& job) {
  database.query("UPDATE jobs SET job = $2 WHERE run = $1", job_of(database, run).number, job);
}

}  // namespace linac::catalog
