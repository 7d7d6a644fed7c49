#pragma once
// A launch as a job of Slurm: the settings of such a site, and the script that they make. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/control/sites/site.h"

namespace linac::sites {

struct SlurmSettings : CommonSettings {
  std::string login;
  std::vector<std::string> ssh{"ssh", "-o", "ConnectTimeout=15"};
  std::string partition, account, qos, time, memory, container;
  int workers_per_node = 1, cpus = 0, gpus = 0;
  std::string notice = "120s";
  int requeue = 20;
  std::vector<std::string> sbatch;

  template <class V>
  void fields(V& v) {
    common_fields(v);
    v("login", login, "the login node, as your ssh knows it; empty: Slurm's commands are on this host");
    v("ssh", ssh, "the command that leads there, with its options");
    v("partition", partition, "as `sinfo` lists them; empty: Slurm's default");
    v("account", account, "who pays; empty: your default");
    v("qos", qos, "empty: your default");
    v("time", time, "limit of each start, e.g. 4h; empty: the partition's");
    v("workers_per_node", workers_per_node, "one fills a node (docs/guide/distribution.md)");
    v("cpus", cpus, "of each worker; 0: as Slurm gives them, mostly one");
    v("memory", memory, "of each worker, e.g. 16G; empty: as Slurm gives it");
    v("gpus", gpus, "of each worker");
    v("container", container, "an image that apptainer runs the workers in; program is a path within");
    v("notice", notice, "so long before its time limit it writes a checkpoint and puts itself back into the queue");
    v("requeue", requeue, "so often it goes back into the queue; 0: never");
    v("sbatch", sbatch, "further options of sbatch, e.g. [--constraint=ib, --exclusive]");
  }
};

/// launch.sbatch
std::string batch_script(const SlurmSettings& settings, const Launch& launch);
/// array.sbatch: starts launch.sbatch of each member, whose options are the same.
std::string array_script(const SlurmSettings& settings, const Array& array);
/// Lines that set `exclude` to the nodes that a job keeps away from, as sbatch's option wants them: Slurm refuses a
/// name that it does not know, and its nodes may have others than their hosts. What the settings' own option says is
/// among them. Ends with status 4, and words, where no node of the partition is left. Empty for no hosts.
std::string exclude_script(const SlurmSettings& settings, const std::vector<std::string>& hosts);
/// worker.sh
std::string slurm_worker(const SlurmSettings& settings, const Launch& launch);

}  // namespace linac::sites
