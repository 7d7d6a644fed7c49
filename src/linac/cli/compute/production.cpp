#include "linac/cli/compute/production.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>

#include "linac/base/base/progress.h"
#include "linac/io/storage/output.h"
#include "linac/io/storage/storage.h"
#include "linac/physics/physics/measured_angle.h"

namespace linac::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

void produce(const Production& production, const Primaries& primaries, ThreadPool& pool, const ShowerMaker& make) {
  std::vector<std::string> inputs = primaries.files;
  inputs.push_back(production.source);
  storage::need_another_file(production.out, inputs, "out");
  storage::need_ending(production.out, {".h5", ".hdf5"}, "out");
  const data::EventShape& shape = production.shape;
  const storage::Output out(production.out);
  std::vector<std::string> columns = production.columns;
  columns.emplace_back("mtheta");
  data::ShowerFileWriter writer(out.path(), shape, columns);
  for (const auto& [name, text] : production.attributes) writer.set_attribute(name, text);

  const int64_t events = primaries.size();
  const int threads = pool.threads();
  Progress progress(production.label, events);
  const auto begin = Clock::now();
  double making_s = 0;
  int64_t done = 0;
  std::vector<Showers> chunks(static_cast<size_t>(threads));
  while (done < events) {
    const auto first_of = [&](int thread) { return std::min(events, done + thread * kShowersAtOnce); };
    const auto count_of = [&](int thread) { return std::min(kShowersAtOnce, events - first_of(thread)); };
    const auto making_begin = Clock::now();
    pool.run(threads, [&](int i) {
      chunks[static_cast<size_t>(i)] = count_of(i) > 0
                                           ? make(first_of(i), count_of(i), i)
                                           : Showers{{}, std::vector<std::vector<float>>(production.columns.size())};
    });
    making_s += seconds_since(making_begin);
    pool.run(threads, [&](int i) {
      Showers& chunk = chunks[static_cast<size_t>(i)];
      const auto angles =
          physics::measured_angles(chunk.images, shape.x, shape.y, shape.z, physics::LayerWeight::kEqual);
      chunk.columns.emplace_back(angles.begin(), angles.end());
    });
    for (const Showers& chunk : chunks) {
      const size_t n = chunk.columns.back().size(), first = static_cast<size_t>(done);
      writer.append(chunk.images, std::span(primaries.energy_gev).subspan(first, n),
                    std::span(primaries.theta).subspan(first, n), chunk.columns);
      done += static_cast<int64_t>(n);
    }
    progress.update(done, fmt::format("{:.1f} showers/s", static_cast<double>(done) / making_s));
  }
  writer.close();
  out.publish();
  progress.finish("");
  fmt::print("{}: {} showers, {:.1f} showers/s ({:.1f} with writing) on {} threads\n", production.out, events,
             static_cast<double>(events) / making_s, static_cast<double>(events) / seconds_since(begin), threads);
}

}  // namespace linac::cli
