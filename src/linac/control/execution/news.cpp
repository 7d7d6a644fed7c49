#include "linac/control/execution/news.h"

#include <nlohmann/json.hpp>

#include "linac/base/base/clock.h"
#include "linac/control/execution/record/run_log.h"

namespace linac::execution {

void publish_state(News& news, const std::string& run, catalog::RunState state, const std::string& reason) {
  news.publish(run, "state", {{"state", catalog::to_string(state)}, {"reason", reason}, {"time_ms", now_ms()}});
}

void publish_log(News& news, const std::string& run, int64_t from, std::string bytes) {
  if (!bytes.empty()) news.publish(run, "log", {{"from", from}, {"text", as_text(std::move(bytes))}});
}

}  // namespace linac::execution
