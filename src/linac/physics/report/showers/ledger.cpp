#include "linac/physics/report/showers/ledger.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace linac::report {

Ledger::Ledger(const ShowerReport& report) {
  for (const physics::Figure& figure : report.figures) {
    if (figure.bin == physics::Bin{}) {
      overall_.emplace(key(figure), &figure);
    } else {
      in_bins_[figure.name].push_back(&figure);
    }
  }
  for (const physics::Verdict& verdict : report.verdicts) verdicts_.emplace(key(verdict.figure), &verdict);
}

Ledger::Key Ledger::key(const physics::Figure& figure) {
  return {figure.name, {figure.bin.energy, figure.bin.angle}};
}

const physics::Figure* Ledger::overall(const std::string& name) const {
  const auto found = overall_.find(Key{name, {-1, -1}});
  return found == overall_.end() ? nullptr : found->second;
}

const physics::Figure* Ledger::worst_bin(const std::string& name) const {
  const auto found = in_bins_.find(name);
  if (found == in_bins_.end()) return nullptr;
  return *std::max_element(found->second.begin(), found->second.end(),
                           [this](const physics::Figure* a, const physics::Figure* b) {
                             return std::pair(!is_noise(*a), badness(*a)) < std::pair(!is_noise(*b), badness(*b));
                           });
}

const physics::Verdict* Ledger::verdict(const physics::Figure& figure) const {
  const auto found = verdicts_.find(key(figure));
  return found == verdicts_.end() ? nullptr : found->second;
}

bool Ledger::failed(const physics::Figure& figure) const {
  const physics::Verdict* found = verdict(figure);
  return found != nullptr && found->judgement() == physics::Judgement::kFailed;
}

int Ledger::failed_bins(const std::string& name) const {
  const auto found = in_bins_.find(name);
  if (found == in_bins_.end()) return 0;
  return static_cast<int>(std::count_if(found->second.begin(), found->second.end(),
                                        [this](const auto* figure) { return failed(*figure); }));
}

double Ledger::badness(const physics::Figure& figure) const {
  if (!std::isfinite(figure.value)) return std::numeric_limits<double>::infinity();
  const physics::Verdict* found = verdict(figure);
  if (found != nullptr) return found->allowed > 0 ? found->excess() : figure.value;
  return figure.floor > 0 ? in_floors(figure) : figure.value;
}

double in_floors(const physics::Figure& figure) {
  return figure.floor > 0 && std::isfinite(figure.value) ? figure.value / figure.floor : 0;
}

DistanceName distance_name(const std::string& figure_name) {
  static constexpr std::array<const char*, 4> kDistances{"ks", "wasserstein", "separation", "chi2"};
  const size_t dot = figure_name.find('.');
  if (dot == std::string::npos) return {};
  const std::string first = figure_name.substr(0, dot);
  if (std::find(kDistances.begin(), kDistances.end(), first) == kDistances.end()) return {};
  return {first, figure_name.substr(dot + 1)};
}

}  // namespace linac::report
