#include <memory>

#include "linac/cli/control/verbs.h"
#include "linac/control/launch/supervisor.h"

namespace linac::cli {

void add_supervise_verb(CLI::App& app) {
  auto folder = std::make_shared<std::string>();
  auto parent = std::make_shared<int>(0);
  auto* verb = app.add_subcommand("supervise",
                                  "Carries out an attempt of a queued job; started by `linac serve` and `linac agent`")
                   ->group("");
  verb->add_option("attempt", *folder, "the attempt's folder")->required();
  verb->add_option("--with-parent", *parent, "stop when this process, which started it, is gone");
  verb->callback([folder, parent] {
    if (const int status = launch::supervise(*folder, *parent); status != 0) throw CLI::RuntimeError(status);
  });
}

}  // namespace linac::cli
