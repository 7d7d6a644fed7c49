#include "linac/control/sites/hosts_site.h"
#include "linac/control/sites/kubernetes/kubernetes_site.h"
#include "linac/control/sites/mpi/mpi_site.h"
#include "linac/control/sites/panda/panda_site.h"
#include "linac/control/sites/site.h"
#include "linac/control/sites/slurm.h"

namespace linac::sites {

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kAll{
      {"local", "this host, beside what else runs here", make_local_site, local_settings},
      {"ssh", "hosts that you reach with ssh", make_ssh_site, ssh_settings},
      {"slurm", "a cluster with Slurm, from its login node or through ssh", make_slurm_site, slurm_settings},
      {"mpi", "hosts on which mpirun starts the workers: Open MPI's, MPICH's, Intel's", make_mpi_site, mpi_settings},
      {"kubernetes", "a cluster of Kubernetes", make_kubernetes_site, kubernetes_settings, kubernetes_notes},
      {"panda", "a grid whose jobs PanDA carries out", make_panda_site, panda_settings},
  };
  return kAll;
}

}  // namespace linac::sites
