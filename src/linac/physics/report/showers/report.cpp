#include "linac/physics/report/showers/report.h"

#include <algorithm>
#include <iterator>

#include "linac/base/base/error.h"
#include "linac/physics/report/showers/pictures.h"

namespace linac::report {

bool ShowerReport::has_too_few_showers() const {
  return gated && std::min(reference->events(), sample->events()) < gate_showers;
}

size_t ShowerReport::count(physics::Judgement judgement) const {
  return static_cast<size_t>(std::count_if(verdicts.begin(), verdicts.end(), [&](const physics::Verdict& verdict) {
    return verdict.judgement() == judgement;
  }));
}

physics::Judgement ShowerReport::judgement() const {
  using physics::Judgement;
  if (!gated) return Judgement::kPassed;
  if (verdicts.empty()) return Judgement::kFailed;
  return has_too_few_showers() ? Judgement::kUndecided : verdicts.front().judgement();
}

std::vector<NamedPicture> draw(const ShowerReport& report) {
  LINAC_CHECK(report.reference != nullptr && report.sample != nullptr);
  std::vector<NamedPicture> pictures;
  if (report.reference->events() == 0 || report.sample->events() == 0) return pictures;
  const auto append = [&](std::vector<NamedPicture> more) {
    std::move(more.begin(), more.end(), std::back_inserter(pictures));
  };
  pictures.push_back(average_picture(report));
  append(profile_pictures(report));
  append(energy_pictures(report));
  pictures.push_back(spectrum_picture(report));
  pictures.push_back(distribution_picture(report));
  if (report.reference->events() > 1 && report.sample->events() > 1) pictures.push_back(correlation_picture(report));
  append(example_pictures(report));
  return pictures;
}

}  // namespace linac::report
