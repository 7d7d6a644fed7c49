// Writes small TorchScript modules for fit_test.py: make_script FOLDER -> linear.pt, random.pt; and for
// gan_test.py generator.pt, discriminator.pt.

#include <torch/csrc/jit/api/module.h>
#include <torch/types.h>

#include <filesystem>
#include <string>

namespace {

torch::jit::Module module_of(const std::string& name, const torch::Tensor& weight, const std::string& forward) {
  torch::jit::Module module(name);
  module.register_attribute("training", c10::BoolType::get(), true);
  module.register_parameter("weight", weight.clone().set_requires_grad(true), false);
  module.register_parameter("bias", torch::zeros({weight.size(0)}, torch::requires_grad()), false);
  module.register_buffer("running_mean", torch::zeros({4}));
  module.register_buffer("running_var", torch::ones({4}));
  module.define(forward);
  return module;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::filesystem::path folder = arguments[1];
  module_of("Linear", torch::zeros({3, 4}), R"(
def forward(self, features, list):
    return torch.linear(features, self.weight, self.bias)
)")
      .save((folder / "linear.pt").string());
  module_of("Random", torch::zeros({3, 4}), R"(
def forward(self, features, list):
    x = torch.batch_norm(features, None, None, self.running_mean, self.running_var, self.training, 0.1, 1e-5, False)
    x = torch.dropout(x + list.sum(1).sum(1, keepdim=True), 0.3, self.training)
    return torch.linear(x, self.weight, self.bias)
)")
      .save((folder / "random.pt").string());
  torch::manual_seed(1);
  constexpr int64_t kCells = 24, kLatent = 8;
  module_of("Generator", torch::randn({kCells * kCells * kCells, kLatent}), R"(
def forward(self, latent):
    return torch.relu(torch.linear(latent, self.weight, self.bias)).view(-1, 24, 24, 24, 1)
)")
      .save((folder / "generator.pt").string());
  module_of("Discriminator", 0.01 * torch::randn({2, kCells * kCells * kCells}), R"(
def forward(self, image):
    x = torch.linear(torch.dropout(torch.flatten(image, 1), 0.2, self.training), self.weight, self.bias)
    return torch.sigmoid(x[:, :1]), x[:, 1:]
)")
      .save((folder / "discriminator.pt").string());
  return 0;
}
