#include <fmt/format.h>

#include <memory>
#include <vector>

#include "linac/base/base/text_table.h"
#include "linac/cli/common/service_options.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/client/runs.h"

namespace linac::cli {
namespace {

using nlohmann::json;

struct ExperimentOptions {
  ServiceOptions service;
  std::vector<std::string> names;
};

std::vector<json> all_experiments(client::ServiceClient& service) {
  std::vector<json> all;
  std::string token;
  do {
    client::Query query{{"order_by", "name"}, {"limit", "1000"}};
    if (!token.empty()) query.emplace_back("page_token", token);
    const json page = service.get("/api/v1/experiments", query);
    for (const json& one : page.at("experiments")) all.push_back(one);
    token = page.at("next").get<std::string>();
  } while (!token.empty());
  return all;
}

void list(const ExperimentOptions& options) {
  client::ServiceClient service = options.service.connect();
  const std::vector<json> all = all_experiments(service);
  if (options.service.json) {
    fmt::print("{}\n", json(all).dump(2));
    return;
  }
  std::vector<std::vector<std::string>> rows{{"NUMBER", "NAME", "OWNER", "READ BY", "CHANGED"}};
  for (const json& one : all)
    rows.push_back({std::to_string(one.at("id").get<int64_t>()), one.at("name"), one.at("user"),
                    one.at("visibility") == "shared" ? "all" : "owner", client::time_words(one.at("updated_ms"))});
  fmt::print("{}", lined_up(rows));
}

void change(const ExperimentOptions& options, const char* visibility) {
  client::ServiceClient service = options.service.connect();
  for (const std::string& name : options.names) {
    const std::string number = client::experiment_number(service, name);
    service.post("/api/2.0/mlflow/experiments/set-experiment-tag",
                 {{"experiment_id", number}, {"key", "linac.visibility"}, {"value", visibility}});
    if (options.service.json) {
      fmt::print("{}\n", json{{"id", number}, {"visibility", visibility}}.dump());
      continue;
    }
    fmt::print("{}: {}\n", name, visibility);
  }
}

void add_change(CLI::App& experiments, const char* name, const char* help, const char* visibility) {
  auto options = std::make_shared<ExperimentOptions>();
  auto* verb = experiments.add_subcommand(name, help);
  verb->add_option("experiments", options->names, "names or numbers")->required();
  add_service_options(*verb, options->service);
  verb->callback([options, visibility] { change(*options, visibility); });
}

}  // namespace

void add_experiments_verb(CLI::App& app) {
  auto* experiments = app.add_subcommand("experiments", "Experiments of a service, and who may read them");
  experiments->require_subcommand(1);
  auto options = std::make_shared<ExperimentOptions>();
  auto* verb = experiments->add_subcommand("list", "Those that you may read");
  add_service_options(*verb, options->service);
  verb->callback([options] { list(*options); });
  add_change(*experiments, "share", "Everybody with a token may read them and their runs", "shared");
  add_change(*experiments, "unshare", "Only their owner and admins may; of a run also who made it", "private");
  experiments->footer(
      "Examples:\n"
      "  linac experiments list\n"
      "  linac experiments share seeds");
}

}  // namespace linac::cli
