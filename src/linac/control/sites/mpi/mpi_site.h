#pragma once
// Hosts on which `mpirun` starts the workers: Open MPI's, MPICH's or Intel's, here or on a login node that ssh leads
// to. A launch is one script there, as on a host of hosts_site.h, whose files it has. Beside them:
//
//   launch/mpirun   the process of mpirun, which has a group of its own     launch/attempt  how often it was started
//   launch/stop     somebody, or the limit of time, asks the workers to stop
//   launch/kill     at once
//   launch/first-N  where they meet                                         launch/begun-N  a worker began
// The folder has to be on a disk that all hosts share.

#include "linac/control/sites/site.h"

namespace linac::sites {

std::unique_ptr<Site> make_mpi_site(const YAML::Node& settings, const std::string& where, const std::string& name);
std::vector<config::Setting> mpi_settings();

}  // namespace linac::sites
