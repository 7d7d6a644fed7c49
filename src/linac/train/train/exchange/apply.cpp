#include "linac/train/train/exchange/apply.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/trace.h"

namespace linac::train {

bool apply_update(Message& total, const std::string& prefix, const std::vector<std::string>& losses,
                  const std::string& carried, double learning_rate, Network& network, StepResult& result,
                  const std::function<void()>& before_change) {
  result.stop_requested = result.stop_requested || total.flag(Message::kStopWanted) > 0;
  result.leaving = std::max(result.leaving, static_cast<int>(total.flag(Message::kLeaving)));
  result.save_wanted = result.save_wanted || total.flag(Message::kSaveWanted) > 0;
  result.enough = result.enough || total.flag(Message::kEnough) > 0;
  result.next_view_wanted = result.next_view_wanted || total.flag(Message::kNextViewWanted) > 0;
  for (size_t i = 0; i < losses.size(); ++i) result.losses[prefix + losses[i]] = total.losses()[i];
  if (total.flag(Message::kBrokenReplicas) > 0 || total.flag(Message::kEmptyReplicas) > 0) {
    const bool broken = total.flag(Message::kBrokenReplicas) > 0;
    result.health = broken ? Health::kNotFinite : Health::kEmpty;
    result.where = fmt::format("{}on {:.0f} of {}", prefix.empty() ? "" : prefix.substr(0, prefix.size() - 1) + " ",
                               total.flag(broken ? Message::kBrokenReplicas : Message::kEmptyReplicas), carried);
    return false;
  }
  if (before_change) before_change();
  const trace::Span span("apply");
  network.optimizer.step(network.parameters.trainable, total.gradient(), learning_rate);
  graph::enforce(network.constraints, network.parameters.trainable);
  auto& running = network.parameters.statistics;
  for (size_t i = 0; i < running.size(); ++i)
    running[i] = network.update.kept[i] * running[i] + network.update.added[i] * total.statistics()[i];
  return true;
}

}  // namespace linac::train
