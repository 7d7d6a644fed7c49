#pragma once
// Names of metrics that somebody has typed, against those that runs have. Pure, thread-safe.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace linac::client {

/// The metrics that a filter or an order speaks of: "metrics.auc > 0.9 AND metrics.`test/loss` < 1" has two.
std::vector<std::string> metrics_in(const std::string& filter);

/// Of `runs`, as /api/v1/runs lists them; each once, sorted.
std::vector<std::string> metrics_of(const nlohmann::json& runs);

/// For each of `wanted` that is not among `known`: "no metric 'lsos'; did you mean loss?".
std::vector<std::string> unknown_metrics(const std::vector<std::string>& wanted, const std::vector<std::string>& known);

}  // namespace linac::client
