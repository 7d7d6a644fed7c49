#pragma once
// Questions to a disk that may never answer.

#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <thread>
#include <utility>

namespace linac {

/// What ask() returns, asked on a thread of its own; `otherwise` when it throws or has not returned within `patience`.
/// The thread then stays behind until it has its answer, so `ask` owns all that it uses. Thread-safe.
template <class Answer, class Ask>
Answer answer_within(std::chrono::milliseconds patience, Answer otherwise, Ask ask) {
  auto answer = std::make_shared<std::promise<Answer>>();
  std::future<Answer> told = answer->get_future();
  std::thread([ask = std::move(ask), answer, otherwise] {
    try {
      answer->set_value(ask());
    } catch (const std::exception&) {
      answer->set_value(otherwise);
    }
  }).detach();
  return told.wait_for(patience) == std::future_status::ready ? told.get() : otherwise;
}

}  // namespace linac
