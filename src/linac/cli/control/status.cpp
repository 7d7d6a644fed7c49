#include <fmt/format.h>

#include <memory>

#include "linac/base/base/text_table.h"
#include "linac/cli/common/service_options.h"
#include "linac/cli/control/launched.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/client/runs.h"

namespace linac::cli {
namespace {

using nlohmann::json;

struct StatusOptions {
  ServiceOptions service;
  std::string run;
};

std::string wishes(const json& job) {
  std::string text = fmt::format("{} cores", job.at("cores").get<int64_t>());
  if (const int64_t mb = job.at("memory_mb"); mb > 0) text += fmt::format(", {} MB", mb);
  if (const int64_t gpus = job.at("gpus"); gpus > 0) text += fmt::format(", {} GPUs", gpus);
  return text;
}

void print_queue(client::ServiceClient& service, bool as_json) {
  const json queue = service.get("/api/v1/queue");
  if (as_json) {
    fmt::print("{}\n", queue.dump(2));
    return;
  }
  const json& slots = queue.at("slots");
  fmt::print("{}: {} cores, {} MB, {} GPUs for jobs; {} in the queue\n", service.login().server,
             slots.at("cores").get<int64_t>(), slots.at("memory_mb").get<int64_t>(), slots.at("gpus").get<int64_t>(),
             queue.at("count").get<int64_t>());
  if (queue.at("jobs").empty()) return;
  std::vector<std::vector<std::string>> rows{{"ID", "NAME", "STATE", "USER", "PRIORITY", "WANTS", "ON", "SUBMITTED"}};
  for (const json& job : queue.at("jobs")) {
    const std::string run = job.at("run"), name = job.at("name"), user = job.at("user"), place = job.at("on");
    const bool hidden = run.empty();  // one that somebody else has not shared
    rows.push_back({hidden ? "-" : run, hidden ? "(of somebody else)" : name, job.at("state"), hidden ? "-" : user,
                    std::to_string(job.at("priority").get<int64_t>()), wishes(job),
                    place.empty() ? "the service's host" : place, client::time_words(job.at("submitted_ms"))});
  }
  fmt::print("{}", lined_up(rows));
}

void print_run(client::ServiceClient& service, const std::string& id, bool as_json) {
  const json run = service.get("/api/v1/runs/" + id);
  if (as_json) {
    fmt::print("{}\n", run.dump(2));
    return;
  }
  const std::string name = run.at("name"), user = run.at("user"), state = run.at("state"), reason = run.at("reason");
  fmt::print("{}", lined_up({{id, name}}));
  fmt::print("{}\n", lined_up({{"  state", reason.empty() ? state : state + ": " + reason},
                               {"  user", user},
                               {"  started", client::time_words(run.at("started_ms"))},
                               {"  ended", client::time_words(run.at("ended_ms"))}}));
  std::vector<std::vector<std::string>> rows;
  for (const json& change : run.at("transitions"))
    rows.push_back({"  " + client::time_words(change.at("time_ms")), change.at("to"), change.at("reason")});
  fmt::print("{}\n", lined_up(rows));
  rows = {{"  METRIC", "LAST", "STEP", "MIN", "MAX"}};
  const auto number = [](const json& value) {
    return value.is_string() ? value.get<std::string>()
           : value.is_null() ? "-"
                             : fmt::format("{:.5g}", value.get<double>());
  };
  for (const auto& [name, metric] : run.at("metrics").items())
    rows.push_back({"  " + name, number(metric.at("last")), std::to_string(metric.at("step").get<int64_t>()),
                    number(metric.at("min")), number(metric.at("max"))});
  if (rows.size() > 1) fmt::print("{}", lined_up(rows));
}

void run_status(const StatusOptions& options) {
  if (const auto launch = launch_named(options.run)) return print_launch(*launch, options.service.json);
  client::ServiceClient service = options.service.connect();
  if (options.run.empty()) return print_queue(service, options.service.json);
  print_run(service, client::find_run(service, options.run), options.service.json);
}

}  // namespace

void add_status_verb(CLI::App& app) {
  auto options = std::make_shared<StatusOptions>();
  auto* verb = app.add_subcommand("status", "The queue of a service, or how one run or launch stands");
  verb->add_option(
      "run", options->run,
      "name, id, or the beginning of an id; SITE:NAME for a launch, SITE: for all of a site; without it: the "
      "queue");
  add_service_options(*verb, options->service);
  verb->footer("Examples:\n  linac status\n  linac status topology --json\n  linac status farm:topology");
  verb->callback([options] { run_status(*options); });
}

}  // namespace linac::cli
