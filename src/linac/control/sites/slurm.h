#pragma once
// Clusters with Slurm, by its own commands (sbatch, squeue, sacct, scancel, sinfo), here or on a login node that ssh
// leads to. A launch is one job, or a member of an array: `srun` starts a worker for each task. A job that is
// preempted, comes to its time limit or loses too many of its nodes has left a checkpoint, puts itself back into the
// queue and goes on from there.
//
//   launch/launch.sbatch  the script, which holds no secret: on many systems others can read it
//   launch/submitted      the job's number and when it was submitted: numbers are used again
//   launch/log.txt        what it prints        launch/exit  how it ended

#include "linac/control/sites/site.h"

namespace linac::sites {

std::unique_ptr<Site> make_slurm_site(const YAML::Node& settings, const std::string& where, const std::string& name);
std::vector<config::Setting> slurm_settings();

}  // namespace linac::sites
