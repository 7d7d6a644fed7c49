#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/thread_pool.h"
#include "linac/cli/compute/bench_measure.h"
#include "linac/cli/compute/verbs.h"
#include "linac/model/kernels/isa.h"
#include "linac/model/models/threedgan/cost.h"
#include "linac/model/models/threedgan/networks.h"
#include "linac/model/models/threedgan/threedgan.h"
#include "linac/model/models/torch_threads.h"

namespace linac::cli {
namespace {

namespace threedgan = models::threedgan;

struct BenchOptions {
  std::string model = "3dgan", precision = "fp32", kernels = "linac", device = "cpu";
  int64_t batch = 16;
  int threads = 1, repeat = 5;
  bool json = false;
};

// Made-up showers with the sparsity of real ones: a tenth of the cells holds energy.
struct MadeUpBatch {
  explicit MadeUpBatch(int64_t n)
      : image(static_cast<size_t>(n * threedgan::kCellsX * threedgan::kCellsY * threedgan::kCellsZ)),
        energy(static_cast<size_t>(n), 0.5F),
        angle(static_cast<size_t>(n), 1.57F),
        ecal(static_cast<size_t>(n), 50.0F) {
    fill_uniform({.seed = 1, .stream = Stream::kSample}, image);
    for (float& cell : image) cell = std::max(0.0F, cell - 0.9F);
  }
  threedgan::Batch view() const { return {image, energy, angle, ecal}; }

  std::vector<float> image, energy, angle, ecal;
};

void run_bench(const BenchOptions& options) {
  const models::Numerics numerics = models::numerics_of(options.kernels, options.precision, options.device);
  models::need_device(numerics.device);
  const threedgan::ThreeDGan model(job::ThreeDGanSettings{}, numerics);
  const graph::Parameters generator = model.initial_generator(1), discriminator = model.initial_discriminator(1);
  const MadeUpBatch made_up(options.batch);
  const threedgan::Batch batch = made_up.view();
  const threedgan::ThreeDGan::StepOptions step{
      .key = {.seed = 1}, .event_weight = 1.0 / static_cast<double>(options.batch), .flip = 0.05};

  // As in training: a replica is computed by a thread of the pool.
  ThreadPool pool(1, [&] { models::use_threads(options.threads); });
  const auto on_pool = [&](const std::function<void()>& work) {
    return [&pool, work] { pool.run(1, [&](int) { work(); }); };
  };
  const auto generate = [&] { return model.sampler().run(generator, model.fake_latents(batch, step.key)); };

  const auto showers = static_cast<double>(options.batch);
  nlohmann::ordered_json result{{"model", options.model},
                                {"batch", options.batch},
                                {"threads", options.threads},
                                {"precision", options.precision},
                                {"kernels", options.kernels},
                                {"device", options.device},
                                {"isa", kernels::to_string(kernels::best_isa())},
                                {"repeat", options.repeat}};
  result["generator_forward"] =
      measure(options.repeat, showers, threedgan::generator_gflop(model), on_pool([&] { generate(); }));
  result["step"] =
      measure(options.repeat, showers, threedgan::step_cost(model).folded_gflop, on_pool([&] {
                const auto fakes = generate();
                model.discriminator_step(discriminator, batch, batch.image, threedgan::Phase::kRealDiscriminator, step);
                model.discriminator_step(discriminator, batch, fakes, threedgan::Phase::kFakeDiscriminator, step);
                model.generator_step(generator, discriminator, batch, threedgan::Phase::kFirstGenerator, step);
                model.generator_step(generator, discriminator, batch, threedgan::Phase::kSecondGenerator, step);
              }));
  if (options.json) {
    fmt::print("{}\n", result.dump(2));
    return;
  }
  for (const char* name : {"generator_forward", "step"}) {
    const auto& part = result[name];
    fmt::print(
        "{:<18} {:.3f} s ({:.3f}-{:.3f}), CPU {:.3f} s, {:.2f} showers/s, {:.2f} showers per CPU second, {:.0f} "
        "GFLOP/s, peak {:.0f} MiB\n",
        name, part["wall_s"]["median"].get<double>(), part["wall_s"]["min"].get<double>(),
        part["wall_s"]["max"].get<double>(), part["cpu_s"]["median"].get<double>(), part["showers_per_s"].get<double>(),
        part["showers_per_cpu_s"].get<double>(), part["gflop_per_s"].get<double>(), part["peak_rss_mib"].get<double>());
  }
}

}  // namespace

void add_bench_verb(CLI::App& app) {
  auto* verb = add_handed_verb(app, "bench");
  verb->require_subcommand(1);
  auto options = std::make_shared<BenchOptions>();
  auto* step = verb->add_subcommand("step", "One training step of one replica, and the generator's forward pass");
  step->add_option("--model", options->model, "3dgan")->check(CLI::IsMember({"3dgan"}));
  step->add_option("--batch", options->batch, "showers a step")->check(CLI::Range(1, 4096));
  step->add_option("--threads", options->threads, "threads that compute the replica")->check(CLI::Range(1, 1024));
  step->add_option("--precision", options->precision, "fp32 or bf16")->check(CLI::IsMember({"fp32", "bf16"}));
  step->add_option("--kernels", options->kernels, "linac or aten")->check(CLI::IsMember({"linac", "aten"}));
  step->add_option("--device", options->device, "cpu or cuda")->check(CLI::IsMember({"cpu", "cuda"}));
  step->add_option("--repeat", options->repeat, "measured runs, after one that is not")->check(CLI::Range(1, 1000));
  step->add_flag("--json", options->json, "as JSON: wall_s and cpu_s with median, min and max");
  step->footer("Example: linac bench step --model 3dgan --batch 16 --threads 1 --precision fp32 --json");
  step->callback([options] { run_bench(*options); });

  add_shower_benches(*verb);
  add_kernel_bench(*verb);
  add_recurrent_bench(*verb);
  add_model_bench(*verb);
  add_scaling_bench(*verb);
  add_exchange_bench(*verb);
  add_input_bench(*verb);
  add_audit_bench(*verb);
}

}  // namespace linac::cli
