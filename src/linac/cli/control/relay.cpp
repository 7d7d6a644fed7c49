#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <future>
#include <memory>
#include <string>

#include "linac/base/base/amounts.h"
#include "linac/base/base/log.h"
#include "linac/base/base/signals.h"
#include "linac/cli/control/verbs.h"
#include "linac/io/relay/addresses.h"
#include "linac/io/relay/server.h"

namespace linac::cli {
namespace {

constexpr auto kLook = std::chrono::milliseconds(100);

struct RelayOptions {
  std::string listen, idle = "24h";
  relay::ServerLimits limits;
};

void run(const RelayOptions& options) {
  relay::ServerLimits limits = options.limits;
  limits.idle = std::chrono::seconds(seconds_of("[relay] --idle", options.idle));
  Descriptor listener = relay::listen_at(relay::look_up(options.listen, "--listen", true));
  catch_stop_signals();
  relay::Server server(limits);
  fmt::print("LINAC_RELAY={}\n", relay::listening_at(listener.get()));
  std::fflush(stdout);
  server.listen(std::move(listener));
  auto work = std::async(std::launch::async, [&] { server.run(); });
  while (stop_signal() == 0 && work.wait_for(kLook) != std::future_status::ready) {
  }
  server.stop();
  work.get();
  const relay::ServerFacts facts = server.facts();
  log::info(fmt::format("[relay] {} connections, {} refused, {} pairs, {} bytes", facts.accepted, facts.refused,
                        facts.joined, facts.bytes));
}

}  // namespace

void add_relay_verb(CLI::App& app) {
  auto options = std::make_shared<RelayOptions>();
  auto* verb = app.add_subcommand(
      "relay", "Joins workers of one training that are at places which take no connections from outside");
  verb->add_option("--listen", options->listen, "HOST:PORT at which workers of all places reach it; port 0: a free one")
      ->required();
  verb->add_option("--connections", options->limits.connections, "of all runs at the same time, at most")
      ->check(CLI::Range(16, 1'000'000))
      ->capture_default_str();
  verb->add_option("--of-a-run", options->limits.connections_of_room, "connections of one run, at most")
      ->check(CLI::Range(4, 1'000'000))
      ->capture_default_str();
  verb->add_option("--idle", options->idle, "a link over which nothing goes for so long is closed")
      ->capture_default_str();
  verb->footer(
      "Examples:\n"
      "  linac relay --listen 0.0.0.0:4711\n"
      "  export LINAC_RELAY=relay.example.org:4711 LINAC_RUN_KEY=$(openssl rand -hex 32)    # of all workers\n"
      "  LINAC_GROUPS=farm:1,cloud:1 LINAC_GROUP=farm linac train job.yaml     # and LINAC_GROUP=cloud elsewhere\n"
      "It sees who talks to whom and how much, and nothing of what they say: links are TLS with the run's key.");
  verb->callback([options] { run(*options); });
}

}  // namespace linac::cli
