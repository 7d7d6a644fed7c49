#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/base/base/rng.h"
#include "linac/cli/compute/bench_measure.h"
#include "linac/cli/compute/verbs.h"
#include "linac/model/kernels/peak.h"
#include "linac/model/kernels/recurrent.h"

namespace linac::cli {
namespace {

using kernels::RecurrentCell;

const std::map<std::string, RecurrentCell> kCells = {{"gru", RecurrentCell::kGruResetAfter},
                                                     {"gru_reset_before", RecurrentCell::kGruResetBefore},
                                                     {"lstm", RecurrentCell::kLstm}};

/// The Inclusive Classifier's layer, and lengths like those of its events (arXiv:1807.00083).
struct RecurrentBenchOptions {
  std::string cell = "gru";
  int64_t events = 128, steps = 801, features = 19, units = 50;
  double length = 177, length_sd = 75;
  int64_t shortest = 17, longest = 631;
  int repeat = 9;
  std::string precision = "fp32";
  bool sequences = false, json = false;
};

std::vector<float> random_floats(int64_t count, uint32_t lane, float scale) {
  std::vector<float> values(static_cast<size_t>(count));
  fill_normal({.seed = 1, .stream = Stream::kSample, .lane = lane}, values);
  for (float& value : values) value *= scale;
  return values;
}

/// Log-normal lengths with the mean and the deviation asked for, cut off: the first steps are valid.
std::vector<uint8_t> make_mask(const RecurrentBenchOptions& options) {
  const double variance = std::log1p(std::pow(options.length_sd / options.length, 2));
  std::vector<uint8_t> mask(static_cast<size_t>(options.events * options.steps));
  const std::vector<float> normal = random_floats(options.events, 9, 1.0F);
  for (int64_t event = 0; event < options.events; ++event) {
    const double length =
        options.length * std::exp(std::sqrt(variance) * double{normal[static_cast<size_t>(event)]} - variance / 2);
    const auto valid = std::clamp(static_cast<int64_t>(length), std::min(options.shortest, options.steps),
                                  std::min(options.longest, options.steps));
    std::fill_n(mask.begin() + event * options.steps, valid, uint8_t{1});
  }
  return mask;
}

/// A layer, a batch and room for the results.
class Batch {
 public:
  explicit Batch(const RecurrentBenchOptions& options)
      : events_(options.events),
        layer_(
            {kCells.at(options.cell), options.steps, options.features, options.units, true, false, options.sequences},
            kernels::best_isa(), options.precision == "bf16" ? kernels::Storage::kBfloat16 : kernels::Storage::kFloat),
        mask_(make_mask(options)),
        x_(random_floats(options.events * options.steps * options.features, 1, 1.0F)),
        kernel_(random_floats(layer_.shape().kernel_floats(), 2, 0.2F)),
        recurrent_(random_floats(layer_.shape().recurrent_floats(), 3, 0.15F)),
        bias_(random_floats(layer_.shape().bias_floats(), 4, 0.1F)),
        out_gradient_(random_floats(options.events * layer_.shape().out_floats(), 5, 1.0F)),
        out_(out_gradient_.size()),
        kernel_gradient_(kernel_.size()),
        recurrent_gradient_(recurrent_.size()),
        bias_gradient_(bias_.size()) {}

  void forward(kernels::Keep keep) {
    layer_.forward(events_, x_.data(), mask_.data(), weights(), out_.data(), keep, workspace_);
  }
  void backward() {
    layer_.backward(events_, weights(), out_gradient_.data(),
                    {kernel_gradient_.data(), recurrent_gradient_.data(), bias_gradient_.data(), nullptr}, workspace_);
  }
  const kernels::RecurrentShape& shape() const { return layer_.shape(); }
  std::vector<int64_t> lengths() const {
    std::vector<int64_t> lengths;
    for (int64_t event = 0; event < events_; ++event) {
      const auto first = mask_.begin() + event * shape().steps;
      lengths.push_back(std::count(first, first + shape().steps, uint8_t{1}));
    }
    return lengths;
  }
  double mean_length() const { return static_cast<double>(workspace_.plan.valid_steps) / static_cast<double>(events_); }

