#include "linac/train/comm/meeting/tf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "linac/base/base/error.h"

namespace linac::comm {
namespace {

using nlohmann::json;

constexpr size_t kMaxBytes = 1 << 20;

Error wrong(const std::string& what) {
  return user_error(fmt::format("[rendezvous] TF_CONFIG: {}; correct or unset TF_CONFIG", what));
}

struct Address {
  std::string host;
  int port = 0;
};

Address parse_address(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) throw wrong(fmt::format("'{}' is not host:port", text.substr(0, 200)));
  Address address{text.substr(0, colon)};
  if (address.host.front() == '[' && address.host.back() == ']') {  // an IPv6 literal
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  const char* const end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (status != std::errc{} || stop != end || address.port < 1 || address.port > 65535) {
    throw wrong(fmt::format("'{}' has no port from 1 to 65535", text.substr(0, 200)));
  }
  return address;
}

std::vector<Address> addresses_of(const json& cluster, const char* type) {
  std::vector<Address> addresses;
  if (!cluster.contains(type)) return addresses;
  const json& list = cluster[type];
  if (!list.is_array() || list.size() > kMaxWorldSize) {
    throw wrong(fmt::format("cluster.{} is not a list of at most {} addresses", type, kMaxWorldSize));
  }
  for (const json& entry : list) {
    if (!entry.is_string()) throw wrong(fmt::format("cluster.{} holds something else than text", type));
    addresses.push_back(parse_address(entry.get<std::string>()));
  }
  return addresses;
}

// Launchers write the index as a number or as text.
int task_index(const json& task, size_t tasks) {
  const json index = task.value("index", json(0));
  int64_t number = -1;
  if (index.is_number_integer()) {
    number = index.get<int64_t>();
  } else if (index.is_string()) {
    const auto text = index.get<std::string>();
    const char* const end = text.data() + text.size();
    const auto [stop, status] = std::from_chars(text.data(), end, number);
    if (status != std::errc{} || stop != end) number = -1;
  }
  if (number < 0 || number >= static_cast<int64_t>(tasks)) {
    throw wrong(
        fmt::format("task.index {} is not from 0 to {}", index.dump().substr(0, 100), static_cast<int64_t>(tasks) - 1));
  }
  return static_cast<int>(number);
}

}  // namespace

Rendezvous rendezvous_from_tf_config(const std::string& text) {
  if (text.size() > kMaxBytes) throw wrong("longer than 1 MiB");
  const json config = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) throw wrong("not a JSON object");
  Rendezvous meet{.source = "TF_CONFIG"};
  if (!config.contains("cluster") || (config["cluster"].is_object() && config["cluster"].empty())) return meet;
  const json& cluster = config["cluster"];
  if (!cluster.is_object()) throw wrong("cluster is not an object");
  const json task = config.value("task", json());
  if (!task.is_object() || !task.contains("type") || !task["type"].is_string()) throw wrong("task.type is missing");
  const auto type = task["type"].get<std::string>();
  if (type != "chief" && type != "master" && type != "worker") {
    throw wrong(fmt::format("task.type '{}' has no work in linac (chief and worker have)", type.substr(0, 100)));
  }

  std::vector<Address> all;
  int first_of_type = 0;
  size_t tasks_of_type = 0;
  for (const char* const kind : {"chief", "master", "worker"}) {
    const auto addresses = addresses_of(cluster, kind);
    if (type == kind) {
      first_of_type = static_cast<int>(all.size());
      tasks_of_type = addresses.size();
    }
    all.insert(all.end(), addresses.begin(), addresses.end());
  }
  if (tasks_of_type == 0) throw wrong(fmt::format("cluster.{} is missing though task.type names it", type));
  if (all.size() > kMaxWorldSize) throw wrong(fmt::format("more than {} workers", kMaxWorldSize));

  meet.rank = first_of_type + task_index(task, tasks_of_type);
  meet.world_size = static_cast<int>(all.size());
  const std::string& host = all[meet.rank].host;
  const auto on_host = [&](const Address& one) { return one.host == host; };
  meet.local_rank = static_cast<int>(std::count_if(all.begin(), all.begin() + meet.rank, on_host));
  meet.local_world_size = static_cast<int>(std::count_if(all.begin(), all.end(), on_host));
  meet.master_addr = all.front().host;
  meet.master_port = all.front().port;
  return meet;
}

}  // namespace linac::comm
