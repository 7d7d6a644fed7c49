#include "linac/cli/common/service_options.h"

namespace linac::cli {

void add_service_options(CLI::App& verb, ServiceOptions& options) {
  verb.add_option(
      "--server", options.server,
      "address of the service (default: LINAC_SERVER, else that of the last login, else http://127.0.0.1:5000)");
  verb.add_flag("--json", options.json, "print JSON");
}

}  // namespace linac::cli
