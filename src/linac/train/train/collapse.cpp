#include "linac/train/train/collapse.h"

#include <fmt/format.h>

#include "linac/base/base/plural.h"

namespace linac::train {
namespace {

std::string advice(const job::Job& job) {
  const bool goes_back = job.train.collapse.action == "rollback";
  return fmt::format("lower train.optimizer.lr{} set train.optimizer.global_clipnorm{}", goes_back ? " or" : ",",
                     goes_back ? "" : ", or try train.collapse.action=rollback");
}

}  // namespace

Collapse collapse_of(const TrainState& state, const StepResult& result) {
  return {
      .what = result.health == Health::kEmpty ? "every generated image is empty" : "a loss or gradient is not finite",
      .where = fmt::format("epoch {}, step {}, {}{}{}", state.epoch + 1, state.step + 1, result.where,
                           result.cause.words.empty() ? "" : ": ", result.cause.words)};
}

Error collapse_error(const job::Job& job, const TrainState& state, const StepResult& result, bool has_checkpoint) {
  const Collapse collapse = collapse_of(state, result);
  return {ErrorCode::kNumeric,
          fmt::format("[train] the training collapsed{}: {} ({}); {}; {}",
                      state.rollbacks == 0 ? "" : " again after " + plural(state.rollbacks, "rollback"), collapse.what,
                      collapse.where,
                      has_checkpoint ? "the checkpoints hold the state before" : "there is no checkpoint yet",
                      result.cause.advice.empty() ? advice(job) : result.cause.advice)};
}

}  // namespace linac::train
