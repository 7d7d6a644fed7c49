// Computes a .pt2 by PyTorch's own reader in C++, for pt2_test.py: run_pt2 FILE INPUT EXTENT... OUTPUT. INPUT and
// OUTPUT hold floats.

#include <ATen/ATen.h>
#include <torch/nativert/ModelRunnerHandle.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "linac/base/base/atomic_file.h"

int main(int count, char** arguments) {
  if (count < 5) return 2;
  std::vector<int64_t> shape;
  for (int i = 3; i < count - 1; ++i) shape.push_back(std::atoll(arguments[i]));
  std::string bytes = linac::read_file(arguments[2]);
  const at::Tensor input = at::from_blob(bytes.data(), shape, at::kFloat);
  torch::nativert::ModelRunnerHandle runner(arguments[1], "model");
  const at::Tensor output = runner.runWithFlatInputsAndOutputs({input}).at(0).toTensor().contiguous();
  linac::write_file_atomically(
      arguments[count - 1], {static_cast<const char*>(output.const_data_ptr()), static_cast<size_t>(output.nbytes())});
  return 0;
}
