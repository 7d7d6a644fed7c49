#include "linac/cli/command_line.h"

#include <exception>
#include <memory>
#include <new>

#include "linac/base/error.h"
#include "linac/base/log.h"

namespace linac::cli {

std::unique_ptr<CLI::App> parser() {
  auto app = std::make_unique<CLI::App>(
      "linac trains physics networks on any number of machines, and the answer never depends on how many.", "linac");
  app->require_subcommand(1);
  app->footer("Example: linac check examples/demo.yaml && linac train examples/demo.yaml --workers 2");
  return app;
}

int run(CLI::App& app, int argc, char** argv,
        const std::function<void(std::string_view what, int exit_status)>& failed) {
  const auto report = [&](ErrorCode code, const char* what) {
    log::error(what);
    if (failed) failed(what, static_cast<int>(code));
    return static_cast<int>(code);
  };
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

}  // namespace linac::cli
