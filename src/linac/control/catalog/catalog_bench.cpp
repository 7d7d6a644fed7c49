#include "linac/control/catalog/catalog_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "linac/control/catalog/catalog.h"
#include "linac/control/catalog/curves.h"
#include "linac/control/catalog/metrics.h"
#include "linac/control/catalog/runs.h"

namespace linac::catalog {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Of this process, in MB.
double memory_peak_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) / 1024;
  return 0;
}

class Bench {
 public:
  Bench(const CatalogBenchOptions& options, const std::function<void(const CatalogBenchFigure&)>& tell)
      : options_(options), tell_(tell), catalog_(options.url) {}

  std::vector<CatalogBenchFigure> all() {
    const double batches = requests_per_second(options_.batch_points);
    add({"points a second in batches", batches * options_.batch_points, 0, "1/s"});
    add({"single points a second", requests_per_second(1), 0, "1/s"});
    fill_runs();
    RunSearch page;
    page.limit = 100;
    search("first 100 runs, newest first", page);
    page.filter = "params.lr = '0.001' AND metrics.m0 > 0.1";
    page.order = {"metrics.m1 DESC"};
    search("first 100 runs by a metric", page);
    fill_curve();
    thin();
    add({"memory at most", memory_peak_mb(), 0, "MB"});
    return figures_;
  }

 private:
  void add(CatalogBenchFigure figure) {
    tell_(figure);
    figures_.push_back(std::move(figure));
  }

  /// Each writer has a run of its own and waits for each answer, as a client does.
  double requests_per_second(int points_of_request) {
    std::atomic<int64_t> done = 0;
    std::atomic<bool> stop = false;
    std::vector<std::thread> writers;
    const auto begin = Clock::now();
    for (int w = 0; w < options_.writers; ++w) {
      writers.emplace_back([&] {
        const std::string id = catalog_.write([](Database& d) { return create_run(d, NewRun()).id; });
        std::vector<KeyedPoint> points;
        for (int i = 0; i < points_of_request; ++i) points.push_back({fmt::format("m{}", i % 10), {}});
        for (int64_t step = 0; step == 0 || !stop; ++step) {
          for (auto& p : points) p.point = {step, 1700000000000 + step, 1.0 / static_cast<double>(step + 1)};
          catalog_.write([&](Database& d) { append_points(d, id, points); });
          ++done;
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(options_.seconds));
    stop = true;
    for (auto& writer : writers) writer.join();
    return static_cast<double>(done) / seconds_since(begin);
  }

  void fill_runs() {
    constexpr int kTogether = 200;
    for (int first = 0; first < options_.runs; first += kTogether) {
      catalog_.write([&](Database& d) {
        for (int i = first; i < std::min(first + kTogether, options_.runs); ++i) {
          NewRun run;
          run.started_ms = 1700000000000 + i;
          run.tags = {{"site", i % 3 == 0 ? "T1" : "T2"}};
          const std::string id = create_run(d, run).id;
          set_parameters(d, id,
                         {{"lr", i % 2 == 0 ? "0.001" : "0.01"}, {"batch", "16"}, {"seed", fmt::format("{}", i)}});
          std::vector<KeyedPoint> points;
          for (int m = 0; m < options_.metrics_of_run; ++m)
            points.push_back(
                {fmt::format("m{}", m), {1, run.started_ms, static_cast<double>((i * 7919 + m) % 1000) / 1000}});
          append_points(d, id, points);
        }
      });
    }
  }

  void fill_curve() {
    constexpr int64_t kTogether = 1000;
    curve_ = catalog_.write([](Database& d) { return create_run(d, NewRun()).id; });
    for (int64_t first = 0; first < options_.curve_points; first += kTogether) {
      std::vector<KeyedPoint> points;
      for (int64_t i = first; i < std::min(first + kTogether, options_.curve_points); ++i)
        points.push_back({"loss", {i, 1700000000000 + i, 1.0 / static_cast<double>(i + 1)}});
      catalog_.write([&](Database& d) { append_points(d, curve_, points); });
    }
  }

  template <class F>
  void time(const std::string& name, F question) {
    std::vector<double> times;
    for (int i = 0; i < options_.repeats; ++i) {
      const auto begin = Clock::now();
      catalog_.read(question);
      times.push_back(seconds_since(begin) * 1000);
    }
    std::sort(times.begin(), times.end());
    add({name, times[times.size() / 2], times[times.size() * 99 / 100], "ms"});
  }

  void search(const std::string& name, const RunSearch& search) {
    time(name, [&](Database& d) { search_runs(d, Viewer::of_all(), search); });
  }
  void thin() {
    time(fmt::format("curve of {} points in 1000 stretches", options_.curve_points),
         [&](Database& d) { thinned(d, curve_, "loss", 1000); });
  }

  const CatalogBenchOptions& options_;
  const std::function<void(const CatalogBenchFigure&)>& tell_;
  Catalog catalog_;
  std::string curve_;
  std::vector<CatalogBenchFigure> figures_;
};

}  // namespace

std::vector<CatalogBenchFigure> measure_catalog(const CatalogBenchOptions& options,
                                                const std::function<void(const CatalogBenchFigure&)>& tell) {
  return Bench(options, tell).all();
}

}  // namespace linac::catalog
