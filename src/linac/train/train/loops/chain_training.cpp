#include "linac/train/train/loops/chain_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/io/storage/storage.h"
#include "linac/physics/physics/shower_record.h"
#include "linac/train/train/input/input.h"
#include "linac/train/train/loops/quick_figures.h"
#include "linac/train/train/monitor.h"
#include "linac/train/train/record/record.h"
#include "linac/train/trained/chain_run.h"

namespace linac::train {
namespace {

namespace cell_chain = models::cell_chain;

// The networks of the state.
constexpr size_t kModel = 0, kTables = 1;

constexpr double kSineMin = 0.2;  // of theta, as showers are drawn

physics::Geometry geometry_of(const job::CellChainSettings& settings) {
  return settings.geometry.empty() ? physics::clic_ecal()
                                   : physics::load_geometry(storage::local_copy(settings.geometry));
}

// The numbers of shower `event` of those that a key stands for.
RngKey key_of_shower(RngKey key, size_t event, int64_t lanes) {
  key.stream = Stream::kCells;
  key.lane = static_cast<uint32_t>(event) * static_cast<uint32_t>(lanes + 1);
  return key;
}

bool is_mirrored(const RngKey& key) {
  std::array<uint32_t, 4> bits{};
  fill_bits(key, 0, bits);
  return bits[0] % 2 == 1;
}

void need_fitting_showers(const chain::Detector& detector, const data::Dataset& set) {
  const EventShape wanted{detector.cells.x, detector.cells.y, static_cast<int64_t>(detector.sensor_depth.size())};
  const std::string& url = set.files().front().url;
  if (set.shape() != wanted)
    throw data_error(
        fmt::format("[data] {}: images have {} cells and the calorimeter {}; name its file as "
                    "model.geometry, or choose other data",
                    url, data::to_string(set.shape()), data::to_string(wanted)));
  const Range angles = set.angles(), energies = set.energies_gev();
  const bool fit = energies.low > 0 && std::min(std::sin(angles.low), std::sin(angles.high)) >= kSineMin;
  if (!fit)
    throw data_error(
        fmt::format("[data] {}: primaries of {:g}-{:g} GeV at theta {:g}-{:g}; a cell_chain takes energies "
                    "above 0 at sin theta of at least {}",
                    url, energies.low, energies.high, angles.low, angles.high, kSineMin));
}

}  // namespace

ChainLoop::ChainLoop(const job::Job& job, comm::Group& group, const Computing& computing, PhaseClock& clock)
    : job_(job),
      settings_(job.model.as<job::CellChainSettings>()),
      geometry_(geometry_of(settings_)),
      detector_(cell_chain::detector_of(geometry_)),
      model_(settings_, geometry_.depth()),
      start_(trained::chain_start_of(job, geometry_.depth())),
      input_(job),
      clock_(clock),
      update_(job, group, computing, clock) {
  for (const Monitor& monitor : monitors(job)) need_known_figure(monitor.name);
  need_directions(job, loss_name());
  need_fitting_showers(detector_, input_.train());
  if (input_.test()) need_fitting_showers(detector_, *input_.test());
}

std::string ChainLoop::explain() const {
  return fmt::format("  of each layer its energy, of its cells in eight passes a hit and one of {} classes of energy\n",
                     settings_.classes);
}

std::string ChainLoop::cost() const {
  // A backward pass costs its forward pass twice.
  return fmt::format("{:.4g} MFLOP a cell and layer that is learned from, some thousand of them a shower",
                     3 * graph::forward_flop(model_.graph()) / 1e6);
}

std::string ChainLoop::start() const {
  if (!start_) return "";
  return fmt::format(
      "{}{}: both networks, with the units and the classes of energy that they count in; the other tables "
      "are made anew from these showers",
      settings_.from.empty() ? settings_.file : settings_.from,
      start_->range ? fmt::format(", trained on {}", primaries::to_string(*start_->range)) : "");
}

nlohmann::json ChainLoop::notes() const {
  nlohmann::json notes = nlohmann::json::object();
  primaries::add_range(input_.range(std::nullopt), notes);
  return notes;
}

chain::MonteCarloShower ChainLoop::shower(const data::SampleBatch& batch, size_t event) const {
  const float* const entry = &batch.numbers[event * settings_.entry.size()];
  const auto place = [&](int64_t cells, float entry_mm, float shift) {
    return static_cast<float>(cells / 2) + 0.5F - shift + entry_mm / static_cast<float>(geometry_.cells.pitch_mm);
  };
  const auto cells = static_cast<size_t>(batch.shape.cells());
  return {.energy_gev = batch.energy[event],
          .theta = batch.angle[event],
          .entry = {place(detector_.cells.x, entry[0], entry[2]), place(detector_.cells.y, entry[1], entry[3])},
          .image = std::span(batch.image).subspan(event * cells, cells)};
}

TrainState ChainLoop::initial_state() const {
  data::SampleBatch batch;
  const cell_chain::TableShowers showers{.showers = train_events(),
                                         .energies_gev = input_.train().energies_gev(),
                                         .read = [&](int64_t event, std::vector<float>&) {
                                           input_.train().read(std::array{event}, batch);
                                           piece_is_done();
                                           return shower(batch, 0);
                                         }};
  std::optional<cell_chain::Kept> kept;
  if (start_) kept = cell_chain::kept_of(start_->parts);
  const cell_chain::Tables tables = cell_chain::derive_tables(settings_, detector_, showers, kept ? &*kept : nullptr);
  TrainState state;
  state.networks.push_back(trained::fresh_network(
      trained::kChainNetwork, model_.graph(),
      start_ ? cell_chain::parameters_of(model_.graph(), start_->parts, tables) : model_.initial(job_.train.seed),
      job_.train.optimizer));
  state.networks.push_back({.name = trained::kChainTables,
                            .parameters = cell_chain::to_parameters(settings_, tables),
                            .optimizer = optimizer::Optimizer(job_.train.optimizer, 0),
                            .update = {},
                            .constraints = {}});
  return state;
}

cell_chain::Tables ChainLoop::tables(const TrainState& state) const {
  return cell_chain::tables_of(settings_, state.networks[kTables].parameters);
}

void ChainLoop::seek(const TrainState& state) {
  update_.take_place(state);
  input_.seek(state, update_.owned());
}

chain::TrainingRows ChainLoop::rows(const cell_chain::Tables& tables, const data::SampleBatch& batch, const RngKey& key,
                                    bool mirror) const {
  chain::TrainingRows rows;
  chain::TrainingCells cells(tables.around, tables.scale, tables.edges);
  for (size_t event = 0; event < static_cast<size_t>(batch.events); ++event) {
    RngKey own = key_of_shower(key, event, cells.lanes_per_shower());
    const bool mirrored = mirror && is_mirrored(own);
    ++own.lane;
    cells.add(shower(batch, event), own, mirrored, rows);
  }
  return rows;
}

StepResult ChainLoop::step(TrainState& state, double learning_rate, StepWish wish, const Arrive& arrive) {
  std::vector<data::SampleBatch> batches;
  {
    const PhaseClock::Scope time(clock_, TimePhase::kInput);
    batches = input_.next().replicas;
  }
  update_.see_read(state, batches);
  const cell_chain::Tables tables = this->tables(state);
  const double weight = 1.0 / static_cast<double>(job_.train.batch * job_.train.replicas);
  static const std::vector<std::string> losses(cell_chain::kLossNames.begin(), cell_chain::kLossNames.end());
  const auto contribution = [&](const data::SampleBatch& batch, int replica, const graph::GradientReady& ready) {
    models::Contribution made = model_.step(state.networks[kModel].parameters, tables,
                                            rows(tables, batch, update_.key(state, replica), true), weight, ready);
    made.read = update_.read_digest(state, batch);
    return made;
  };
  StepResult result;
  update_.run(
      "", losses, state, kModel, learning_rate,
      [&](size_t i, const graph::GradientReady& ready) { return contribution(batches[i], update_.owned()[i], ready); },
      wish, result, {}, arrive,
      [&](int replica) {
        return contribution(update_.as_read(state, replica, input_.batch_of(state, replica)), replica, {});
      });
  return result;
}

std::vector<UpdateOutline> ChainLoop::updates(const TrainState& state, int) const {
  return {update_.outline("", state, kModel, cell_chain::kLossNames.size(), true)};
}

// What one replica finds out about its part of the test showers.
struct ChainLoop::Share {
  Share(const EventShape& shape, int64_t looked_at)
      : looked_at(looked_at),
        record_size(physics::record_size(shape)),
        message(kLosses + 2 * static_cast<size_t>(looked_at) * record_size) {}

