#pragma once
// What a request wants planned, checked: by the fields of POST /api/v1/plans. Pure, thread-safe.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/plan/past_run.h"
#include "linac/base/plan/plan_rows.h"
#include "linac/control/service/http_words.h"

namespace linac::service {

constexpr size_t kPlanJobBytesMax = 1 << 20, kPlanPatternsMax = 20, kPlanWorkersMax = 8;
constexpr int64_t kPlanRowsMax = 1000, kPlanRowsDefault = 200, kPlanHostsMax = 65536, kPlanCandidatesMax = 40'000;

const std::vector<FieldRule>& plan_fields();

struct PlanRequest {
  std::string run;  // its id; empty: `job` is planned
  std::string job, file;
  std::vector<std::string> overrides;
  plan::Question question;  // without offers
  double deadline_s = 0, budget = 0;
  std::string currency;
  std::optional<plan::GoalWish> goal;
  std::string goal_text;
  size_t rows = 0;
};
/// kInvalid naming the field; user error for a goal that is none.
PlanRequest plan_request_of(const Request& request);

}  // namespace linac::service
