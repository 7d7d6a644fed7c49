#include <fmt/format.h>

#include <memory>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/base/base/text_table.h"
#include "linac/cli/common/service_options.h"
#include "linac/cli/control/launched.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/client/runs.h"

namespace linac::cli {
namespace {

struct ChangeOptions {
  ServiceOptions service;
  std::vector<std::string> runs;
  std::string reason;
  std::vector<std::string> budget;
};

// Launches are changed by `at_site`, runs by their service, in the order in which they are named.
void change(const ChangeOptions& options, const std::string& what, void (*at_site)(const LaunchName&)) {
  std::optional<client::ServiceClient> connection;
  for (const std::string& name : options.runs) {
    if (const auto launch = launch_named(name)) {
      if (!options.budget.empty())
        throw user_error(
            fmt::format("[launch] {}: --set is for runs of a service; `linac launch` with more of the "
                        "budget and the same --out goes on",
                        name));
      at_site(*launch);
      continue;
    }
    client::ServiceClient& service =
        connection ? *connection : connection.emplace(client::find_login(options.service.server));
    nlohmann::json body = nlohmann::json::object();
    if (!options.reason.empty()) body["reason"] = options.reason;
    if (!options.budget.empty()) body["set"] = options.budget;
    const auto answer =
        service.post("/api/v1/runs/" + client::find_run(service, name, client::Several::kRefused) + "/" + what, body);
    if (options.service.json) {
      fmt::print("{}\n", answer.dump());
      continue;
    }
    const std::string id = answer.at("id"), state = answer.at("state"), reason = answer.at("reason");
    fmt::print("{}", lined_up({{id, reason.empty() ? state : state + ": " + reason}}));
  }
}

}  // namespace

void add_cancel_verb(CLI::App& app) {
  auto options = std::make_shared<ChangeOptions>();
  auto* verb = app.add_subcommand("cancel", "Takes runs out of the queue; those that run write a checkpoint and stop");
  verb->add_option("runs", options->runs, "names, ids, or beginnings of ids; SITE:NAME for a launch")->required();
  verb->add_option("--reason", options->reason, "kept in the catalog");
  add_service_options(*verb, options->service);
  verb->footer("Example: linac cancel topology --reason \"wrong data\"");
  verb->callback([options] { change(*options, "cancel", cancel_launch); });
}

void add_resume_verb(CLI::App& app) {
  auto options = std::make_shared<ChangeOptions>();
  auto* verb = app.add_subcommand(
      "resume", "Puts runs that ended without success back into the queue, to go on from their newest checkpoint");
  verb->add_option("runs", options->runs, "names, ids, or beginnings of ids; SITE:NAME for a launch")->required();
  add_service_options(*verb, options->service);
  verb->add_option("--set", options->budget, "more of the budget that the run has used up: budget.hours=16");
  verb->footer(
      "Examples:\n  linac resume topology\n  linac resume topology --set budget.hours=16\n  linac resume "
      "farm:topology");
  verb->callback([options] { change(*options, "resume", resume_launch); });
}

}  // namespace linac::cli
