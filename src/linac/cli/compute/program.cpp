#include "linac/cli/compute/program.h"

#include "linac/cli/common/command_line.h"
#include "linac/cli/compute/verbs.h"
#include "linac/io/clouds/clouds.h"
#include "linac/train/workers/worker_error.h"

namespace linac::cli {

int run_command_line(int argc, char** argv) {
  clouds::provide();
  const auto app = parser();
  add_train_verb(*app);
  add_check_verb(*app);
  add_generate_verb(*app);
  add_predict_verb(*app);
  add_evaluate_verb(*app);
  add_report_verb(*app);
  add_simulate_verb(*app);
  add_validate_verb(*app);
  add_data_verb(*app);
  add_cache_verb(*app);
  add_export_verb(*app);
  add_models_verb(*app);
  add_bench_verb(*app);
  add_version_verb(*app);
  return run(*app, argc, argv,
             [](std::string_view what, int exit_status) { launch::report_worker_error(what, exit_status); });
}

}  // namespace linac::cli
