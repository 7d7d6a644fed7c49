#include "linac/train/train/loops/custom.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "linac/base/base/piece_of_work.h"
#include "linac/base/base/write_fence.h"
#include "linac/train/train/monitor.h"
#include "linac/train/train/record/record.h"
#include "linac/train/trained/labelled_data.h"
#include "linac/train/trained/trained_model.h"

namespace linac::train {
namespace {

models::CustomTraining::Weights weights_of(const TrainState& state) {
  models::CustomTraining::Weights weights;
  for (const Network& network : state.networks) weights.push_back(&network.parameters);
  return weights;
}

std::vector<std::span<const float>> views(const data::TableBatch& batch) {
  return {batch.columns.begin(), batch.columns.end()};
}

}  // namespace

CustomLoop::CustomLoop(const job::Job& job, std::shared_ptr<const plugin::Library> library, comm::Group& group,
                       const Computing& computing, PhaseClock& clock)
    : job_(job),
      training_(std::move(library), job.train.seed),
      input_(job, columns_read()),
      clock_(clock),
      update_(job, group, computing, clock) {
  if (group.rank() == 0) input_.warn();
}

std::vector<data::ColumnRequest> CustomLoop::columns_read() const {
  need_known_monitors(job_, measures(),
                      "a plug-in names others in measures(), which want data.test or data.validation_split");
  need_directions(job_, loss_name());
  return trained::input_columns(job_, training_.columns());
}

// Those of a step in their order, then those of a test.
std::vector<std::string> CustomLoop::measures() const {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const auto& update : training_.updates())
    for (const std::string& loss : update.losses) add(update.name + "/" + loss);
  if (job_.data.tests())
    for (const std::string& measure : training_.measures()) add(measure);
  return names;
}

std::string CustomLoop::loss_name() const {
  const bool tested = job_.data.tests() && !training_.measures().empty();
  return tested ? training_.measures().front() : measures().front();
}

std::vector<const graph::Graph*> CustomLoop::graphs() const {
  std::vector<const graph::Graph*> graphs;
  for (const auto& network : training_.networks()) graphs.push_back(&network.graph);
  return graphs;
}

std::string CustomLoop::explain() const {
  std::string text;
  for (const auto& update : training_.updates())
    text += fmt::format("  {}: changes {}\n", update.name, training_.networks()[update.network].graph.name);
  return text;
}

std::string CustomLoop::cost() const {
  return fmt::format("{} updates by {}", training_.updates().size(), job_.model.as<job::CustomSettings>().file);
}

TrainState CustomLoop::initial_state() const {
  TrainState state;
  for (const auto& network : training_.networks()) {
    state.networks.push_back(
        trained::fresh_network(network.graph.name, network.graph, network.parameters, job_.train.optimizer));
  }
  return state;
}

StepResult CustomLoop::step(TrainState& state, double learning_rate, StepWish wish, const Arrive&) {
  std::vector<data::TableBatch> batches;
  {
    const PhaseClock::Scope time(clock_, TimePhase::kInput);
    batches = input_.next();
  }
  update_.see_read(state, batches);
  StepResult result;
  Measures sums;
  std::map<std::string, int> times;
  for (size_t i = 0; i < training_.updates().size(); ++i) {
    const auto& update = training_.updates()[i];
    const auto contribution = [&](const data::TableBatch& batch, int replica) {
      models::Contribution made = training_.update(i, weights_of(state), job_.train.batch, views(batch),
                                                   update_.key(state, replica), 1.0 / job_.train.replicas);
      made.read = update_.read_digest(state, batch);
      return made;
    };
    const auto compute = [&](size_t owned, const graph::GradientReady&) {
      return contribution(batches[owned], update_.owned()[owned]);
    };
    const auto again = [&](int replica) {
      return contribution(update_.as_read(state, replica, input_.batch_of(state, replica)), replica);
    };
    result.losses.clear();
    const bool applied = update_.run(update.name + "/", update.losses, state, update.network, learning_rate, compute,
                                     wish, result, {}, {}, again);
    for (const auto& [name, value] : result.losses) {
      sums[name] += value;
      ++times[name];
    }
    if (!applied) break;
  }
  for (const auto& [name, sum] : sums) result.losses[name] = sum / times[name];
  return result;
}

// A plug-in's gradients are known when it returns.
std::vector<UpdateOutline> CustomLoop::updates(const TrainState& state, int) const {
  std::vector<UpdateOutline> updates;
  for (const auto& update : training_.updates())
    updates.push_back(update_.outline(update.name, state, update.network, update.losses.size(), false));
  return updates;
}

TestResult CustomLoop::test(const TrainState& state, Figures) {
  TestResult result;
  const size_t measures = training_.measures().size();
  if (measures == 0) return result;
  const PhaseClock::Scope time(clock_, TimePhase::kTest);
  const data::EventTable& table = input_.test();
  const int64_t chunk_events = job_.train.batch;
  const auto share = [&](std::span<const int64_t> chunks, graph::PartLink*) {
    AlignedFloats sums(measures, 0.0F);
    for (const int64_t chunk : chunks) {
      const int64_t first = chunk * chunk_events;
      std::vector<int64_t> wanted(static_cast<size_t>(std::min(chunk_events, table.size() - first)));
      std::iota(wanted.begin(), wanted.end(), first);
      data::TableBatch batch;
      table.read(wanted, batch);
      const RngKey key{
          .seed = job_.train.seed, .epoch = static_cast<uint32_t>(state.epoch), .step = static_cast<uint32_t>(chunk)};
      const auto values = training_.test(weights_of(state), batch.events, views(batch), key,
                                         static_cast<double>(batch.events) / static_cast<double>(table.size()));
      std::transform(sums.begin(), sums.end(), values.begin(), sums.begin(), std::plus<>());
      piece_is_done();
    }
    return sums;
  };
  AlignedFloats total(measures);
  update_.sum_chunks((table.size() + chunk_events - 1) / chunk_events, share, total);
  for (size_t i = 0; i < measures; ++i) result.losses[training_.measures()[i]] = total[i];
  return result;
}

std::vector<Column> CustomLoop::columns() const {
  std::vector<Column> columns;
  for (const std::string& measure : measures()) columns.push_back({measure, measure});
  return columns;
}

std::vector<Drawing> CustomLoop::drawings(const TrainState& state) const {
  return {drawing_of_measures(columns(), state.history, job_.name)};
}

std::vector<std::string> CustomLoop::hand_over(const TrainState& state, const RunFolder& folder) const {
  std::vector<std::string> lines;
  nlohmann::json notes{{"job", job::to_yaml(job_)}};
  if (nlohmann::json transform = input_.transform_json(); !transform.is_null()) notes["transform"] = transform;
  for (const Network& network : state.networks)
    lines.push_back(
        fmt::format("weights      {}", folder.shown(trained::save_weights(network, notes, folder.models()))));
  fill_folder(folder.models(), [&](const std::filesystem::path& models) {
    training_.hand_over(weights_of(state), models, {.seed = job_.train.seed, .stream = Stream::kSample});
  });
  return lines;
}

}  // namespace linac::train
