#include "linac/cli/compute/start/waiting_operators.h"

#include <utility>

namespace linac::start {
namespace {

// LibTorch looks for operators while one is registered.
thread_local bool is_at_it = false;

struct AtIt {
  AtIt() { is_at_it = true; }
  ~AtIt() { is_at_it = false; }
};

constexpr std::string_view kNamespace = "aten::";

std::string_view without_namespace(std::string_view name) {
  return name.starts_with(kNamespace) ? name.substr(kNamespace.size()) : name;
}

}  // namespace

std::string_view WaitingOperators::name_in(std::string_view schema) {
  return without_namespace(schema.substr(0, schema.find('(')));
}

WaitingOperators::Operator& WaitingOperators::operator_of(std::string_view name) {
  const auto found = operator_of_.find(name);
  if (found != operator_of_.end()) return *found->second;
  operators_.emplace_back();
  operator_of_.emplace(names_.emplace_back(name), &operators_.back());
  return operators_.back();
}

void WaitingOperators::add(WaitingDefinition definition) {
  const std::lock_guard lock(mutex_);
  operator_of(name_in(definition.schema)).definition = static_cast<ptrdiff_t>(definitions_.size());
  definitions_.push_back(std::move(definition));
}

void WaitingOperators::add(WaitingKernel kernel) {
  const std::lock_guard lock(mutex_);
  Operator& one = operator_of(without_namespace(kernel.name));
  const auto place = static_cast<ptrdiff_t>(kernels_.size());
  if (one.first < 0) one.first = place;
  if (one.last >= 0) kernels_[static_cast<size_t>(one.last)].next = place;
  one.last = place;
  kernels_.push_back(std::move(kernel));
}

void WaitingOperators::mention(std::string_view name) {
  const std::lock_guard lock(mutex_);
  operator_of(without_namespace(name));
}

std::vector<std::string> WaitingOperators::names() {
  const std::lock_guard lock(mutex_);
  return {names_.begin(), names_.end()};
}

void WaitingOperators::carry_out(Operator& one) {
  const Operator waits = std::exchange(one, {});
  if (waits.definition >= 0) define_(std::move(definitions_[static_cast<size_t>(waits.definition)]));
  for (ptrdiff_t place = waits.first; place >= 0;) {
    WaitingKernel& kernel = kernels_[static_cast<size_t>(place)];
    place = kernel.next;
    implement_(std::move(kernel));
  }
}

void WaitingOperators::register_one(std::string_view name) {
  if (is_at_it || all_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  const auto found = operator_of_.find(without_namespace(name));
  if (found == operator_of_.end()) return;
  const AtIt at_it;
  carry_out(*found->second);
}

void WaitingOperators::register_all() {
  if (is_at_it || all_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  const AtIt at_it;
  for (Operator& one : operators_) carry_out(one);
  all_.store(true, std::memory_order_release);
}

}  // namespace linac::start