  // Rows of drawn showers come first.
  std::span<float> record(bool real, int64_t event) {
    const auto row = static_cast<size_t>((real ? looked_at : 0) + event);
    return std::span(message).subspan(kLosses + row * record_size, record_size);
  }

  static constexpr size_t kLosses = cell_chain::kLossNames.size();
  int64_t looked_at;  // events that get a record: the first ones
  size_t record_size;
  AlignedFloats message;                   // losses, then records: zero where another replica looked
  std::optional<chain::ShowerChain> draw;  // where records are wanted
};

void ChainLoop::test_chunk(const TrainState& state, const cell_chain::Tables& tables, int64_t number,
                           Share& share) const {
  const data::Dataset& set = *input_.test();
  const int64_t first = number * job_.train.batch;
  std::vector<int64_t> wanted(static_cast<size_t>(std::min(job_.train.batch, set.size() - first)));
  std::iota(wanted.begin(), wanted.end(), first);
  data::SampleBatch batch;
  set.read(wanted, batch);
  // The cells of all epochs' tests are the same.
  const RngKey key{.seed = job_.train.seed, .step = static_cast<uint32_t>(number), .replica = ~0U};
  const std::vector<float> losses = model_.test(state.networks[kModel].parameters, tables,
                                                rows(tables, batch, key, false), 1.0 / static_cast<double>(set.size()));
  for (size_t i = 0; i < losses.size(); ++i) share.message[i] += losses[i];
  if (share.draw && first < share.looked_at) {
    physics::Observer observer(set.shape(), job_.validate.threshold_gev);
    chain::ShowerChain::Workspace workspace(*share.draw);
    std::vector<float> drawn(static_cast<size_t>(set.shape().cells()));
    for (size_t i = 0; i < wanted.size() && wanted[i] < share.looked_at; ++i) {
      const chain::MonteCarloShower real = shower(batch, i);
      share.draw->make(static_cast<double>(real.energy_gev), static_cast<double>(real.theta),
                       chain::chain_key(job_.train.seed, static_cast<uint64_t>(wanted[i])), drawn, workspace);
      for (const bool is_real : {false, true}) {
        physics::to_record(observer.observe(is_real ? real.image : drawn, static_cast<double>(real.energy_gev),
                                            static_cast<double>(real.theta)),
                           share.record(is_real, wanted[i]));
      }
      piece_is_done();
    }
  }
  piece_is_done();
}

TestResult ChainLoop::test(const TrainState& state, Figures figures) {
  const PhaseClock::Scope time(clock_, TimePhase::kTest);
  const data::Dataset& set = *input_.test();
  const int64_t looked_at = figures == Figures::kWanted ? std::min(set.size(), job_.validate.events) : 0;
  const cell_chain::Tables tables = this->tables(state);
  std::optional<chain::ChainParts> drawn;
  if (looked_at > 0) drawn = cell_chain::parts_of(state.networks[kModel].parameters, tables);
  Share whole(set.shape(), looked_at);
  update_.sum_chunks((set.size() + job_.train.batch - 1) / job_.train.batch,
                     [&](std::span<const int64_t> numbers, graph::PartLink*) {
                       Share share(set.shape(), looked_at);
                       if (drawn) share.draw.emplace(*drawn, job_.name);
                       for (const int64_t number : numbers) test_chunk(state, tables, number, share);
                       return std::move(share.message);
                     },
                     whole.message);
  TestResult result;
  for (size_t i = 0; i < Share::kLosses; ++i)
    result.losses[cell_chain::kLossNames[i]] = static_cast<double>(whole.message[i]);
  if (looked_at > 0) {
    const QuickFigures quick = quick_figures(set, looked_at, [&](bool real, int64_t event) {
      return physics::from_record(whole.record(real, event), set.shape());
    });
    result.physics = quick.values;
    result.signs_of_collapse = quick.signs_of_collapse;
  }
  return result;
}

std::vector<Column> ChainLoop::columns() const {
  std::vector<Column> columns;
  for (const char* loss : cell_chain::kLossNames) columns.push_back({loss, loss});
  return columns;
}

std::vector<Drawing> ChainLoop::drawings(const TrainState& state) const {
  return {drawing_of_measures(columns(), state.history, job_.name)};
}

std::vector<std::string> ChainLoop::hand_over(const TrainState& state, const RunFolder& folder) const {
  const auto path = folder.models() / "generator.chain";
  chain::save_chain({cell_chain::parts_of(state.networks[kModel].parameters, tables(state)), input_.range({})}, path);
  const Range energies = input_.train().energies_gev(), angles = input_.train().angles();
  return {fmt::format("model        {}", folder.shown(path)),
          fmt::format("generate     linac generate --model {} --energy {:.4g}:{:.4g} --theta {:.3g}:{:.3g} -n 100 "
                      "--seed 1 --out showers.h5",
                      folder.shown(folder.root()), energies.low, energies.high, angles.low, angles.high)};
}

}  // namespace linac::train
