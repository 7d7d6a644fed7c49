#pragma once
// Who am I, how many are we, and where do we meet: read from the environment that the launcher of the processes made.
// Values only, nothing is opened. Pure functions of the lookup given, so thread-safe if the lookup is.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "linac/base/base/cores.h"

namespace linac::comm {

inline constexpr int kMaxWorldSize = 4096;

/// Ports to listen at, the first free one of them; both 0: any that the system gives.
struct PortRange {
  int first = 0, last = 0;
};

struct Rendezvous {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;        // among the workers of this machine
  int local_world_size = 1;  // how many they are; where the launcher does not tell, those that are certain
  int cores = 0;             // that the launcher granted each of them; 0 where it does not tell
  Binding binding = Binding::kNone;
  std::string master_addr = "127.0.0.1";
  int master_port = 0;       // 0 only where no meeting is needed (a lone process)
  bool agent_store = false;  // the launcher already hosts the store at master_addr:master_port, so rank 0 must not
  int attempt = 0;           // how often the launcher restarted the group: keys of earlier attempts must not be seen
  std::string interface {};  // network interface for the data, e.g. "ib0"; empty: the one that leads to the master
  std::string group{};       // of workers that reach each other directly; empty: this one is alone, or all do
  std::string relay_pass{};  // that a relay with a list wants to see (io/relay/access.h); empty: none
  std::string relay{};       // by which those of other groups are reached (io/relay/relays.h); empty: directly
  int patience_s = 0;        // that the workers of a start wait for each other; 0: as the settings have it
  std::string advertise{};   // where others find this worker, if not at the address that it listens at
  PortRange ports{};
  int tasks_of_script = 0;  // above 0: Slurm's batch script, which is none of the job's so many tasks
  std::string source{};     // for messages: "torchrun", "TF_CONFIG", "OpenMPI", "Hydra", "Slurm" or "a lone process"
};

/// The value of an environment variable, or nothing when it is unset.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// Looks the variables up in this process's environment.
std::optional<std::string> process_environment(const std::string& name);

/// The first of these that is present decides, the most explicit first; the variables of the others are not looked at:
///   1. torchrun and linac's own launchers: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT,
///      TORCHELASTIC_USE_AGENT_STORE, TORCHELASTIC_RESTART_COUNT
///   2. TF_CONFIG: the cluster's chief and workers are ranks 0, 1, ... in that order; the first one is the master
///   3. OpenMPI: OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK
///   4. Hydra, that is MPICH and Intel MPI: PMI_RANK, PMI_SIZE, MPI_LOCALRANKID; MASTER_PORT has to be set, and
///      MASTER_ADDR too if they are on several machines
///   5. Slurm: SLURM_PROCID, SLURM_STEP_NUM_TASKS or SLURM_NTASKS, SLURM_LOCALID; the master is the first host of
///      SLURM_STEP_NODELIST or SLURM_JOB_NODELIST, the port follows from SLURM_JOB_ID. The batch script itself, which
///      has a SLURM_PROCID but no SLURM_STEP_ID, is a lone process
///   6. a lone process
/// The workers of this machine are counted by LOCAL_WORLD_SIZE, whatever the launcher, else by: all of them where the
/// master is at a loopback address (1); the tasks with the same host (2); OMPI_COMM_WORLD_LOCAL_SIZE (3);
/// MPI_LOCALNRANKS (4); SLURM_STEP_TASKS_PER_NODE or SLURM_TASKS_PER_NODE at SLURM_NODEID, or SLURM_NTASKS_PER_NODE
/// (5). SLURM_CPUS_PER_TASK says how many cores each has. MASTER_ADDR and MASTER_PORT override what 3 and 5 derive.
/// GLOO_SOCKET_IFNAME names the interface in all cases. LINAC_GROUPS ("farm:8,k8s:16") says that these are the workers
/// of one group of several, LINAC_GROUP which: the ranks of the groups follow each other in that order, and what is
/// said above of all workers is of those of the group. LINAC_RELAY leads to the others, and LINAC_MEET_TIMEOUT says how
/// many seconds these may come later. Missing, malformed, out-of-range or contradictory values are user errors that
/// name the variable.
Rendezvous rendezvous_from_environment(const EnvironmentLookup& environment = process_environment);

/// The local rank of a worker that joins a run: LOCAL_RANK, which it has without a RANK too, else as `meet` says. User
/// error when LOCAL_RANK is no such number.
int local_rank_of_newcomer(const Rendezvous& meet, const EnvironmentLookup& environment = process_environment);

/// So many devices are to be emulated by the processor (LINAC_EMULATED_DEVICES), for tests; 0: none. User error when it
/// is no such number.
int emulated_devices(const EnvironmentLookup& environment = process_environment);

/// The first host of a Slurm node list: "node[03-07,9],login1" -> "node03". User error when it is malformed.
std::string first_host(std::string_view nodelist);

/// The tasks of a node in Slurm's list of them: node 2 of "2(x3),1" has 2, node 3 has 1. Nothing when the list does not
/// say so.
std::optional<int> tasks_of_node(std::string_view list, int node);

/// How many cores this worker may keep busy, beside the others of its machine; at least 1.
int cores_of_worker(const Rendezvous& meet, const Cores& cores);

}  // namespace linac::comm
