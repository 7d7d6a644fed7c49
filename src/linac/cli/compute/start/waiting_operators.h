#pragma once
// What LibTorch's initialisers say of its operators before main(): each one's schema and kernels, which wait here until
// somebody asks for that operator. Most of some three thousand are never asked for. Thread-safe; outlives everything.

#include <torch/library.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace linac::start {

struct WaitingDefinition {
  torch::Library* library = nullptr;
  std::string schema;            // as text
  c10::FunctionSchema settings;  // of which all but the kind of its aliases is empty
  std::vector<at::Tag> tags;
  torch::_RegisterOrVerify verify;
};

struct WaitingKernel {
  torch::Library* library = nullptr;
  std::string name;
  torch::CppFunction kernel;
  torch::_RegisterOrVerify verify;
  ptrdiff_t next = -1;  // of the same operator
};

class WaitingOperators {
 public:
  using Define = void (*)(WaitingDefinition&&);
  using Implement = void (*)(WaitingKernel&&);
  WaitingOperators(Define define, Implement implement) : define_(define), implement_(implement) {
    operator_of_.reserve(1 << 13);
  }

  /// Of the operator "add.Tensor", as it begins in a schema.
  static std::string_view name_in(std::string_view schema);

  void add(WaitingDefinition definition);
  void add(WaitingKernel kernel);
  /// What counts for the order of names() alone.
  void mention(std::string_view name);

  /// Registers what waits of this operator, without namespace; of all. Nothing to do for a thread that is just at it.
  void register_one(std::string_view name);
  void register_all();

  /// Of all operators that were told, waiting or not, in the order of their first mention.
  std::vector<std::string> names();

 private:
  struct Operator {
    ptrdiff_t definition = -1, first = -1, last = -1;
  };
  Operator& operator_of(std::string_view name);
  void carry_out(Operator& one);

  const Define define_;
  const Implement implement_;
  std::mutex mutex_;
  std::atomic<bool> all_{false};
  std::deque<WaitingDefinition> definitions_;
  std::deque<WaitingKernel> kernels_;
  std::deque<Operator> operators_;                               // in the order in which they were told
  std::unordered_map<std::string_view, Operator*> operator_of_;  // by names that lie in names_
  std::deque<std::string> names_;
};

}  // namespace linac::start
