// What LibTorch knows of its operators, for torch_start_test.py: built as it is, and with the start of `linac-compute`.
//   operators schemas        each operator with its schema, its tags and its kernels, in the order of names
//   operators script         the operators of each name as TorchScript finds them, in their order
//   operators asked script   the same, after some of them were asked for and have computed
//   operators threads        how many of four threads that ask for the same operators at once compute something wrong
//   operators count          how many tables of operators there are behind a start

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

std::vector<c10::OperatorName> names() {
  auto all = std::vector<c10::OperatorName>(c10::Dispatcher::singleton().getAllOpNames());
  std::ranges::sort(all, {}, [](const c10::OperatorName& name) { return name.name + "." + name.overload_name; });
  return all;
}

bool is_left_out(const std::string& line) {
  for (const char* key : {"Tracer", "Functionalize", "FuncTorchBatched", "BatchedNestedTensor"})
    if (line.starts_with(std::string(key) + ":") || line.starts_with(std::string(key) + "[")) return true;
  return false;
}

void tell_schemas() {
  for (const c10::OperatorName& name : names()) {
    const auto found = c10::Dispatcher::singleton().findOp(name);
    std::istringstream state(found->dumpState());
    for (std::string line; std::getline(state, line);)
      if (!is_left_out(line)) std::cout << line << '\n';
    if (found->hasSchema())
      for (const at::Tag tag : found->getTags()) std::cout << "tag " << static_cast<int>(tag) << '\n';
  }
}

void tell_script() {
  std::set<std::string> told;
  for (const c10::OperatorName& name : names()) {
    if (!told.insert(name.name).second) continue;
    for (const auto& one : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name.name)))
      std::cout << one->isC10Op() << ' ' << one->schema() << '\n';
  }
}

bool computes() {
  const at::Tensor x = at::arange(6, at::kFloat).reshape({2, 3});
  const float sum = at::softmax(at::matmul(x, x.t()) + at::sigmoid(x).mean(), 1).sum().item<float>();
  return sum > 1.999F && sum < 2.001F;
}

void ask_from_threads() {
  std::atomic<int> ready = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      ++ready;
      while (ready < 4) std::this_thread::yield();
      if (!computes()) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::cout << wrong << '\n';
}

// By a list of LibTorch's that asks for nothing.
void count() {
  std::set<std::string> all;
  for (int key = 0; key <= static_cast<int>(c10::DispatchKey::EndOfRuntimeBackendKeys); ++key) {
    for (const auto& name :
         c10::Dispatcher::singleton().getAllOpNamesForDispatchKey(static_cast<c10::DispatchKey>(key)))
      all.insert(name.name + "." + name.overload_name);
  }
  std::cout << all.size() << '\n';
}

}  // namespace

int main(int, char** words) {
  std::string_view what = words[1];
  if (what == "asked") {
    if (!computes()) return 1;
    what = words[2];
  }
  if (what == "schemas") tell_schemas();
  if (what == "script") tell_script();
  if (what == "threads") ask_from_threads();
  if (what == "count") count();
  std::cout.flush();
  _exit(0);
}
