#include "linac/cli/compute/program.h"

#include "linac/cli/common/command_line.h"
#include "linac/cli/compute/verbs.h"
#include "linac/io/clouds/clouds.h"
#include "linac/train/workers/worker_error.h"

namespace linac::cli {

int run_command_line(int argc, char** argv) {
  clouds::provide();
  const auto app = parser();
#define LINAC_ADD(name, summary) add_##name##_verb(*app);
  LINAC_VERBS(LINAC_ADD, LINAC_NO_VERB)
#undef LINAC_ADD
  return run(*app, argc, argv,
             [](std::string_view what, int exit_status) { launch::report_worker_error(what, exit_status); });
}

}  // namespace linac::cli
