#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "linac/base/base/amounts.h"
#include "linac/base/base/error.h"
#include "linac/base/base/private_file.h"
#include "linac/base/base/utf8.h"
#include "linac/base/plan/prices.h"
#include "linac/cli/common/service_options.h"
#include "linac/cli/control/verbs.h"
#include "linac/control/agent/agent.h"
#include "linac/control/launch/local_launcher.h"

namespace linac::cli {
namespace {

struct AgentWords {
  agent::AgentOptions options;
  std::string server, token_file, folder, idle_exit, time, grace = "2m", machine, region;
  bool spot = false;
};

std::chrono::seconds seconds_or_none(const char* option, const std::string& text) {
  return std::chrono::seconds(text.empty() ? 0 : seconds_of(fmt::format("[agent] {}", option), text));
}

std::string token_in(const std::string& file) {
  constexpr size_t kBytesMax = 4096;
  auto token = read_private_file(file, kBytesMax);
  if (!token) throw user_error(fmt::format("[agent] {}: no such file; `linac agents token` makes a token", file));
  while (!token->empty() && std::isspace(static_cast<unsigned char>(token->back())) != 0) token->pop_back();
  return *token;
}

// By the price book.
double price_of(const AgentWords& words) {
  if (words.machine.empty()) {
    if (words.spot || !words.region.empty()) throw user_error("[agent] --spot, --region: are for --machine; name it");
    if (!std::isfinite(words.options.price)) throw user_error("[agent] --price: no number");  // CLI11 takes nan
    return words.options.price;
  }
  const plan::Book book = plan::read_book();
  const auto market = words.spot ? plan::Market::kSpot : plan::Market::kOnDemand;
  const plan::Price* const price = book.price(words.machine, market, words.region);
  if (price == nullptr)
    throw user_error(
        fmt::format("[agent] --machine {}: the price book has no price of it{}{}; give --price, or see "
                    "`linac plan prices`",
                    printable(words.machine), words.spot ? " as spot" : "",
                    words.region.empty() ? "" : " in " + printable(words.region)));
  return price->usd_per_hour;
}

void run(const AgentWords& words) {
  agent::AgentOptions options = words.options;
  options.login = client::find_login(words.server);
  if (!words.token_file.empty()) options.login.token = token_in(words.token_file);
  options.token_file = words.token_file;
  options.price = price_of(words);
  options.folder = words.folder;
  options.idle_exit = seconds_or_none("--idle-exit", words.idle_exit);
  options.time_left = seconds_or_none("--time", words.time);
  options.grace = seconds_or_none("--grace", words.grace);
  if (options.time_left.count() > 0 && options.time_left <= options.grace)
    throw user_error(fmt::format("[agent] --time {} leaves nothing beside --grace {}", words.time, words.grace));
  options.program = launch::this_program();
  if (const int status = agent::run_agent(options); status != 0) throw CLI::RuntimeError(status);
}

}  // namespace

void add_agent_verb(CLI::App& app) {
  auto words = std::make_shared<AgentWords>();
  agent::AgentOptions& options = words->options;
  auto* verb =
      app.add_subcommand("agent", "Takes jobs of a service (--on pilots) by outgoing connections, and runs them here");
  verb->add_option("--server", words->server, "the service (default: LINAC_SERVER, else the last login)");
  verb->add_option("--token-file", words->token_file,
                   "with the token that `linac agents token` made (default: LINAC_TOKEN, else the login)");
  verb->add_option("--name", options.name, "for people (default: the host's)");
  verb->add_option("--folder", words->folder,
                   "where it works; kept, so that the next agent there hands in what this one could not (default: one "
                   "below TMPDIR that goes with it)");
  verb->add_option("--slots", options.slots,
                   "what jobs may have, e.g. cores=8,memory=32G,gpus=2 (default: the whole host); processes=512: for "
                   "each core of a job");
  verb->add_option("--tags", options.tags, "words that jobs may ask for (`linac submit --tags`)")->delimiter(',');
  auto* price =
      verb->add_option("--price", options.price,
                       "US dollars for an hour of this host: of the agents that could have a job the cheapest "
                       "gets it (default: 0)")
          ->check(CLI::Range(0.0, 1e6));
  verb->add_option("--machine", words->machine, "the price is that of this machine in the price book")->excludes(price);
  verb->add_option("--region", words->region, "with --machine: its price there (default: the cheapest)");
  verb->add_flag("--spot", words->spot, "with --machine: that of hosts which may be taken away");
  verb->add_flag("--once", options.once, "one job, then it ends");
  verb->add_option("--idle-exit", words->idle_exit, "ends after so long without work, e.g. 10m");
  verb->add_option("--time", words->time,
                   "that it has here, e.g. 24h: it takes no job whose limit is longer, and drains before the end");
  verb->add_option("--grace", words->grace, "of that, for checkpoints and handing in")->capture_default_str();
  verb->add_flag("--own", options.only_own, "only jobs of the token's user, also with a token for those of all");
  verb->add_flag("--trust-jobs", options.trust_jobs,
                 "jobs of other users run without a sandbox: they can do all that this account can");
  verb->footer(
      "Examples:\n"
      "  linac agents token > token && chmod 600 token\n"
      "  linac agent --server https://linac.example.org --token-file token\n"
      "  sbatch --time=24:00:00 --cpus-per-task=16 --wrap 'linac agent --time 24h --idle-exit 10m --token-file "
      "~/token'\n"
      "  linac agent --slots cores=4 --tags site=T2,data --once\n"
      "  linac agent --machine gcp/v100x1 --spot      # beside agents elsewhere: the cheaper takes the job");
  verb->callback([words] { run(*words); });
}

}  // namespace linac::cli
