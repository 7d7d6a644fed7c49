#include "linac/train/comm/meeting/rendezvous.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <utility>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/fnv1a.h"
#include "linac/base/base/utf8.h"
#include "linac/io/relay/access.h"
#include "linac/train/comm/meeting/environment_reader.h"
#include "linac/train/comm/meeting/sockets.h"
#include "linac/train/comm/meeting/tf_config.h"

namespace linac::comm {
namespace {

// Ports derived from a job's number lie below Linux's ephemeral range (32768 and up), so that no client holds them.
constexpr int kFirstDerivedPort = 10000;
constexpr int kDerivedPorts = 20000;
constexpr size_t kGroupNameMax = 100;
constexpr int kPatienceMax = 30 * 24 * 3600;

void check_consistent(const Rendezvous& meet, const char* rank_name, const char* size_name,
                      const char* local_rank_name) {
  if (meet.rank >= meet.world_size) {
    throw user_error(fmt::format("[rendezvous] {}={} must be below {}={}; correct the launcher's environment",
                                 rank_name, meet.rank, size_name, meet.world_size));
  }
  if (meet.local_rank > meet.rank) {
    throw user_error(fmt::format("[rendezvous] {}={} cannot exceed {}={}; correct the launcher's environment",
                                 local_rank_name, meet.local_rank, rank_name, meet.rank));
  }
}

Rendezvous from_torchrun(const EnvironmentReader& env) {
  Rendezvous meet{.source = "torchrun"};
  meet.rank = env.required_int("RANK", 0, kMaxWorldSize - 1, "WORLD_SIZE is set");
  meet.world_size = env.required_int("WORLD_SIZE", 1, kMaxWorldSize, "RANK is set");
  meet.local_rank = env.optional_int("LOCAL_RANK", 0, kMaxWorldSize - 1).value_or(0);
  meet.agent_store = env.text("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
  meet.attempt = env.optional_int("TORCHELASTIC_RESTART_COUNT", 0, 1'000'000).value_or(0);
  check_consistent(meet, "RANK", "WORLD_SIZE", "LOCAL_RANK");
  if (meet.world_size > 1) {
    meet.master_addr = env.required_text("MASTER_ADDR", "WORLD_SIZE is above 1");
    meet.master_port = env.required_int("MASTER_PORT", 1, 65535, "WORLD_SIZE is above 1");
    meet.local_world_size = is_loopback(meet.master_addr) ? meet.world_size : meet.local_rank + 1;
  }
  return meet;
}

int derived_port(uint64_t number) {
  return kFirstDerivedPort + static_cast<int>(number % kDerivedPorts);
}

// The numbers that an mpirun gives each process, by the names that it has for them.
Rendezvous numbered(const char* source, const EnvironmentReader& env, const char* rank, const char* size,
                    const char* local_rank) {
  Rendezvous meet{.binding = Binding::kEach, .source = source};
  meet.rank = env.required_int(rank, 0, kMaxWorldSize - 1, fmt::format("{} is set", size));
  meet.world_size = env.required_int(size, 1, kMaxWorldSize, fmt::format("{} is set", rank));
  meet.local_rank = env.optional_int(local_rank, 0, kMaxWorldSize - 1).value_or(0);
  check_consistent(meet, rank, size, local_rank);
  return meet;
}

Rendezvous from_openmpi(const EnvironmentReader& env) {
  Rendezvous meet =
      numbered("OpenMPI", env, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK");
  if (meet.world_size == 1) return meet;

  const auto here = env.optional_int("OMPI_COMM_WORLD_LOCAL_SIZE", 1, kMaxWorldSize);
  meet.local_world_size = here.value_or(meet.local_rank + 1);
  const auto addr = env.text("MASTER_ADDR");
  if (!addr && here != meet.world_size) {
    throw user_error(
        "[rendezvous] MASTER_ADDR is not set (mpirun started workers on several machines and does not tell where rank "
        "0 is); use mpirun -x MASTER_ADDR=<host of rank 0> -x MASTER_PORT=<free port>");
  }
  meet.master_addr = addr.value_or("127.0.0.1");
  // The namespace (OpenMPI 5) or job number (OpenMPI 4) is the same in all processes of one mpirun and differs between
  // two of them.
  const auto job = env.text("PMIX_NAMESPACE").value_or(env.text("OMPI_MCA_ess_base_jobid").value_or("linac"));
  meet.master_port = env.optional_int("MASTER_PORT", 1, 65535).value_or(derived_port(fnv1a_64(job)));
  return meet;
}

// Slurm's own PMI sets the first two as well, but not the other ones.
bool is_hydra(const EnvironmentReader& env) {
  return env.text("PMI_RANK") && env.text("PMI_SIZE") && env.text("MPI_LOCALRANKID");
}

Rendezvous from_hydra(const EnvironmentReader& env) {
  Rendezvous meet = numbered("Hydra", env, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID");
  if (meet.world_size == 1) return meet;

  const auto here = env.optional_int("MPI_LOCALNRANKS", 1, kMaxWorldSize);
  meet.local_world_size = here.value_or(meet.local_rank + 1);
  const auto addr = env.text("MASTER_ADDR");
  const auto port = env.optional_int("MASTER_PORT", 1, 65535);
  if (!port || (!addr && here != meet.world_size)) {
    throw user_error(
        "[rendezvous] MASTER_ADDR or MASTER_PORT is not set (mpiexec of MPICH or Intel MPI does not tell where rank 0 "
        "is, nor which run this is); use mpiexec -genv MASTER_ADDR <host of rank 0> -genv MASTER_PORT <free port>");
  }
  meet.master_addr = addr.value_or("127.0.0.1");
  meet.master_port = *port;
  return meet;
}

int slurm_tasks_here(const EnvironmentReader& env, int certain) {
  const int node = env.optional_int("SLURM_NODEID", 0, INT32_MAX).value_or(0);
  for (const char* const name : {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}) {
    const auto list = env.text(name);
    if (const auto tasks = list ? tasks_of_node(*list, node) : std::nullopt) return std::max(certain, *tasks);
  }
  return std::max(certain, env.optional_int("SLURM_NTASKS_PER_NODE", 1, kMaxWorldSize).value_or(1));
}

Rendezvous from_slurm(const EnvironmentReader& env) {
  Rendezvous meet{.binding = Binding::kEach, .source = "Slurm"};
  // Within a step the step's number of tasks counts: SLURM_NTASKS stays that of the job when srun starts fewer.
  const char* const size_name = env.text("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  meet.rank = env.required_int("SLURM_PROCID", 0, kMaxWorldSize - 1, "SLURM_NTASKS is set");
  meet.world_size = env.required_int(size_name, 1, kMaxWorldSize, "SLURM_PROCID is set");
  meet.local_rank = env.optional_int("SLURM_LOCALID", 0, kMaxWorldSize - 1).value_or(0);
  check_consistent(meet, "SLURM_PROCID", size_name, "SLURM_LOCALID");
  meet.cores = env.optional_int("SLURM_CPUS_PER_TASK", 1, INT32_MAX).value_or(0);
  if (meet.world_size == 1) return meet;
  // In the script of `sbatch --ntasks 4` these are those of the first task, and there are no others before srun.
  if (!env.text("SLURM_STEP_ID") && !env.text("SLURM_STEP_NUM_TASKS"))
    return {.tasks_of_script = meet.world_size, .source = "a lone process"};
  meet.local_world_size = std::min(meet.world_size, slurm_tasks_here(env, meet.local_rank + 1));

  if (const auto addr = env.text("MASTER_ADDR")) {
    meet.master_addr = *addr;
  } else {
    const auto step_nodes = env.text("SLURM_STEP_NODELIST");
    meet.master_addr = first_host(
        step_nodes ? *step_nodes : env.required_text("SLURM_JOB_NODELIST", "SLURM_PROCID is set without MASTER_ADDR"));
  }
  if (const auto port = env.optional_int("MASTER_PORT", 1, 65535)) {
    meet.master_port = *port;
  } else {
    const int job = env.required_int("SLURM_JOB_ID", 0, INT32_MAX, "SLURM_PROCID is set without MASTER_PORT");
    // Steps of one job may run side by side. Steps such as "batch" carry numbers near 2^32, hence the text.
    const auto step = env.text("SLURM_STEP_ID").value_or("0");
    meet.master_port = derived_port(static_cast<uint64_t>(job) + (step == "0" ? 0 : fnv1a_64(step) % kDerivedPorts));
  }
  return meet;
}

PortRange ports_in(const EnvironmentReader& env) {
  const auto text = env.text("LINAC_PORTS");
  if (!text) return {};
  PortRange ports;
  const char* const end = text->data() + text->size();
  auto [at, status] = std::from_chars(text->data(), end, ports.first);
  ports.last = ports.first;
  if (status == std::errc{} && at != end && *at == '-') {
    const auto second = std::from_chars(at + 1, end, ports.last);
    at = second.ptr;
    status = second.ec;
  }
  if (status != std::errc{} || at != end || ports.first < 1 || ports.last < ports.first || ports.last > 65535) {
    throw user_error(
        fmt::format("[rendezvous] LINAC_PORTS='{}' is not a port or a range from 1 to 65535, e.g. "
                    "40000-40100; correct or unset it",
                    text->substr(0, 100)));
  }
  return ports;
}

// Its name, which `variable` has, is part of addresses.
void check_group(const std::string& name, const char* variable) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  if (name.empty() || name.size() > kGroupNameMax || !std::ranges::all_of(name, fits))
    throw user_error(
        fmt::format("[rendezvous] {} names a group '{}': expected at most {} letters, digits and ._-; correct it",
                    variable, printable(name), kGroupNameMax));
}

// "farm:8,k8s:16"
std::vector<std::pair<std::string, int>> groups_in(std::string_view text) {
  std::vector<std::pair<std::string, int>> groups;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string_view one = text.substr(at, end - at);
    const size_t colon = std::min(one.find(':'), one.size());
    at = end + 1;
    int size = 0;
    const char* const last = one.data() + one.size();
    const auto [stop, status] = std::from_chars(one.data() + std::min(colon + 1, one.size()), last, size);
    if (status != std::errc{} || stop != last || size < 1 || size > kMaxWorldSize)
      throw user_error(fmt::format("[rendezvous] LINAC_GROUPS='{}': expected e.g. farm:8,k8s:16; correct it",
                                   printable(std::string(text))));
    groups.emplace_back(one.substr(0, colon), size);
    check_group(groups.back().first, "LINAC_GROUPS");
  }
  return groups;
}

void place_in_groups(Rendezvous& meet, const EnvironmentReader& env) {
  meet.relay = env.text("LINAC_RELAY").value_or("");
  meet.relay_pass = env.text("LINAC_RELAY_PASS").value_or("");
  if (!meet.relay_pass.empty() && !relay::is_pass(meet.relay_pass))
    throw user_error("[rendezvous] LINAC_RELAY_PASS is no pass of a relay; take what `linac relay pass` prints");
  meet.patience_s = env.optional_int("LINAC_MEET_TIMEOUT", 1, kPatienceMax).value_or(0);
  const auto own = env.text("LINAC_GROUP");
  if (own) check_group(meet.group = *own, "LINAC_GROUP");
  const auto text = env.text("LINAC_GROUPS");
  if (!text) return;
  if (!own) throw user_error("[rendezvous] LINAC_GROUP is not set (LINAC_GROUPS is set); let the launcher set it");
  int before = 0, all = 0, here = 0;
  for (const auto& [name, size] : groups_in(*text)) {
    if (name == *own) {
      if (here > 0)
        throw user_error(fmt::format("[rendezvous] LINAC_GROUPS='{}' names {} twice; correct it", *text, name));
      before = all;
      here = size;
    }
    all += size;
  }
  if (here == 0)
    throw user_error(
        fmt::format("[rendezvous] LINAC_GROUP='{}' is none of LINAC_GROUPS='{}'; correct it", *own, *text));
  if (all > kMaxWorldSize)
    throw user_error(
        fmt::format("[rendezvous] LINAC_GROUPS='{}' are more than {} workers; take fewer", *text, kMaxWorldSize));
  // Who starts the workers of its group is none of them.
  if (meet.world_size == 1 && here > 1) return;
  if (meet.world_size != here)
    throw user_error(
        fmt::format("[rendezvous] {} workers were started of the group {}, which has {} in LINAC_GROUPS='{}'",
                    meet.world_size, *own, here, *text));
  if (all > here && meet.relay.empty())
    throw user_error(
        "[rendezvous] LINAC_RELAY is not set (LINAC_GROUPS names several groups); set it to HOST:PORT of `linac "
        "relay`");
  if (meet.world_size == 1 && meet.source == "a lone process") meet.source = "LINAC_GROUPS";
  meet.rank += before;
  meet.world_size = all;
}

}  // namespace

std::optional<std::string> process_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

Rendezvous rendezvous_from_environment(const EnvironmentLookup& environment) {
  const EnvironmentReader env(environment);
  Rendezvous meet{.source = "a lone process"};
  if (env.text("RANK") || env.text("WORLD_SIZE")) {
    meet = from_torchrun(env);
  } else if (const auto config = env.text("TF_CONFIG")) {
    meet = rendezvous_from_tf_config(*config);
  } else if (env.text("OMPI_COMM_WORLD_RANK") || env.text("OMPI_COMM_WORLD_SIZE")) {
    meet = from_openmpi(env);
  } else if (is_hydra(env)) {
    meet = from_hydra(env);
  } else if (env.text("SLURM_PROCID")) {
    meet = from_slurm(env);
  }
  meet.local_world_size = env.optional_int("LOCAL_WORLD_SIZE", 1, kMaxWorldSize).value_or(meet.local_world_size);
  place_in_groups(meet, env);
  meet.interface = env.text("GLOO_SOCKET_IFNAME").value_or("");
  meet.advertise = env.text("LINAC_ADVERTISE").value_or("");
  meet.ports = ports_in(env);
  return meet;
}

int emulated_devices(const EnvironmentLookup& environment) {
  return EnvironmentReader(environment).optional_int("LINAC_EMULATED_DEVICES", 0, 64).value_or(0);
}

int local_rank_of_newcomer(const Rendezvous& meet, const EnvironmentLookup& environment) {
  return EnvironmentReader(environment).optional_int("LOCAL_RANK", 0, kMaxWorldSize - 1).value_or(meet.local_rank);
}

std::string first_host(std::string_view nodelist) {
  const auto malformed = [&] {
    return user_error(fmt::format(
        "[rendezvous] SLURM_STEP_NODELIST or SLURM_JOB_NODELIST: cannot read '{}' (expected e.g. node[03-07,9]); set "
        "MASTER_ADDR to the host of rank 0",
        nodelist.substr(0, 200)));
  };
  std::string host;
  for (size_t i = 0; i < nodelist.size() && nodelist[i] != ','; ++i) {
    if (nodelist[i] == ']') throw malformed();
    if (nodelist[i] != '[') {
      host += nodelist[i];
      continue;
    }
    const size_t close = nodelist.find(']', i);
    if (close == std::string_view::npos) throw malformed();
    const auto ranges = nodelist.substr(i + 1, close - i - 1);
    const auto first = ranges.substr(0, ranges.find_first_of("-,"));
    if (first.empty() || first.find('[') != std::string_view::npos) throw malformed();
    host += first;
    i = close;
  }
  if (host.empty()) throw malformed();
  return host;
}

std::optional<int> tasks_of_node(std::string_view list, int node) {
  int64_t nodes = 0;  // that the groups so far are of
  const char* at = list.data();
  const char* const end = at + list.size();
  const auto positive = [&](int& value) {
    const auto [stop, status] = std::from_chars(at, end, value);
    at = stop;
    return status == std::errc{} && value >= 1;
  };
  while (at != end) {
    int tasks = 0, repeated = 1;
    if (!positive(tasks)) return std::nullopt;
    if (std::string_view(at, end).starts_with("(x")) {
      at += 2;
      if (!positive(repeated) || at == end || *at++ != ')') return std::nullopt;
    }
    nodes += repeated;
    if (node < nodes) return tasks;
    if (at == end || *at++ != ',') return std::nullopt;
  }
  return std::nullopt;
}

int cores_of_worker(const Rendezvous& meet, const Cores& cores) {
  const int share = cores_of_each(cores, meet.local_world_size, meet.binding);
  return meet.cores > 0 ? std::min(meet.cores, share) : share;
}

}  // namespace linac::comm
