#include <fmt/format.h>

#include <memory>
#include <tuple>

#include "linac/base/base/answer_within.h"
#include "linac/base/base/error.h"
#include "linac/train/comm/group.h"
#include "linac/train/comm/meeting/founding.h"
#include "linac/train/comm/meeting/run_key.h"
#include "linac/train/comm/meeting/sockets.h"
#include "linac/train/comm/membership/view_ledger.h"
#include "linac/train/comm/transport/membership_node.h"
#include "linac/train/comm/transport/relayed_stores.h"
#include "linac/train/comm/transport/secure_link.h"
#include "linac/train/comm/transport/tcp_group.h"
#include "linac/train/comm/transport/ways.h"

namespace linac::comm {
namespace {

// Network disks show a new file late.
constexpr auto kKeyPatience = std::chrono::seconds(10);
// What those call a run who have yet to hear its name.
constexpr const char* kMeeting = "meeting";

class LoneGroup : public Group {
 public:
  LoneGroup() : Group(0, 1) {}

 private:
  explicit LoneGroup(Part part) : Group(std::move(part)) {}

  // With one rank there is no peer to name.
  void exchange_bytes(std::span<const Outward>, std::span<const Inward>, int) override { LINAC_CHECK(false); }
  std::unique_ptr<Group> open_part(Part part) override {
    return std::unique_ptr<Group>(new LoneGroup(std::move(part)));
  }
  void close() noexcept override {}
};

Ledger ledger_of(const GroupSettings& settings, const std::string& run) {
  if (settings.folder.empty()) return {};
  return [ledger = ViewLedger(settings.folder / "views", run)](int64_t number, const View& next) {
    return ledger.note(number, next);
  };
}

// A disk that does not answer tells nothing of who shares it: as if nobody did.
std::string folder_mark(const GroupSettings& settings, const std::string& run) {
  if (settings.folder.empty()) return "";
  return answer_within(settings.stall_timeout / 2, std::string(),
                       [ledger = ViewLedger(settings.folder / "views", run)] { return ledger.folder_mark(); });
}

// `begins`: the run, so that the key is to be made.
RunKey find_key(const GroupSettings& settings, bool begins) {
  const auto key = ask_within(settings.stall_timeout, [folder = settings.folder, begins] {
    if (const auto key = key_of_environment()) return *key;
    return begins && !folder.empty() ? make_key_in(folder) : read_key_in(folder, kKeyPatience);
  });
  if (key) return *key;
  throw environment_error(fmt::format("[comm] {}: the disk does not answer", settings.folder.string()));
}

// Null: no relay is named. Who else knows the run's key belongs to its room.
std::shared_ptr<const relay::Relays> relays_of(const Rendezvous& meet, const RunKey& key) {
  if (meet.relay.empty()) return nullptr;
  const auto seed = relay::seed_in(key.text());
  LINAC_CHECK(seed);
  return std::make_shared<const relay::Relays>(meet.relay, "LINAC_RELAY", relay::seed_of_run(*seed), meet.relay_pass);
}

// A disk that does not answer has no earlier run.
std::string name_run(const GroupSettings& settings) {
  const std::filesystem::path none;
  if (settings.folder.empty()) return ViewLedger::next_run(none);
  return answer_within(settings.stall_timeout / 2, ViewLedger::next_run(none),
                       [views = settings.folder / "views"] { return ViewLedger::next_run(views); });
}

// `other`: where those are that this worker is to meet.
MembershipNode::Settings node_settings(const Rendezvous& meet, const GroupSettings& settings, const std::string& other,
                                       const std::string& run, const RunKey& key,
                                       std::shared_ptr<const relay::Relays> relays) {
  std::string listen = settings.listen;
  // What is sent to an advertised host may arrive at any address of this machine.
  if (listen.empty())
    listen = meet.advertise.empty() || !meet.interface.empty() ? own_address(meet, other) : any_address();
  if (is_any_address(listen) && meet.advertise.empty()) {
    throw user_error(fmt::format(
        "[comm] --listen {} takes every address of this machine, so others do not know which; set LINAC_ADVERTISE to "
        "the one at which they find it",
        listen));
  }
  return {.host = listen,
          .advertise = meet.advertise.empty() ? "" : advertised_address(meet.advertise),
          .ports = meet.ports,
          .links = std::make_shared<const LinkContext>(key, run),
          .ways = relays ? std::make_shared<const Ways>(std::move(relays), meet.group) : nullptr,
          .ledger = folder_mark(settings, run),
          .members_min = settings.members_min,
          .replicas = settings.replicas,
          .pack = settings.pack,
          .stall_timeout = settings.stall_timeout,
          .on_hang = settings.on_hang};
}

// "RUN@10.0.0.3:41233" -> the run's name and the address.
std::pair<std::string, std::string> split_join_address(const std::string& address) {
  const size_t at = address.find('@');
  if (at == std::string::npos)
    throw user_error(fmt::format("[comm] '{}' is no address of a run; expected RUN@HOST:PORT", address));
  return {address.substr(0, at), address.substr(at + 1)};
}

std::unique_ptr<Group> join_run(const Rendezvous& meet, const GroupSettings& settings) {
  const std::string run = split_join_address(settings.join_addresses.front()).first;
  std::vector<std::string> addresses;
  for (const std::string& address : settings.join_addresses) addresses.push_back(split_join_address(address).second);
  const RunKey key = find_key(settings, false);
  const std::string host = host_in(without_group(addresses.front()));
  auto node = std::make_unique<MembershipNode>(node_settings(meet, settings, host, run, key, relays_of(meet, key)));
  return std::make_unique<TcpGroup>(
      std::move(node), settings.stall_timeout,
      [addresses, ledger = ledger_of(settings, run)](MembershipNode& self) { self.join(addresses, ledger); });
}

// A lone process that others may join.
std::unique_ptr<Group> found_alone(const Rendezvous& meet, const GroupSettings& settings) {
  const std::string run = name_run(settings);
  const RunKey key = find_key(settings, true);
  auto node =
      std::make_unique<MembershipNode>(node_settings(meet, settings, meet.master_addr, run, key, relays_of(meet, key)));
  node->found({.number = 1, .members = {node->self()}, .next_seniority = 1}, ledger_of(settings, run));
  return std::make_unique<TcpGroup>(std::move(node), settings.stall_timeout);
}

std::unique_ptr<Group> found(Founding& founding, const Rendezvous& meet, const GroupSettings& settings,
                             const std::shared_ptr<const relay::Relays>& relays) {
  auto node = std::make_unique<MembershipNode>(
      node_settings(meet, settings, meet.master_addr, founding.run(), founding.key(), relays));
  const View first = founding.meet(node->self());
  node->found(first, ledger_of(settings, founding.run()));
  return std::make_unique<TcpGroup>(std::move(node), settings.stall_timeout);
}

// Of the first meeting: some may still be in a queue.
std::chrono::milliseconds patience(const Rendezvous& meet, const GroupSettings& settings) {
  return meet.patience_s > 0 ? std::chrono::seconds(meet.patience_s) : settings.join_timeout;
}

std::unique_ptr<Group> found_run(const Rendezvous& meet, const GroupSettings& settings, const Stores& stores) {
  Founding founding(
      meet, stores, patience(meet, settings), [&] { return find_key(settings, meet.rank == 0); },
      [&] { return name_run(settings); });
  return found(founding, meet, settings, nullptr);
}

// At no host of theirs, but by the relay: groups whose hosts take no connections from outside.
std::unique_ptr<Group> found_by_relay(const Rendezvous& meet, const GroupSettings& settings, const Stores& stores) {
  const auto key = key_of_environment();
  if (!key)
    throw user_error(
        fmt::format("[comm] {} is not set (LINAC_RELAY is set, and groups that meet by a relay share no "
                    "folder); give all workers the same, as `openssl rand -hex 32` makes it",
                    kRunKeyVariable));
  const auto relays = relays_of(meet, *key);
  Rendezvous there = meet;
  std::tie(there.master_addr, there.master_port) = relays->host_and_port(0);
  there.agent_store = false;
  const RelayedStores by_relay(relays, std::make_shared<const LinkContext>(*key, kMeeting));
  Founding founding(
      there, by_relay, patience(meet, settings), [&] { return *key; }, [&] { return name_run(settings); });
  auto group = found(founding, meet, settings, relays);
  // One is enough: the launcher's store goes away as soon as it has heard it.
  if (meet.agent_store && meet.local_rank == 0) tell_founded(stores, meet, settings.join_timeout);
  return group;
}

}  // namespace

std::unique_ptr<Group> make_lone_group() {
  return std::make_unique<LoneGroup>();
}

std::unique_ptr<Group> make_group(const Rendezvous& rendezvous, const GroupSettings& settings, const Stores& stores) {
  LINAC_CHECK(rendezvous.rank >= 0 && rendezvous.rank < rendezvous.world_size && settings.join_timeout.count() > 0);
  if (rendezvous.world_size > 1 || settings.open || !settings.join_addresses.empty()) raise_descriptor_limit();
  if (!settings.join_addresses.empty()) return join_run(rendezvous, settings);
  if (rendezvous.world_size == 1) {
    return settings.open ? found_alone(rendezvous, settings) : make_lone_group();
  }
  return rendezvous.relay.empty() ? found_run(rendezvous, settings, stores)
                                  : found_by_relay(rendezvous, settings, stores);
}

}  // namespace linac::comm
