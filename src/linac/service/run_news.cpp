#include "linac/service/run_news.h"

#include <nlohmann/json.hpp>
#include "linac/base/clock.h"

namespace linac::service {

void publish_state(Hub& hub, const std::string& run, catalog::RunState state, const std::string& reason) {
  hub.publish(run, "state", {{"state", catalog::to_string(state)}, {"reason", reason}, {"time_ms", now_ms()}});
}

}  // namespace linac::service
