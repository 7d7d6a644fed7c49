// The program `linac-compute`: verbs that need LibTorch, and those of `linac-data` too, whose jobs it can read.

#include "linac/cli/common/handed_program.h"
#include "linac/cli/compute/data_of_job.h"
#include "linac/cli/compute/verbs.h"
#include "linac/cli/data/verbs.h"
#include "linac/io/clouds/clouds.h"
#include "linac/train/workers/worker_error.h"

namespace {

void add_verbs(CLI::App& app) {
#define LINAC_ADD(name, summary) linac::cli::add_##name##_verb(app);
  LINAC_VERBS(LINAC_ADD, LINAC_ADD, LINAC_NO_VERB)
#undef LINAC_ADD
}

}  // namespace

int main(int argc, char** argv) {
  linac::clouds::provide();
  linac::cli::provide_events_of_jobs();
  linac::cli::run_handed_program(argc, argv, add_verbs, [](std::string_view what, int exit_status) {
    linac::launch::report_worker_error(what, exit_status);
  });
}
