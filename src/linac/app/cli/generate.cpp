#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "linac/app/cli/verbs.h"
#include "linac/base/error.h"
#include "linac/base/log.h"
#include "linac/base/progress.h"
#include "linac/base/thread_pool.h"
#include "linac/data/dataset.h"
#include "linac/data/shower_writer.h"
#include "linac/models/threedgan/generator.h"
#include "linac/models/torch_threads.h"
#include "linac/physics/measured_angle.h"
#include "linac/train/model_file.h"

namespace linac::app {
namespace {

constexpr int64_t kChunk = 16;  // events computed at once; their noise is keyed by the chunk, so threads change nothing

struct GenerateOptions {
  std::string model, like, energy, theta, out;
  int64_t events = 0;
  uint64_t seed = 0;
};

struct Range {
  double low, high;
};

Range parse_range(const std::string& text, const std::string& flag) {
  const size_t colon = text.find(':');
  try {
    size_t used_low = 0, used_high = 0;
    const std::string low = text.substr(0, colon), high = colon == std::string::npos ? low : text.substr(colon + 1);
    const Range range{std::stod(low, &used_low), std::stod(high, &used_high)};
    if (used_low == low.size() && used_high == high.size() && range.low <= range.high) return range;
  } catch (const std::logic_error&) {  // not a number
  }
  throw user_error(fmt::format("[generate] {} {}: expected LOW:HIGH, e.g. {}", flag, text,
                               flag == "--energy" ? "10:100" : "1.05:2.09"));
}

struct Primaries {
  std::vector<float> energy_gev, theta;
};

std::vector<float> draw(size_t n, const Range& range, uint64_t seed, uint32_t lane) {
  std::vector<float> values(n);
  fill_uniform({.seed = seed, .stream = Stream::kSample, .lane = lane}, values);
  for (float& value : values) value = static_cast<float>(range.low + value * (range.high - range.low));
  return values;
}

Primaries primaries_of(const GenerateOptions& options, double energy_unit_gev) {
  if (!options.like.empty()) {
    data::Preprocessing everything;
    everything.min_sum = -1;  // as many showers as the file has
    const auto dataset = data::Dataset::open({options.like}, {}, everything);
    const int64_t n = options.events > 0 ? std::min(options.events, dataset->size()) : dataset->size();
    Primaries primaries;
    for (int64_t first = 0; first < n; first += kChunk) {
      std::vector<int64_t> events;
      for (int64_t i = first; i < std::min(n, first + kChunk); ++i) events.push_back(i);
      data::SampleBatch batch;
      dataset->read(events, batch);
      for (const float energy : batch.energy)
        primaries.energy_gev.push_back(static_cast<float>(energy * energy_unit_gev));
      primaries.theta.insert(primaries.theta.end(), batch.angle.begin(), batch.angle.end());
    }
    return primaries;
  }
  if (options.energy.empty() || options.theta.empty() || options.events <= 0) {
    throw user_error("[generate] give --like FILE, or --energy LOW:HIGH, --theta LOW:HIGH and -n N");
  }
  const auto n = static_cast<size_t>(options.events);
  const Range energy = parse_range(options.energy, "--energy"), theta = parse_range(options.theta, "--theta");
  if (energy.low <= 0) throw user_error("[generate] --energy: energies must be positive (GeV)");
  if (theta.low <= 0 || theta.high >= M_PI)
    throw user_error("[generate] --theta: angles must lie between 0 and pi (rad)");
  return {draw(n, energy, options.seed, 0), draw(n, theta, options.seed, 1)};
}

// Undoes power and scale: training units -> GeV.
void to_gev(const spec::Job& job, std::vector<float>& images) {
  const auto inverse_power = static_cast<float>(1 / job.model.power),
             inverse_scale = static_cast<float>(1 / job.data.scale);
  for (float& cell : images) cell = cell > 0 ? std::pow(cell, inverse_power) * inverse_scale : 0.0F;
}

void run_generate(const GenerateOptions& options) {
  const train::GeneratorModel model = train::load_generator(options.model);
  const models::threedgan::Generator generator(model.graph);
  const double energy_unit_gev = data::Preprocessing{}.energy_unit_gev;
  const Primaries primaries = primaries_of(options, energy_unit_gev);
  const auto events = static_cast<int64_t>(primaries.energy_gev.size());
  const graph::Shape& image = model.graph.nodes[static_cast<size_t>(model.graph.outputs[0])].output;
  const data::EventShape shape{image[0], image[1], image[2]};
  data::ShowerFileWriter writer(options.out, shape, {"mtheta"});
  writer.set_attribute("source", fmt::format("linac generate --model {} --seed {}", model.source, options.seed));
  log::info(fmt::format("{} showers by {}", events, model.source));

  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  ThreadPool pool(threads, [] { models::use_threads(1); });
  Progress progress("generating", events);
  const auto begin = std::chrono::steady_clock::now();
  double computing = 0;
  for (int64_t first = 0; first < events; first += kChunk * threads) {
    const auto compute_begin = std::chrono::steady_clock::now();
    std::vector<std::vector<float>> images(static_cast<size_t>(threads));
    pool.run(threads, [&](int thread) {
      const int64_t chunk_first = first + thread * kChunk, n = std::min(kChunk, events - chunk_first);
      if (n <= 0) return;
      const auto offset = static_cast<size_t>(chunk_first), size = static_cast<size_t>(n);
      std::vector<float> energy(primaries.energy_gev.begin() + chunk_first,
                                primaries.energy_gev.begin() + chunk_first + n);
      for (float& value : energy) value = static_cast<float>(value / energy_unit_gev);
      const RngKey key{.seed = options.seed,
                       .stream = Stream::kSample,
                       .lane = 2,
                       .step = static_cast<uint32_t>(chunk_first / kChunk)};
      auto& result = images[static_cast<size_t>(thread)];
      result = generator.run(model.parameters,
                             generator.latents(energy, std::span(primaries.theta).subspan(offset, size), key));
      to_gev(model.job, result);
    });
    computing += std::chrono::duration<double>(std::chrono::steady_clock::now() - compute_begin).count();
    int64_t done = first;
    for (const auto& chunk : images) {
      if (chunk.empty()) continue;
      const auto n = static_cast<size_t>(static_cast<int64_t>(chunk.size()) / shape.cells()),
                 offset = static_cast<size_t>(done);
      const auto measured = physics::measured_angles(chunk, shape.x, shape.y, shape.z, physics::LayerWeight::kEqual);
      const std::vector<std::vector<float>> columns{{measured.begin(), measured.end()}};
      writer.append(chunk, std::span(primaries.energy_gev).subspan(offset, n),
                    std::span(primaries.theta).subspan(offset, n), columns);
      done += static_cast<int64_t>(n);
    }
    progress.update(done, fmt::format("{:.1f} showers/s", static_cast<double>(done) / computing));
  }
  writer.close();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  progress.finish("");
  fmt::print("{}: {} showers, {:.1f} showers/s ({:.1f} with writing) on {} threads\n", options.out, events,
             static_cast<double>(events) / computing, static_cast<double>(events) / seconds, threads);
}

}  // namespace

void add_generate_verb(CLI::App& app) {
  auto options = std::make_shared<GenerateOptions>();
  auto* verb = app.add_subcommand("generate", "Makes showers with a trained generator");
  verb->add_option("--model", options->model, "folder of a run, a checkpoint or a .keras file")->required();
  verb->add_option("--like", options->like, "take energies and angles from this file");
  verb->add_option("--energy", options->energy, "GeV, LOW:HIGH, uniform");
  verb->add_option("--theta", options->theta, "polar angle in rad, LOW:HIGH, uniform");
  verb->add_option("-n,--events", options->events, "number of showers");
  verb->add_option("--seed", options->seed, "the same seed gives the same showers")->required();
  verb->add_option("--out", options->out, "HDF5 file to write: ECAL in GeV, energy, theta, ...")->required();
  verb->footer(
      "Examples:\n"
      "  linac generate --model runs/3dgan-geant4 --like data/showers-test.h5 --seed 1 --out generated.h5\n"
      "  linac generate --model generator.keras --energy 10:100 --theta 1.05:2.09 -n 1000 --seed 1 --out generated.h5");
  verb->callback([options] { run_generate(*options); });
}

}  // namespace linac::app
