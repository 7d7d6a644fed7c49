#include "linac/control/sites/abilities.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"

namespace linac::sites {

const TakesArrays& arrays_of(const Site& site) {
  if (const auto* arrays = site.as<TakesArrays>()) return *arrays;
  throw user_error(
      fmt::format("{}: several jobs at once are for sites of the kind slurm; launch them one by one", site.place()));
}

std::vector<PlannedStep> plan_as(const Site& site, const Launch& launch, const std::string& kind) {
  if (const auto* pods = site.as<RunsPods>()) return pods->plan_as(launch, kind);
  throw user_error(fmt::format("{}: --as {} is for sites of the kind kubernetes; leave it out", site.place(), kind));
}

std::vector<Shell> shells_of_run(const Site& site, const Record& record) {
  const auto* folders = site.as<HasFolders>();
  return folders == nullptr ? std::vector<Shell>{} : folders->shells_of_run(record);
}

bool is_apart(const Site& site) {
  const auto* folders = site.as<HasFolders>();
  return folders != nullptr && folders->is_apart();
}

void fetch_written(const Site& site, const Record& record, const std::string& folder) {
  if (is_apart(site)) return site.as<HasFolders>()->fetch(record, folder);
  throw user_error(
      fmt::format("{}: what a script writes is not fetched from there: it is in {}", site.place(), record.out));
}

std::vector<std::string> chosen_hosts(const Site& site, const Launch& launch) {
  const auto* chooses = site.as<ChoosesHosts>();
  return chooses == nullptr ? std::vector<std::string>{} : chooses->hosts(launch);
}

}  // namespace linac::sites
