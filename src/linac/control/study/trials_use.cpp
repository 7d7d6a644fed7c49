#include "linac/control/study/trials_use.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "linac/base/job/job.h"
#include "linac/control/study/trial_process.h"
#include "linac/control/study/trial_record.h"

namespace linac::study {

TrialsUse::TrialsUse(const Study& study, std::filesystem::path file)
    : limits_(study.settings.limits),
      workers_(study.job.empty() ? 1 : job::parse_job(study.job, "the study's job", {}).workers),
      spent_(limits_, std::move(file), "limits") {}

void TrialsUse::count(double seconds, int trials) {
  if (trials > 0) spent_.count(seconds, workers_ * trials);
}

void TrialsUse::energy(int64_t trial, std::vector<job::ToldEnergy> told) {
  told_[trial] = std::move(told);
  std::vector<job::ToldEnergy> all;
  for (const auto& [number, of_one] : told_) all.insert(all.end(), of_one.begin(), of_one.end());
  spent_.measured(job::measured_kwh(std::move(all)));
}

int64_t TrialsUse::all_steps() const {
  int64_t all = 0;
  for (const auto& [number, of_one] : steps_) all += of_one;
  return all;
}

std::vector<std::pair<std::string, std::string>> folder_facts(const Ledger& ledger,
                                                              const std::filesystem::path& folder) {
  std::vector<std::pair<std::string, std::string>> facts{{"folder", folder.string()}};
  std::vector<job::ToldEnergy> all;
  for (const tune::Trial& trial : ledger.history().trials()) {
    const auto told = told_energies(std::filesystem::weakly_canonical(trial_folder(folder / "trials", trial.number)));
    all.insert(all.end(), told.begin(), told.end());
  }
  const job::RunEnergy energy = job::energy_of(std::move(all), job::carbon_of(ledger.study().settings.limits, {}));
  if (energy.kwh)
    facts.emplace_back("energy", fmt::format("{} ({})", job::in_words(energy), fmt::join(energy.methods, "; ")));
  return facts;
}

}  // namespace linac::study
