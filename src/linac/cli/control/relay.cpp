#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>

#include "linac/base/base/amounts.h"
#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/signals.h"
#include "linac/cli/control/verbs.h"
#include "linac/io/relay/access.h"
#include "linac/io/relay/addresses.h"
#include "linac/io/relay/server.h"

namespace linac::cli {
namespace {

constexpr auto kLook = std::chrono::milliseconds(100);
constexpr int kLooksAList = 10;  // until the list is read again

struct RelayOptions {
  std::string listen, idle = "24h", allow, key;
  relay::ServerLimits limits;
};

/// The list of who may, as it stands in its file.
class AllowList {
 public:
  AllowList(std::string file, relay::Server& server) : file_(std::move(file)), server_(server) {
    if (file_.empty()) return;
    read_ = read_file(file_);
    server_.allow(relay::Access(read_, file_));
  }

  /// A file that has become none leaves the list as it was: who writes it may be in the midst of it.
  void look_again() {
    if (file_.empty()) return;
    std::string now;
    try {
      now = read_file(file_);
      if (now == read_) return;
      server_.allow(relay::Access(now, file_));
      log::info(fmt::format("[relay] {}: read again", file_));
      wrong_.clear();
    } catch (const Error& error) {
      if (wrong_ != error.what()) log::warn(fmt::format("{} (the former list holds)", error.what()));
      wrong_ = error.what();
    }
    read_ = now;
  }

 private:
  const std::string file_;
  relay::Server& server_;
  std::string read_, wrong_;
};

void run(const RelayOptions& options) {
  if (options.listen.empty()) throw user_error("[relay] --listen: is needed, e.g. --listen 0.0.0.0:4711");
  relay::ServerLimits limits = options.limits;
  limits.idle = std::chrono::seconds(seconds_of("[relay] --idle", options.idle));
  Descriptor listener = relay::listen_at(relay::look_up(options.listen, "--listen", true));
  catch_stop_signals();
  relay::Server server(limits);
  AllowList list(options.allow, server);
  fmt::print("LINAC_RELAY={}\n", relay::listening_at(listener.get()));
  std::fflush(stdout);
  server.listen(std::move(listener));
  auto work = std::async(std::launch::async, [&] { server.run(); });
  for (int looks = 1; stop_signal() == 0 && work.wait_for(kLook) != std::future_status::ready; ++looks)
    if (looks % kLooksAList == 0) list.look_again();
  server.stop();
  work.get();
  const relay::ServerFacts facts = server.facts();
  log::info(fmt::format("[relay] {} connections, {} refused, {} of them not on the list, {} pairs, {} bytes",
                        facts.accepted, facts.refused, facts.strangers, facts.joined, facts.bytes));
}

void print_pass(const std::string& file) {
  const char* const text = std::getenv("LINAC_RUN_KEY");
  const auto key = text == nullptr ? std::nullopt : relay::seed_in(text);
  if (!key)
    throw user_error("[relay] LINAC_RUN_KEY: is not the key of a run; export what `openssl rand -hex 32` prints");
  const relay::Identity run(relay::seed_of_run(*key));
  if (!file.empty()) fmt::print("LINAC_RELAY_PASS={}\n", relay::make_pass(relay::read_user_key(file), run.room()));
  if (file.empty()) fmt::print("run {}\n", run.room());
}

}  // namespace

void add_relay_verb(CLI::App& app) {
  auto options = std::make_shared<RelayOptions>();
  auto* verb = app.add_subcommand(
      "relay", "Joins workers of one training that are at places which take no connections from outside");
  verb->add_option("--listen", options->listen,
                   "HOST:PORT at which workers of all places reach it; port 0: a free one");
  verb->add_option("--allow", options->allow,
                   "a file that lists who may use it, read again when it changes (default: whoever reaches it)");
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
      "  linac relay key ~/.config/linac/relay.key      # prints `user KEY`, a line for the list of a relay\n"
      "  linac relay --listen 0.0.0.0:4711 --allow list.txt\n"
      "  linac launch job.yaml --on farm:8,k8s:16 --relay-key ~/.config/linac/relay.key\n"
      "A line of the list, and # begins a remark:\n"
      "  network 10.1.0.0/16    who calls from there\n"
      "  user KEY               runs of who has that key\n"
      "  run ROOM               that run, as `linac relay pass` tells it\n"
      "Where networks are listed, a connection comes from one; where users or runs are, it is of one.\n"
      "It sees who talks to whom and how much, and nothing of what they say: links are TLS with the run's key.");
  auto* key = verb->add_subcommand("key", "Makes the key of a user, if it is not there, and prints his line of a list");
  key->add_option("file", options->key, "of the key; for its owner alone")->required();
  key->footer("Example:\n  linac relay key ~/.config/linac/relay.key");
  key->callback([options] { fmt::print("user {}\n", relay::make_user_key(options->key).room()); });
  auto* pass = verb->add_subcommand("pass", "Prints the pass of a user's run, by LINAC_RUN_KEY, for workers by hand");
  pass->add_option("file", options->key, "of the user's key (default: prints the run's own line of a list)");
  pass->footer(
      "Example:\n  export LINAC_RUN_KEY=$(openssl rand -hex 32) && linac relay pass ~/.config/linac/relay.key");
  pass->callback([options] { print_pass(options->key); });
  verb->callback([verb, options] {
    if (verb->get_subcommands().empty()) run(*options);
  });
}

}  // namespace linac::cli
