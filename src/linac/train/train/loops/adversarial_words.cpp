// What the training of the 3DGAN tells, and the trained generator as a file.

#include <fmt/format.h>

#include "linac/model/models/threedgan/cost.h"
#include "linac/physics/plot/losses.h"
#include "linac/physics/plot/projections.h"
#include "linac/train/train/loops/adversarial.h"
#include "linac/train/train/loops/loop.h"
#include "linac/train/train/record/record.h"
#include "linac/train/trained/gan_architecture.h"
#include "linac/train/trained/model_file.h"

namespace linac::train {

std::string AdversarialLoop::explain() const {
  return model_.explain();
}

std::string AdversarialLoop::cost() const {
  const auto& architecture = model_.architecture();
  if (architecture.foreign_generator || architecture.foreign_discriminator) return "not known: foreign code";
  const auto cost = models::threedgan::step_cost(model_);
  return fmt::format("{:.1f} GFLOP a shower ({:.1f} without folding the up-sampling)", cost.folded_gflop, cost.gflop);
}

std::string AdversarialLoop::start() const {
  if (!start_.generator) return "";
  const auto& model = job_.model.as<job::ThreeDGanSettings>();
  return fmt::format("{}: the generator; the discriminator {}", model.from.empty() ? model.file : model.from,
                     start_.discriminator ? "too" : "begins from nothing");
}

nlohmann::json AdversarialLoop::notes() const {
  nlohmann::json notes = nlohmann::json::object();
  primaries::add_range(input_.range(place_), notes);
  return notes;
}

std::string AdversarialLoop::stage(int64_t epoch, int64_t step) const {
  const int64_t first = job_.train.discriminator_first, done = epoch * steps_per_epoch(job_, train_events()) + step;
  return first > 0 && done <= first ? fmt::format("discriminator alone {}/{}", done, first) : "";
}

int64_t AdversarialLoop::steps_with(const std::string& loss, int64_t epoch, int64_t steps_per_epoch) const {
  return loss.starts_with(kGeneratorPrefix) ? steps_per_epoch - alone(epoch) : steps_per_epoch;
}

std::vector<Column> AdversarialLoop::columns() const {
  return {{"d_real/total", "D real"}, {"d_fake/total", "D fake"}, {"g/total", "G"}};
}

std::vector<Drawing> AdversarialLoop::drawings(const TrainState& state) const {
  if (!projections_) return {};
  plot::ProjectionCaption caption{.run = job_.name, .epoch = state.epoch, .showers = test_events()};
  const Range energies = input_.test()->energies_gev(), angles = input_.test()->angles();
  caption.energy_gev_min = energies.low;
  caption.energy_gev_max = energies.high;
  caption.angle_rad_min = angles.low;
  caption.angle_rad_max = angles.high;
  Drawing showers{fmt::format("epoch-{:03}.png", state.epoch), "showers",
                  [generated = projections_->generated.mean(), reference = projections_->reference.mean(), caption] {
                    return plot::draw_projections(plot::shower_maps(generated), plot::shower_maps(reference), caption);
                  }};
  Drawing losses = drawing_of_losses("", job_.name,
                                     {{.title = "discriminator",
                                       .lines = {loss_line(state.history, "real", "d_real/total"),
                                                 loss_line(state.history, "generated", "d_fake/total")}},
                                      {.title = "generator", .lines = {loss_line(state.history, "", "g/total")}}});
  return {std::move(showers), std::move(losses)};
}

std::vector<std::string> AdversarialLoop::hand_over(const TrainState& state, const RunFolder& folder) const {
  trained::save_generator(job_, input_.range(state.input), model_.architecture(), state.networks[kGenerator].parameters,
                          folder.models());
  std::vector<std::string> lines;
  if (input_.test() && !state.history.empty()) {
    lines.push_back(fmt::format("pictures     {}",
                                folder.shown(folder.images() / fmt::format("epoch-{:03}.png", state.history.size()))));
  }
  lines.push_back(fmt::format(
      "generate     linac generate --model {} --energy 10:100 --theta 1.05:2.09 -n 100 --seed 1 --out showers.h5",
      folder.shown(folder.root())));
  return lines;
}

}  // namespace linac::train
