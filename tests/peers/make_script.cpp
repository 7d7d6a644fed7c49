// Writes small TorchScript modules for test_fit.py: make_script FOLDER -> linear.pt, random.pt.

#include <torch/script.h>

#include <filesystem>
#include <string>

namespace {

torch::jit::Module module_of(const std::string& name, const std::string& forward) {
  torch::jit::Module module(name);
  module.register_attribute("training", c10::BoolType::get(), true);
  module.register_parameter("weight", torch::zeros({3, 4}, torch::requires_grad()), false);
  module.register_parameter("bias", torch::zeros({3}, torch::requires_grad()), false);
  module.register_buffer("running_mean", torch::zeros({4}));
  module.register_buffer("running_var", torch::ones({4}));
  module.define(forward);
  return module;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::filesystem::path folder = arguments[1];
  module_of("Linear", R"(
def forward(self, features, list):
    return torch.linear(features, self.weight, self.bias)
)")
      .save((folder / "linear.pt").string());
  module_of("Random", R"(
def forward(self, features, list):
    x = torch.batch_norm(features, None, None, self.running_mean, self.running_var, self.training, 0.1, 1e-5, False)
    x = torch.dropout(x + list.sum(1).sum(1, keepdim=True), 0.3, self.training)
    return torch.linear(x, self.weight, self.bias)
)")
      .save((folder / "random.pt").string());
  return 0;
}
