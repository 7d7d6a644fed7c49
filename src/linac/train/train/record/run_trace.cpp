#include "linac/train/train/record/run_trace.h"

#include <fmt/format.h>

#include "linac/base/base/log.h"
#include "linac/train/train/agreement.h"
#include "linac/train/train/record/trace_file.h"

namespace linac::train {

void RunTrace::agree(comm::Group& group, int source) {
  std::string text = wanted_ ? to_text(*wanted_) : "";
  broadcast_bytes(group, text, source);
  wanted_ = trace_steps_in(text);
}

void RunTrace::begin(int64_t step) {
  if (wanted_ && step >= wanted_->first && step <= wanted_->last && !mine_) trace::begin();
}

std::string RunTrace::gather(comm::Group& group) {
  if (!mine_) mine_ = trace::end();
  std::string text = gather_trace(group, *mine_, *wanted_);
  wanted_.reset();
  mine_.reset();
  return text;
}

void RunTrace::give_up(bool tells) {
  if (tells) log::warn(fmt::format("no trace: this start trains no step of {}", to_text(*wanted_)));
  wanted_.reset();
}

}  // namespace linac::train
