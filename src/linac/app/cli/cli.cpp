#include "linac/app/cli/cli.h"

#include <exception>

#include "linac/app/cli/verbs.h"
#include "linac/app/launch/worker_error.h"
#include "linac/base/error.h"
#include "linac/base/log.h"

namespace linac::app {
namespace {

int report(ErrorCode code, const char* what) {
  log::error(what);
  report_worker_error(what, static_cast<int>(code));
  return static_cast<int>(code);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app("linac trains physics networks on any number of machines, and the answer never depends on how many.",
               "linac");
  app.require_subcommand(1);
  app.footer("Example: linac check examples/demo.yaml && linac train examples/demo.yaml --workers 2");
  add_train_verb(app);
  add_check_verb(app);
  add_generate_verb(app);
  add_predict_verb(app);
  add_evaluate_verb(app);
  add_simulate_verb(app);
  add_validate_verb(app);
  add_data_verb(app);
  add_export_verb(app);
  add_bench_verb(app);
  add_version_verb(app);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::RuntimeError& status) {  // a verb that ended with a status of its own
    return status.get_exit_code();
  } catch (const CLI::ParseError& error) {
    // Asking for help is no error; anything else is the user's.
    return app.exit(error) == 0 ? 0 : static_cast<int>(ErrorCode::kUser);
  } catch (const Error& error) {
    return report(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return report(ErrorCode::kEnvironment,
                  "[memory] not enough memory; lower train.batch or the number of workers on this host");
  } catch (const std::exception& error) {
    return report(ErrorCode::kInternal, error.what());
  }
}

}  // namespace linac::app
