#pragma once
// What those who watch runs are told while it happens. Whoever carries out runs tells it; who listens, and how it
// reaches him, is another's matter. Thread-safe.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "linac/control/catalog/points.h"
#include "linac/control/catalog/runs.h"

namespace linac::execution {

class News {
 public:
  virtual ~News() = default;
  /// `event` is the kind of news ("state", "log"), `data` one JSON value.
  virtual void publish(const std::string& run, std::string_view event, const nlohmann::json& data) = 0;
  virtual void publish_points(const std::string& run, std::span<const catalog::KeyedPoint> points) = 0;
};

/// Event "state": {"state", "reason", "time_ms"}.
void publish_state(News& news, const std::string& run, catalog::RunState state, const std::string& reason);
/// Event "log": {"from": byte, "text": ...}.
void publish_log(News& news, const std::string& run, int64_t from, std::string bytes);

}  // namespace linac::execution