 private:
  kernels::RecurrentWeights weights() const { return {kernel_.data(), recurrent_.data(), bias_.data()}; }

  const int64_t events_;
  const kernels::Recurrent layer_;
  const std::vector<uint8_t> mask_;
  const std::vector<float> x_, kernel_, recurrent_, bias_, out_gradient_;
  std::vector<float> out_, kernel_gradient_, recurrent_gradient_, bias_gradient_;
  kernels::RecurrentWorkspace workspace_;
};

void run_recurrent_bench(const RecurrentBenchOptions& options) {
  const double peak = kernels::peak_gflops();
  Batch batch(options);
  batch.forward(kernels::Keep::kForBackward);
  const double steps = batch.mean_length();
  nlohmann::ordered_json result{{"isa", kernels::to_string(kernels::best_isa())},
                                {"peak_gflop_per_s", peak},
                                {"cell", options.cell},
                                {"precision", options.precision},
                                {"events", options.events},
                                {"mean_length", steps},
                                {"lengths", batch.lengths()},
                                {"repeat", options.repeat}};
  const auto run = [&](const char* name, double flop, const std::function<void()>& work) {
    const auto part = measure(options.repeat, static_cast<double>(options.events), 0, work);
    const double rate = static_cast<double>(options.events) / part["cpu_s"]["median"].get<double>();
    const double speed = 1e-9 * steps * flop * rate;
    result[name] = {
        {"cpu_s", part["cpu_s"]}, {"events_per_cpu_s", rate}, {"gflop_per_s", speed}, {"share_of_peak", speed / peak}};
    if (!options.json)
      fmt::print("{:<10} {:>9.0f} events per CPU second {:>6.0f} GFLOP/s ({:.0f} % of the peak)\n", name, rate, speed,
                 100 * speed / peak);
  };
  if (!options.json)
    fmt::print(
        "{}: {:.0f} GFLOP/s at most on one core. Batches of {} events of {:.0f} steps on average, median of {}\n",
        kernels::to_string(kernels::best_isa()), peak, options.events, steps, options.repeat);
  const double forward = batch.shape().forward_flop();
  run("inference", forward, [&] { batch.forward(kernels::Keep::kNothing); });
  run("training", forward + batch.shape().backward_flop(false), [&] {
    batch.forward(kernels::Keep::kForBackward);
    batch.backward();
  });
  if (options.json) fmt::print("{}\n", result.dump(2));
}

}  // namespace

void add_recurrent_bench(CLI::App& bench) {
  auto options = std::make_shared<RecurrentBenchOptions>();
  auto* verb = bench.add_subcommand(
      "recurrent", "A GRU or LSTM layer on events of many lengths: inference and training, one thread");
  verb->add_option("--cell", options->cell, "gru, gru_reset_before or lstm")->check(CLI::IsMember(kCells));
  verb->add_option("--events", options->events, "of a batch")->check(CLI::Range(1, 1 << 20));
  verb->add_option("--steps", options->steps, "time steps with their padding")->check(CLI::Range(1, 1 << 16));
  verb->add_option("--features", options->features, "of a step")->check(CLI::Range(1, 1 << 12));
  verb->add_option("--units", options->units, "of the layer")->check(CLI::Range(1, 1 << 12));
  verb->add_option("--length", options->length, "mean of the log-normal lengths, before they are cut off to 17 ... 631")
      ->check(CLI::PositiveNumber);
  verb->add_option("--length-sd", options->length_sd, "and their deviation")->check(CLI::NonNegativeNumber);
  verb->add_option("--precision", options->precision, "of what is kept for the backward pass: fp32 or bf16")
      ->check(CLI::IsMember({"fp32", "bf16"}));
  verb->add_flag("--sequences", options->sequences, "all steps' states, not the last one");
  verb->add_option("--repeat", options->repeat, "measured runs, after one that is not")->check(CLI::Range(1, 1000));
  verb->add_flag("--json", options->json, "as JSON");
  verb->footer("Example: linac bench recurrent --cell lstm");
  verb->callback([options] { run_recurrent_bench(*options); });
}

}  // namespace linac::cli
