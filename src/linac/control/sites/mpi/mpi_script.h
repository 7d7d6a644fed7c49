#pragma once
// A launch that `mpirun` starts: the settings of such a site, and the scripts that they make. Pure, thread-safe.
//
// What an MPI does itself is not enough for a run: it ends all workers as soon as one is lost, and gives those that it
// is told to stop a second for their checkpoint. So mpirun starts a script for each worker, which outlives its program
// and looks for the file `stop`, and another one starts mpirun again where it has ended before the run.

#include <string>
#include <vector>

#include "linac/control/sites/site.h"

namespace linac::sites {

struct MpiSettings : CommonSettings {
  std::string login;
  std::vector<std::string> ssh{"ssh", "-o", "ConnectTimeout=15"};
  std::string mpi = "openmpi";
  std::vector<std::string> mpirun{"mpirun"}, hosts, arguments;
  std::string hostfile, address;
  int slots = 1, port = 0, restarts = 20;

  template <class V>
  void fields(V& v) {
    common_fields(v);
    v("login", login, "where mpirun is started, as your ssh knows it; empty: this host");
    v("ssh", ssh, "the command that leads there, with its options");
    v("mpi", mpi, "whose mpirun it is: openmpi, mpich or intel");
    v("mpirun", mpirun, "the command, e.g. [mpiexec.hydra]");
    v("hosts", hosts, "of the workers, as mpirun there knows them, e.g. [n01, n02]; without: those of an allocation");
    v("slots", slots, "workers of each of `hosts`; one fills a host (docs/guide/distribution.md)");
    v("hostfile", hostfile, "a file there in place of hosts, from / on, with mpirun's own words for slots");
    v("arguments", arguments, "further ones of mpirun, e.g. [--mca, oob_tcp_if_include, ib0]");
    v("address", address,
      "at which the others find the host of the first worker; without it what `hostname` says there");
    v("port", port, "at which they meet there; 0: one from 20000 to 29999 that follows from the launch's name");
    v("restarts", restarts,
      "so often mpirun is started again, from the last checkpoint, where it ended before the run");
  }
};

/// mpirun with its arguments up to the program: so many workers, where they are, and no core of their own.
std::vector<std::string> mpirun_words(const MpiSettings& settings, int workers);

/// worker.sh ATTEMPT, which mpirun starts.
std::string mpi_worker(const MpiSettings& settings, const Launch& launch);

/// Lines of the script that starts mpirun, and starts it again.
std::string mpi_loop(const MpiSettings& settings, const Launch& launch);

}  // namespace linac::sites
