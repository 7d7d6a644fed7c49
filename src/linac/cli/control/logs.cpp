#include <memory>

#include "linac/cli/common/service_options.h"
#include "linac/cli/control/launched.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/client/runs.h"

namespace linac::cli {
namespace {

struct LogsOptions {
  ServiceOptions service;
  std::string run;
  bool follow = false;
  int64_t tail_bytes = 0;
};

void run_logs(const LogsOptions& options) {
  if (const auto launch = launch_named(options.run)) {
    const int status = print_launch_log(*launch, -options.tail_bytes, options.follow);
    if (status != 0) throw CLI::RuntimeError(status);
    return;
  }
  client::ServiceClient service = options.service.connect();
  const std::string run = client::find_run(service, options.run);
  const std::string state = client::print_log(service, run, -options.tail_bytes, options.follow);
  if (options.follow && client::exit_status(state) != 0) throw CLI::RuntimeError(client::exit_status(state));
}

}  // namespace

void add_logs_verb(CLI::App& app) {
  auto options = std::make_shared<LogsOptions>();
  auto* verb = app.add_subcommand("logs", "What a run has printed");
  verb->add_option("run", options->run, "name, id, or the beginning of an id; SITE:NAME for a launch")->required();
  verb->add_flag("-f,--follow", options->follow, "go on until the run has ended, and end as it ends");
  verb->add_option("--tail", options->tail_bytes, "only the last so many bytes")->check(CLI::NonNegativeNumber);
  verb->add_option("--server", options->service.server, "address of the service");
  verb->footer("Examples:\n  linac logs topology\n  linac logs -f topology --tail 2000");
  verb->callback([options] { run_logs(*options); });
}

}  // namespace linac::cli
