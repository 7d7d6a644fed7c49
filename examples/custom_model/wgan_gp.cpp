// A training of one's own in C++: a Wasserstein GAN with gradient penalty (Gulrajani et al., arXiv:1704.00028) that
// learns the high-level features of collisions. A step is several updates of the critic, then one of the generator.

#include <linac/plugin/plugin.h>
#include <torch/torch.h>

#include <fstream>

namespace {

using torch::Tensor;

torch::nn::Sequential network(int64_t from, int64_t width, int64_t to) {
  return torch::nn::Sequential(torch::nn::Linear(from, width), torch::nn::LeakyReLU(), torch::nn::Linear(width, width),
                               torch::nn::LeakyReLU(), torch::nn::Linear(width, to));
}

/// The mean of |x - y| over all pairs of rows.
Tensor mean_distance(const Tensor& x, const Tensor& y) {
  return torch::cdist(x, y).mean();
}

class WganGp : public linac::plugin::Loop {
 public:
  explicit WganGp(const linac::plugin::Options& options)
      : latent_(options.integer("latent", 16)),
        critic_updates_(options.integer("critic_updates", 5)),
        penalty_(options.number("gradient_penalty", 10)),
        generator_(network(latent_, options.integer("width", 64), kFeatures)),
        critic_(network(kFeatures, options.integer("width", 64), 1)) {}

  std::vector<std::pair<std::string, std::shared_ptr<torch::nn::Module>>> networks() const override {
    return {{"generator", generator_.ptr()}, {"critic", critic_.ptr()}};
  }
  std::vector<linac::plugin::Column> columns() const override { return {{"HLF_input", {kFeatures}}}; }

  std::vector<linac::plugin::Update> updates() const override {
    std::vector<linac::plugin::Update> step(static_cast<size_t>(critic_updates_),
                                            {"critic", "critic", {"total", "wasserstein", "gradient_penalty"}});
    step.push_back({"generator", "generator", {"total"}});
    return step;
  }

  std::vector<Tensor> losses(const linac::plugin::Update& update, const linac::plugin::Batch& batch) override {
    const Tensor fake = generated(batch.events);
    if (update.name == "generator") return {-critic_->forward(fake).mean()};
    const Tensor &real = batch.columns[0], distance = critic_->forward(real).mean() - critic_->forward(fake).mean();
    const Tensor penalty = gradient_penalty(real, fake);
    return {penalty_ * penalty - distance, distance.detach(), penalty.detach()};
  }

  // The energy distance of Szekely and Rizzo (J. Stat. Plan. Inference 143 (2013) 1249): 0 if the samples are alike.
  std::vector<std::string> measures() const override { return {"energy_distance"}; }
  std::vector<Tensor> test(const linac::plugin::Batch& batch) override {
    const Tensor real = batch.columns[0], fake = generated(batch.events);
    return {2 * mean_distance(real, fake) - mean_distance(real, real) - mean_distance(fake, fake)};
  }

  void hand_over(const std::filesystem::path& folder) override {
    const torch::NoGradGuard no_gradient;
    const Tensor sample = generated(1000);
    std::ofstream file(folder / "sample.csv");
    for (int64_t i = 0; i < sample.size(0); ++i) {
      for (int64_t k = 0; k < kFeatures; ++k) file << sample[i][k].item<float>() << (k + 1 < kFeatures ? ',' : '\n');
    }
    if (!file) throw std::runtime_error("sample.csv cannot be written");
  }

 private:
  static constexpr int64_t kFeatures = 14;

  Tensor generated(int64_t events) { return generator_->forward(torch::randn({events, latent_})); }

  // How far the critic's slope is from 1 between real and generated events.
  Tensor gradient_penalty(const Tensor& real, const Tensor& fake) {
    const Tensor share = torch::rand({real.size(0), 1});
    const Tensor between = (share * real + (1 - share) * fake).detach().requires_grad_();
    const Tensor score = critic_->forward(between);
    const Tensor slope = torch::autograd::grad({score}, {between}, {torch::ones_like(score)}, /*retain_graph=*/true,
                                               /*create_graph=*/true)[0];
    return (slope.norm(2, 1) - 1).square().mean();
  }

  const int64_t latent_, critic_updates_;
  const double penalty_;
  torch::nn::Sequential generator_, critic_;
};

}  // namespace

LINAC_LOOP(WganGp)
