#include "linac/model/graph/turned_activation.h"

#include <utility>

namespace linac::graph {
namespace {

thread_local std::optional<RngKey> key_of_thread;

}  // namespace

const std::optional<RngKey>& TurnedActivation::of_thread() {
  return key_of_thread;
}

TurnedActivation::TurnedActivation(const RngKey& key) : before_(std::exchange(key_of_thread, key)) {}

TurnedActivation::~TurnedActivation() {
  key_of_thread = before_;
}

}  // namespace linac::graph
