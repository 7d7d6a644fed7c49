#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "linac/base/base/clock.h"
#include "linac/base/base/percent.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/text_table.h"
#include "linac/cli/common/service_options.h"
#include "linac/cli/control/launched.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/sites/launching.h"
#include "linac/control/sites/sites_file.h"

namespace linac::cli {
namespace {

using nlohmann::json;

struct TokenWords {
  ServiceOptions service;
  int64_t days = 0;
  std::string note = "agent";
  bool shared = false;
};

std::string ago(int64_t time_ms) {
  const int64_t seconds = std::max<int64_t>(0, (now_ms() - time_ms) / 1000);
  return seconds < 120 ? fmt::format("{} s ago", seconds) : fmt::format("{} min ago", seconds / 60);
}

void list(const ServiceOptions& options) {
  const json answer = options.connect().get("/api/v1/agents");
  if (options.json) {
    fmt::print("{}\n", answer.dump(2));
    return;
  }
  TextRows rows{{"AGENT", "HOST", "USER", "JOBS", "CORES", "GPUS", "USD/H", "TAGS", "SEEN"}};
  for (const json& agent : answer.at("agents"))
    rows.push_back(
        {agent.at("name"), agent.at("host"),
         agent.at("user").get<std::string>() + (agent.at("shared").get<bool>() ? " (for all)" : ""),
         std::to_string(agent.at("jobs").get<int64_t>()) + (agent.at("draining").get<bool>() ? ", draining" : ""),
         fmt::format("{} of {} free", agent.at("cores_free").get<int64_t>(), agent.at("cores").get<int64_t>()),
         std::to_string(agent.at("gpus").get<int64_t>()), fmt::format("{:.3g}", agent.at("price").get<double>()),
         fmt::format("{}", fmt::join(agent.at("tags").get<std::vector<std::string>>(), ",")),
         ago(agent.at("seen_ms"))});
  if (rows.size() == 1)
    fmt::print("no agents; `linac agent` on a host that has time starts one\n");
  else
    fmt::print("{}", lined_up(rows));
}

void make_token(const TokenWords& words) {
  client::ServiceClient service = words.service.connect();
  const std::string user = service.get("/api/v1/me").at("user");
  const json answer =
      service.post(fmt::format("/api/v1/users/{}/tokens", percent_encoded(user)),
                   {{"scope", words.shared ? "shared-agent" : "agent"}, {"days", words.days}, {"note", words.note}});
  if (words.service.json)
    fmt::print("{}\n", answer.dump(2));
  else
    fmt::print("{}\n", answer.at("secret").get<std::string>());
}

struct StartWords {
  std::string site;
  sites::AgentWishes wishes;
  bool dry_run = false;
};

void start(const StartWords& words) {
  const auto site = sites::find_site(words.site);
  const sites::Launch launch = sites::make_agents(*site, words.wishes);
  if (words.dry_run) return print_plan(site->plan(launch));
  const sites::Started started = sites::start(*site, launch, !words.wishes.name.empty());
  const sites::Record& record = started.kept.record;
  fmt::print("{}:{}  {}{}\n  job     {}\n  linac agents list   # once they have begun\n", record.site, record.label,
             plural(started.kept.launch.workers, "agent"), started.found ? ", as launched before" : "", record.id);
}

}  // namespace

void add_agents_verb(CLI::App& app) {
  auto* verb = app.add_subcommand("agents", "Agents that take jobs of a service, and their tokens");
  verb->require_subcommand(1);

  auto listed = std::make_shared<ServiceOptions>();
  auto* list_verb = verb->add_subcommand("list", "Yours, and those that run everybody's jobs");
  add_service_options(*list_verb, *listed);
  list_verb->footer("Example: linac agents list");
  list_verb->callback([listed] { list(*listed); });

  auto words = std::make_shared<TokenWords>();
  auto* token = verb->add_subcommand("token", "Prints a token that takes work and hands it in, and may nothing else");
  token->add_flag("--shared", words->shared, "for everybody's jobs, not only yours; for admins");
  token->add_option("--days", words->days, "until it ends; 0: never")->check(CLI::Range(0, 3650));
  token->add_option("--note", words->note, "what it is for")->capture_default_str();
  add_service_options(*token, words->service);
  token->footer("Example: linac agents token --days 30 > token");
  token->callback([words] { make_token(*words); });

  auto start_words = std::make_shared<StartWords>();
  auto* start_verb = verb->add_subcommand("start", "Agents as jobs of a grid: each takes work of a service");
  start_verb->add_option("--on", start_words->site, "the site, of the kind panda, by its name in the file of sites")
      ->required();
  start_verb->add_option("-n,--count", start_words->wishes.count, "how many")->capture_default_str();
  start_verb->add_option("--time", start_words->wishes.time, "of each, e.g. 12h (default: the site's)");
  start_verb->add_option("--name", start_words->wishes.name,
                         "of the launch (default: agents, time and chance); a second launch of the same name is the "
                         "first");
  start_verb->add_flag("--dry-run", start_words->dry_run, "print what it would be, and do nothing");
  start_verb->footer("Example: linac agents start --on grid -n 50 --time 12h");
  start_verb->callback([start_words] { start(*start_words); });
}

}  // namespace linac::cli
