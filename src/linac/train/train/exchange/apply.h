#pragma once
// The third part of an update: the sum over the replicas changes the network, on every worker alike. Thread-safe
// function; it uses what it is given alone.

#include <functional>
#include <string>
#include <vector>

#include "linac/train/train/exchange/message.h"
#include "linac/train/train/loops/loop_steps.h"

namespace linac::train {

/// `total`: of all replicas, which are `carried` in words ("4 replicas"); `losses`: the names of its losses, which
/// stand in `result` with `prefix` before them. False (and why, in `result`) if the network was left as it was.
/// `before_change`: see ReplicaUpdate.
bool apply_update(Message& total, const std::string& prefix, const std::vector<std::string>& losses,
                  const std::string& carried, double learning_rate, Network& network, StepResult& result,
                  const std::function<void()>& before_change = {});

}  // namespace linac::train
