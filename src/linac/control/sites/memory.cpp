#include "linac/control/sites/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/base/plan/prices.h"

namespace linac::sites {
namespace {

std::vector<MemoryLimit> limits_of(const Site& site) {
  const Facts facts = site.facts();
  std::vector<MemoryLimit> limits = facts.memory;
  const plan::Worth& worth = site.common().plan;
  if (worth.memory_gib > 0) {
    limits.push_back({worth.memory_gib, facts.workers_a_host, "plan.memory_gib of the site"});
  } else if (!worth.machine.empty()) {
    const plan::Book book = plan::read_book();
    const plan::Machine* machine = book.machine(worth.machine);
    if (machine == nullptr)
      throw user_error(
          fmt::format("{}: plan.machine: the price book has no '{}'; `linac plan prices` lists its machines",
                      site.place(), worth.machine));
    if (machine->memory_gib > 0)
      limits.push_back({machine->memory_gib, facts.workers_a_host, "plan.machine " + worth.machine});
  }
  return limits;
}

}  // namespace

std::vector<Finding> over_memory(const Site& site, const job::Job& job, int workers) {
  std::vector<Finding> all;
  if (job.plan.memory_gib <= 0) return all;
  for (const MemoryLimit& limit : limits_of(site)) {
    const int sharing = std::min(workers, limit.workers);
    if (sharing * job.plan.memory_gib <= limit.gib) continue;
    all.push_back({false, "memory",
                   fmt::format("{} of {:.3g} GiB (plan.memory_gib) take {:.3g}, and {} gives them {:.3g}: "
                               "raise it, put fewer workers on a host, or lower train.batch and plan again",
                               plural(sharing, "worker"), job.plan.memory_gib, sharing * job.plan.memory_gib,
                               limit.setting, limit.gib)});
  }
  return all;
}

double gib_of_slurm(const std::string& text) {
  double amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (error != std::errc{} || !std::isfinite(amount) || amount < 0) return 0;
  const std::string unit(end, text.data() + text.size());
  constexpr double kMiB = 1.0 / 1024;
  for (const auto& [name, gib] : {std::pair{"K", kMiB / 1024}, {"", kMiB}, {"M", kMiB}, {"G", 1.0}, {"T", 1024.0}})
    if (unit == name || (*name != '\0' && unit == std::string(name) + "B")) return amount * gib;
  return 0;
}

std::vector<MemoryLimit> memory_of_sbatch(const std::vector<std::string>& options, int workers_a_node, int cpus,
                                          int gpus) {
  std::vector<MemoryLimit> limits;
  for (const std::string& option : options) {
    const size_t end = option.find_first_of("= ");
    if (end == std::string::npos) continue;
    const std::string name = option.substr(0, end);
    const double gib = gib_of_slurm(option.substr(end + 1));
    if (gib == 0) continue;
    const std::string setting = "sbatch " + option;
    if (name == "--mem") limits.push_back({gib, workers_a_node, setting});
    if (name == "--mem-per-cpu") limits.push_back({gib * std::max(1, cpus), 1, setting});
    if (name == "--mem-per-gpu" && gpus > 0) limits.push_back({gib * gpus, 1, setting});
  }
  return limits;
}

}  // namespace linac::sites
