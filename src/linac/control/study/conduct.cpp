#include "linac/control/study/conduct.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/base/error.h"

namespace linac::study {

bool time_is_over(const Ledger& ledger, double now_s) {
  const double hours = ledger.study().settings.budget.hours;
  return hours > 0 && ledger.first_ask_s() > 0 && now_s > ledger.first_ask_s() + 3600 * hours;
}

bool is_news(const tune::Trial& trial, const Measured& measured) {
  return trial.curve.empty() || measured.step > trial.curve.back().first;
}

Mishap mishap_of(int exit_status) {
  switch (static_cast<ErrorCode>(exit_status)) {
    case ErrorCode::kNumeric:
      return Mishap::kNumeric;
    case ErrorCode::kUser:
    case ErrorCode::kData:
      return Mishap::kRefused;
    default:
      return Mishap::kLost;
  }
}

TrialEnd end_well(const Ledger& ledger, int64_t number, std::vector<double> values) {
  const Study& study = ledger.study();
  const tune::Trial& trial = *ledger.history().find(number);
  if (ledger.history().objectives() == 1) {
    values.clear();
    if (!trial.curve.empty()) {
      double loss = trial.curve.back().second;
      if (study.settings.objective.front().take == "best")
        for (const auto& [step, one] : trial.curve) loss = std::min(loss, one);
      values = {tune::loss_of(study.directions().front(), loss)};
    }
  }
  if (values.empty())
    return {tune::State::kInfeasible,
            {},
            fmt::format("it ended without a value of {}", fmt::join(study.objective_names(), ", "))};
  return {tune::State::kComplete, std::move(values), ""};
}

std::optional<TrialEnd> end_badly(const Ledger& ledger, Mishap mishap, const std::string& why) {
  if (mishap == Mishap::kLost) return TrialEnd{tune::State::kFailed, {}, why};
  if (mishap == Mishap::kRefused && ledger.history().told().empty()) return std::nullopt;
  return TrialEnd{tune::State::kInfeasible, {}, why};
}

}  // namespace linac::study
