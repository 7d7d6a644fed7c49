#pragma once
// Questions to a disk that may never answer.

#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace linac {

/// What ask() returns or throws, asked on a thread of its own; nothing when that has not come within `patience`. The
/// thread then stays behind until it has its answer, so `ask` owns all that it uses. Thread-safe.
template <class Ask>
auto ask_within(std::chrono::milliseconds patience, Ask ask) -> std::optional<std::invoke_result_t<Ask>> {
  using Answer = std::invoke_result_t<Ask>;
  auto answer = std::make_shared<std::promise<Answer>>();
  std::future<Answer> told = answer->get_future();
  std::thread([ask = std::move(ask), answer] {
    try {
      answer->set_value(ask());
    } catch (...) {
      answer->set_exception(std::current_exception());
    }
  }).detach();
  if (told.wait_for(patience) != std::future_status::ready) return std::nullopt;
  return told.get();
}

/// The same; `otherwise` also when it throws.
template <class Answer, class Ask>
Answer answer_within(std::chrono::milliseconds patience, Answer otherwise, Ask ask) {
  try {
    return ask_within(patience, std::move(ask)).value_or(otherwise);
  } catch (const std::exception&) {
    return otherwise;
  }
}

}  // namespace linac
