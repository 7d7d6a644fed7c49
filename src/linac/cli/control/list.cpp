#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/nearest.h"
#include "linac/base/base/progress.h"
#include "linac/base/base/text_table.h"
#include "linac/base/job/run_states.h"
#include "linac/cli/common/service_options.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/client/metric_names.h"
#include "linac/control/client/runs.h"

namespace linac::cli {
namespace {

using nlohmann::json;

struct ListOptions {
  ServiceOptions service;
  std::string filter, state, user;
  std::vector<std::string> order, experiments, metrics;
  int limit = 50;
};

// Upper or lower case, as people write them.
std::string known_state(const std::string& text) {
  std::string word = text;
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return c == '-' ? '_' : std::toupper(c); });
  if (job::run_state_named(word)) return word;
  std::vector<std::string> all;
  for (const auto& entry : job::kRunStates) all.emplace_back(entry.word);
  const auto near = nearest(word, all);
  throw user_error(fmt::format("[list] --state {}: no state of runs{}; there are {}", text,
                               near ? fmt::format(", did you mean {}?", *near) : "", fmt::join(all, ", ")));
}

std::string filter_of(const ListOptions& options) {
  std::string filter = options.filter.empty() ? "" : "(" + options.filter + ")";
  const auto add = [&](const std::string& condition) { filter += (filter.empty() ? "" : " AND ") + condition; };
  if (!options.state.empty()) add(fmt::format("attributes.state = '{}'", known_state(options.state)));
  if (!options.user.empty()) add(fmt::format("attributes.user_id = '{}'", options.user));
  return filter;
}

// To those who look for what no run has; of the runs that were found, or else of the newest.
void tell_unknown_metrics(const ListOptions& options, client::ServiceClient& service, const json& runs) {
  std::vector<std::string> wanted = options.metrics;
  const auto add = [&](const std::vector<std::string>& more) { wanted.insert(wanted.end(), more.begin(), more.end()); };
  add(client::metrics_in(options.filter));
  for (const std::string& order : options.order) add(client::metrics_in(order));
  std::vector<std::string> known = client::metrics_of(runs);
  if (client::unknown_metrics(wanted, known).empty()) return;
  for (const std::string& name : client::metrics_of(service.get("/api/v1/runs", {{"limit", "200"}}).at("runs")))
    known.push_back(name);
  for (const std::string& words : client::unknown_metrics(wanted, known))
    log::warn("[list] the newest runs have " + words);
}

std::string seconds_since(const json& run) {
  const int64_t begin = run.at("started_ms"), end = run.at("ended_ms");
  return begin == 0 || end == 0 ? "-" : format_duration(1e-3 * static_cast<double>(end - begin));
}

std::string metric(const json& run, const std::string& name) {
  const auto found = run.at("metrics").find(name);
  if (found == run.at("metrics").end()) return "-";
  const json& last = found->at("last");
  return last.is_string() ? last.get<std::string>() : fmt::format("{:.5g}", last.get<double>());
}

void run_list(const ListOptions& options) {
  client::ServiceClient service = options.service.connect();
  client::Query query{{"limit", std::to_string(options.limit)}};
  if (const std::string filter = filter_of(options); !filter.empty()) query.emplace_back("filter", filter);
  for (const std::string& order : options.order) query.emplace_back("order_by", order);
  for (const std::string& experiment : options.experiments)
    query.emplace_back("experiment", client::experiment_number(service, experiment));
  const json answer = service.get("/api/v1/runs", query);
  if (options.service.json) {
    fmt::print("{}\n", answer.dump(2));
    return;
  }
  std::vector<std::vector<std::string>> rows{{"ID", "NAME", "STATE", "USER", "STARTED", "TOOK"}};
  rows[0].insert(rows[0].end(), options.metrics.begin(), options.metrics.end());
  for (const json& run : answer.at("runs")) {
    rows.push_back({run.at("id"), run.at("name"), run.at("state"), run.at("user"),
                    client::time_words(run.at("started_ms")), seconds_since(run)});
    for (const std::string& name : options.metrics) rows.back().push_back(metric(run, name));
  }
  fmt::print("{}", lined_up(rows));
  tell_unknown_metrics(options, service, answer.at("runs"));
  if (const std::string next = answer.value("next", ""); !next.empty())
    fmt::print("there are more; --limit shows them, --filter narrows\n");
}

}  // namespace

void add_list_verb(CLI::App& app) {
  auto options = std::make_shared<ListOptions>();
  auto* verb = app.add_subcommand("list", "Runs that a service knows, the newest first");
  verb->add_option("--filter", options->filter, "e.g. \"metrics.auc > 0.9 AND params.train.seed = '1'\"");
  verb->add_option("--sort", options->order, "e.g. \"metrics.auc DESC\"; several count in turn")
      ->type_size(1)
      ->allow_extra_args(false);
  verb->add_option("--state", options->state, "PENDING, RUNNING, SUCCEEDED, FAILED, CANCELLED, ...");
  verb->add_option("--user", options->user, "whose runs");
  verb->add_option("--experiment", options->experiments, "name or number; default: all");
  verb->add_option("--metrics", options->metrics, "show the last values of these")->delimiter(',');
  verb->add_option("--limit", options->limit, "at most so many (default: 50)")->check(CLI::Range(1, 5000));
  add_service_options(*verb, options->service);
  verb->footer(
      "Examples:\n"
      "  linac list --state RUNNING\n"
      "  linac list --filter \"metrics.`test/auc` > 0.9\" --sort \"metrics.`test/auc` DESC\" --metrics test/auc,loss\n"
      "  linac list --experiment seeds --json");
  verb->callback([options] { run_list(*options); });
}

}  // namespace linac::cli
