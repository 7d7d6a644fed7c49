#include "linac/train/train/state/same_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/base/base/crc32c.h"
#include "linac/base/base/error.h"
#include "linac/base/base/host.h"
#include "linac/train/train/agreement.h"

namespace linac::train {
namespace {

// One number for each buffer.
nlohmann::json digest(const TrainState& state) {
  nlohmann::json all = nlohmann::json::array();
  const auto add = [&](std::span<const float> values) { all.push_back(crc32c(std::as_bytes(values))); };
  for (const std::span<const float> values : values_of(state.networks)) add(values);
  for (const auto& [name, values] : state.exchange.shared) add(values);
  return all;
}

// In words, the ranks whose texts, [digest, host], say another digest than most; empty: there are none.
std::string apart(const std::vector<std::string>& texts) {
  std::vector<nlohmann::json> told;
  std::map<std::string, size_t> ranks_with;
  for (const std::string& text : texts) {
    told.push_back(nlohmann::json::parse(text));
    ++ranks_with[told.back().at(0).dump()];
  }
  if (ranks_with.size() <= 1) return "";
  const auto most = std::ranges::max_element(ranks_with, {}, [](const auto& one) { return one.second; });
  const bool is_majority = 2 * most->second > told.size();
  std::string words;
  for (size_t rank = 0; rank < told.size(); ++rank) {
    if (is_majority && told[rank].at(0).dump() == most->first) continue;
    words += fmt::format("{}rank {} on {}", words.empty() ? "" : ", ", rank, told[rank].at(1).get<std::string>());
  }
  return is_majority
             ? fmt::format("the networks of {} have other bits than those of the other ranks", words)
             : fmt::format("the networks of {} have different bits, and nobody can tell whose are right", words);
}

}  // namespace

void need_same_state(comm::Group& group, const TrainState& state) {
  if (group.size() == 1) return;
  std::string verdict =
      apart(group.gather_text(nlohmann::json::array({digest(state), host_name()}).dump()));  // of rank 0
  broadcast_bytes(group, verdict, 0);
  if (verdict.empty()) return;
  try {
    // Who leaves interrupts those that have not heard yet, and they would go on without him, whose networks are right.
    // So nobody leaves before all have heard.
    group.barrier();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kPeerLost) throw;  // the first to leave knew that all have
  }
  throw environment_error(fmt::format(
      "[train] after step {} {}: a memory or a processor has erred. Nothing is written of this state; go on "
      "from the checkpoint before, on other hosts: --resume",
      state.global_step, verdict));
}

}  // namespace linac::train
