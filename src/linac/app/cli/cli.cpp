#include "linac/app/cli/cli.h"

#include "linac/app/cli/verbs.h"
#include "linac/control/command_line.h"
#include "linac/control/verbs.h"
#include "linac/launch/workers/worker_error.h"

namespace linac::app {

int run_command_line(int argc, char** argv) {
  const auto app = control::parser();
  add_train_verb(*app);
  add_check_verb(*app);
  add_generate_verb(*app);
  add_predict_verb(*app);
  add_evaluate_verb(*app);
  add_report_verb(*app);
  control::add_verbs(*app);
  add_simulate_verb(*app);
  add_validate_verb(*app);
  add_data_verb(*app);
  add_export_verb(*app);
  add_models_verb(*app);
  add_bench_verb(*app);
  add_version_verb(*app);
  return control::run(*app, argc, argv,
                      [](std::string_view what, int exit_status) { launch::report_worker_error(what, exit_status); });
}

}  // namespace linac::app
