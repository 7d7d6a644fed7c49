#pragma once
// A function with a stack of its own, which stops where it waits and goes on when it is told to: so code that blocks,
// as all that calls a comm::Group does, is played in an order that a test chooses. Used by one thread.

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace linac::train {

class Fiber {
 public:
  /// Thrown where the function waits, when the fiber is destroyed: its stack is cleared as by any error.
  struct Ended {};

  explicit Fiber(std::function<void()> work) : work_(std::move(work)), stack_(take_stack()) {
    getcontext(&own_);
    own_.uc_stack.ss_sp = stack_.get();
    own_.uc_stack.ss_size = kStackBytes;
    own_.uc_link = &caller_;
    const auto self = reinterpret_cast<uintptr_t>(this);
    makecontext(&own_, reinterpret_cast<void (*)()>(&Fiber::enter), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
  }
  ~Fiber() {
    is_ending_ = true;
    if (has_begun_ && !is_over_) go_on();
    stacks().push_back(std::move(stack_));
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Until it waits or is over.
  void go_on() {
    has_begun_ = true;
    swapcontext(&caller_, &own_);
  }
  bool is_over() const { return is_over_; }
  /// From within. Not in a catch clause: the errors under way are those of the thread.
  void wait() {
    swapcontext(&own_, &caller_);
    if (is_ending_) throw Ended{};
  }

 private:
  static constexpr size_t kStackBytes = size_t{256} << 10;
  using Stack = std::unique_ptr<std::byte[]>;

  static std::vector<Stack>& stacks() {
    static std::vector<Stack> spare;
    return spare;
  }
  static Stack take_stack() {
    if (stacks().empty()) return std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
    Stack stack = std::move(stacks().back());
    stacks().pop_back();
    return stack;
  }
  static void enter(unsigned high, unsigned low) {
    auto* const self = reinterpret_cast<Fiber*>((static_cast<uintptr_t>(high) << 32) | low);
    try {
      self->work_();
    } catch (const Ended&) {
    }
    self->is_over_ = true;
  }

  std::function<void()> work_;
  Stack stack_;
  ucontext_t own_{}, caller_{};
  bool has_begun_ = false, is_over_ = false, is_ending_ = false;
};

}  // namespace linac::train
