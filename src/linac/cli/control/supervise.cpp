#include <memory>

#include "linac/cli/control/verbs.h"
#include "linac/launch/supervisor.h"

namespace linac::cli {

void add_supervise_verb(CLI::App& app) {
  auto folder = std::make_shared<std::string>();
  auto* verb =
      app.add_subcommand("supervise", "Carries out an attempt of a queued job; started by `linac serve`")->group("");
  verb->add_option("attempt", *folder, "the attempt's folder")->required();
  verb->callback([folder] {
    if (const int status = launch::supervise(*folder); status != 0) throw CLI::RuntimeError(status);
  });
}

}  // namespace linac::cli
