#pragma once
// Whether the memory that a place gives is enough for a job's workers: by what `linac plan` has measured of the job
// (`plan.memory_gib`), and by what the site's entry says of the place. Thread-safe.

#include <string>
#include <vector>

#include "linac/control/sites/site.h"

namespace linac::sites {

/// Limits that `workers` of the job would go beyond: the system ends such a run wherever it stands. None of them is
/// good. Empty where the job or the place does not tell. User error for a plan.machine that the price book lacks.
std::vector<Finding> over_memory(const Site& site, const job::Job& job, int workers);

/// GiB of "16G", as sbatch reads it: K, M, G, T or, without, M. 0 for what is none.
double gib_of_slurm(const std::string& text);

/// What options of sbatch say of memory: `--mem=64G` of a node with so many workers, `--mem-per-cpu` and
/// `--mem-per-gpu` of a worker. An amount of 0 is all that a node has, and no limit.
std::vector<MemoryLimit> memory_of_sbatch(const std::vector<std::string>& options, int workers_a_node, int cpus,
                                          int gpus);

}  // namespace linac::sites
