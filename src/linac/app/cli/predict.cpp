#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "linac/app/cli/verbs.h"
#include "linac/base/error.h"
#include "linac/base/log.h"
#include "linac/base/progress.h"
#include "linac/base/thread_pool.h"
#include "linac/data/event_arrays.h"
#include "linac/graph/keras_archive.h"
#include "linac/models/network.h"
#include "linac/models/torch_threads.h"

namespace linac::app {
namespace {

struct PredictOptions {
  std::string model, data, out;
  std::vector<std::string> fields;  // "input=data set"
  int64_t batch = 256;
  int threads = 0;
};

/// The data set of each input: the one of its name, if --field says nothing else.
std::vector<std::string> data_sets(const PredictOptions& options, const models::Network& network) {
  std::map<std::string, std::string> renamed;
  for (const std::string& field : options.fields) {
    const size_t equals = field.find('=');
    if (equals == std::string::npos || equals == 0)
      throw user_error(fmt::format("[predict] --field {}: wanted is INPUT=DATA_SET", field));
    renamed[field.substr(0, equals)] = field.substr(equals + 1);
  }
  std::vector<std::string> inputs, sets;
  for (const graph::Node& input : network.inputs()) {
    const auto found = renamed.find(input.name);
    sets.push_back(found == renamed.end() ? input.name : found->second);
    if (found != renamed.end()) renamed.erase(found);
    inputs.push_back(input.name);
  }
  if (!renamed.empty()) {
    throw user_error(fmt::format("[predict] --field {}: the model has no such input (it has: {})",
                                 renamed.begin()->first, fmt::join(inputs, ", ")));
  }
  return sets;
}

/// Reshaping within an event is harmless, e.g. of an image's channel axis.
void check_shapes(const PredictOptions& options, const models::Network& network, const data::EventArrays& arrays,
                  const std::vector<std::string>& sets) {
  for (size_t i = 0; i < sets.size(); ++i) {
    const graph::Node& input = network.inputs()[i];
    if (graph::elements(arrays.shape(i)) == graph::elements(input.output)) continue;
    throw data_error(fmt::format("[predict] {}: '{}' has events of shape {}, the model's input '{}' takes {}",
                                 options.data, sets[i], graph::to_string(arrays.shape(i)), input.name,
                                 graph::to_string(input.output)));
  }
}

void run_predict(const PredictOptions& options) {
  const models::Network network(graph::read_keras(options.model));
  const std::vector<std::string> sets = data_sets(options, network);
  const data::EventArrays arrays(options.data, sets);
  check_shapes(options, network, arrays, sets);
  std::vector<data::EventArrayShape> outputs;
  std::vector<size_t> places;  // of the model's outputs; one that it names twice is written once
  for (const graph::Node& output : network.outputs()) {
    const auto same = std::find_if(outputs.begin(), outputs.end(),
                                   [&](const data::EventArrayShape& other) { return other.name == output.name; });
    places.push_back(static_cast<size_t>(same - outputs.begin()));
    if (same == outputs.end()) outputs.push_back({output.name, output.output});
  }
  const int64_t events = arrays.events();
  data::EventArraysWriter writer(options.out, outputs, events);

  const int threads = options.threads > 0 ? options.threads : static_cast<int>(std::thread::hardware_concurrency());
  ThreadPool pool(std::max(1, threads), [] { models::use_threads(1); });
  Progress progress("predicting", events);
  for (int64_t first = 0; first < events; first += threads * options.batch) {
    const int64_t batches = std::min<int64_t>(threads, (events - first + options.batch - 1) / options.batch);
    std::vector<std::vector<std::vector<float>>> results(static_cast<size_t>(batches));
    const auto begin = [&](int64_t i) { return first + i * options.batch; };
    pool.run(static_cast<int>(batches), [&](int i) {
      const int64_t count = std::min(options.batch, events - begin(i));
      std::vector<std::vector<float>> values;
      for (size_t input = 0; input < sets.size(); ++input) values.push_back(arrays.read(input, begin(i), count));
      results[static_cast<size_t>(i)] = network.run(values, count);
    });
    for (int64_t i = 0; i < batches; ++i) {
      const auto& of_batch = results[static_cast<size_t>(i)];
      for (size_t output = 0; output < of_batch.size(); ++output)
        writer.write(places[output], begin(i), of_batch[output]);
    }
    const int64_t done = std::min(events, begin(batches));
    progress.update(done, fmt::format("{} events", done));
  }
  progress.finish("");
  writer.close();
  log::info(fmt::format("{}: {} events by {}", options.out, events, options.model));
}

}  // namespace

void add_predict_verb(CLI::App& app) {
  auto options = std::make_shared<PredictOptions>();
  auto* verb = app.add_subcommand("predict", "Computes every output of a Keras model for events in HDF5");
  verb->add_option("--model", options->model, "a .keras file of Keras 3")->required();
  verb->add_option("--data", options->data, "HDF5 file with a data set [events, ...] for each input of the model")
      ->required();
  verb->add_option("--out", options->out, "HDF5 file to write, with a data set for each output")->required();
  verb->add_option("--field", options->fields, "INPUT=DATA_SET, where the names differ (may be repeated)");
  verb->add_option("--batch", options->batch, "events computed at once")->check(CLI::Range(1, 1 << 20));
  verb->add_option("--threads", options->threads, "batches side by side; 0: as many as there are processors")
      ->check(CLI::Range(0, 1024));
  verb->footer(
      "Example:\n"
      "  linac predict --model classifier.keras --data events.h5 --field hlf_input=HLF --out scores.h5");
  verb->callback([options] { run_predict(*options); });
}

}  // namespace linac::app
