#pragma once
// The scheduler's side of the agents (pilot_board.h). It has room where an agent asks for work.

#include "linac/control/launch/pilots/pilot_board.h"

namespace linac::launch {

class PilotLauncher : public Launcher {
 public:
  /// `board` outlives it.
  explicit PilotLauncher(PilotBoard& board) : board_(board) {}

  /// Agents come and go: nothing is more than one could have.
  Capacity capacity() override;
  std::vector<Vacancy> vacancies() override { return board_.vacancies(); }
  bool on_this_host() const override { return false; }
  std::string why_not_as(const std::string&) override { return ""; }
  void prepare(const AttemptKey& attempt, const Demand& demand) override { board_.prepare(attempt, demand); }
  void start(const AttemptKey& attempt, const Command& command) override { board_.offer(attempt, command); }
  AttemptStatus status(const AttemptKey& attempt) override { return board_.status(attempt); }
  AttemptUse use(const AttemptKey& attempt) override { return board_.use(attempt); }
  std::optional<std::string> output(const AttemptKey& attempt, int64_t from, size_t bytes_max) override {
    return board_.output(attempt, from, bytes_max);
  }
  void cancel(const AttemptKey& attempt) override { board_.cancel(attempt); }
  void release(const AttemptKey& attempt) override { board_.release(attempt); }
  /// None: what runs was written down before it was offered, and is found by its folder.
  std::vector<std::string> labels() override { return {}; }

 private:
  PilotBoard& board_;
};

}  // namespace linac::launch
