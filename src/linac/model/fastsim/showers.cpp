#include "linac/model/fastsim/showers.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/model/chain/chain_file.h"

// Workspaces are lent to one call at a time, so that threads of a program meet only where one is taken and given back.
struct linac_showers {
  struct Room {
    explicit Room(const linac::chain::ShowerChain& chain) : workspace(chain) {}
    linac::chain::ShowerChain::Workspace workspace;
    std::vector<linac::chain::CellEnergy> cells;
  };

  linac_showers(linac::chain::ChainFile file, const std::string& path)
      : chain(std::move(file.parts), path), range(file.range) {}

  std::unique_ptr<Room> take() const {
    {
      const std::scoped_lock lock(mutex);
      if (!free.empty()) {
        auto room = std::move(free.back());
        free.pop_back();
        return room;
      }
    }
    return std::make_unique<Room>(chain);
  }
  void give_back(std::unique_ptr<Room> room) const {
    const std::scoped_lock lock(mutex);
    free.push_back(std::move(room));
  }

  const linac::chain::ShowerChain chain;
  const std::optional<linac::primaries::TrainedRange> range;
  mutable std::mutex mutex;
  mutable std::vector<std::unique_ptr<Room>> free;
};

namespace {

thread_local std::string t_reason;

/// What of the primary lies outside of the training; empty: nothing.
std::string beyond(const linac_showers& model, double energy_gev, double theta) {
  const auto energy = static_cast<float>(energy_gev), angle = static_cast<float>(theta);
  return model.range ? linac::primaries::beyond(*model.range, {&energy, 1}, {&angle, 1}) : std::string();
}

linac_showers_status refused(linac_showers_status status, std::string reason) {
  t_reason = std::move(reason);
  return status;
}

}  // namespace

linac_showers* linac_showers_open(const char* path, char* error, size_t room) {
  std::string reason = "no path";
  try {
    if (path != nullptr) return new linac_showers(linac::chain::load_chain(path), path);
  } catch (const std::exception& failure) {
    reason = failure.what();
  }
  if (error != nullptr && room > 0) {
    const size_t length = std::min(room - 1, reason.size());
    std::memcpy(error, reason.data(), length);
    error[length] = '\0';
  }
  refused(LINAC_SHOWERS_FILE, std::move(reason));
  return nullptr;
}

void linac_showers_close(linac_showers* model) {
  delete model;
}

void linac_showers_describe(const linac_showers* model, linac_showers_info* info) {
  const linac::EventShape shape = model->chain.shape();
  *info = {static_cast<int32_t>(shape.x), static_cast<int32_t>(shape.y), static_cast<int32_t>(shape.z), 0, 0, 0, 0};
  if (!model->range) return;
  info->energy_low_gev = model->range->energy_gev.low;
  info->energy_high_gev = model->range->energy_gev.high;
  info->theta_low = model->range->theta_rad.low;
  info->theta_high = model->range->theta_rad.high;
}

int linac_showers_knows(const linac_showers* model, double energy_gev, double theta) {
  try {
    return beyond(*model, energy_gev, theta).empty() ? 1 : 0;
  } catch (const std::exception& error) {
    refused(LINAC_SHOWERS_FAILED, error.what());
    return 0;
  }
}

linac_showers_status linac_showers_draw(const linac_showers* model, double energy_gev, double theta, uint64_t seed,
                                        uint64_t number, linac_cell* cells, size_t room, size_t* count) {
  if (model == nullptr || count == nullptr || (cells == nullptr && room > 0))
    return refused(LINAC_SHOWERS_FAILED, "[showers] an argument is NULL");
  *count = 0;
  try {
    if (const std::string outside = beyond(*model, energy_gev, theta); !outside.empty())
      return refused(LINAC_SHOWERS_BEYOND,
                     "[showers] the model was trained on " + to_string(*model->range) + "; beyond it: " + outside);
    auto own = model->take();
    model->chain.draw(energy_gev, theta, linac::chain::chain_key(seed, number), own->cells, own->workspace);
    *count = own->cells.size();
    std::transform(own->cells.begin(), own->cells.begin() + static_cast<std::ptrdiff_t>(std::min(room, *count)), cells,
                   [](const linac::chain::CellEnergy& cell) {
                     return linac_cell{cell.x, cell.y, cell.layer, cell.energy_gev};
                   });
    model->give_back(std::move(own));
    return *count <= room ? LINAC_SHOWERS_OK
                          : refused(LINAC_SHOWERS_ROOM, "[showers] more cells than there is room for");
  } catch (const linac::Error& error) {
    return refused(error.code() == linac::ErrorCode::kUser ? LINAC_SHOWERS_BEYOND : LINAC_SHOWERS_FAILED, error.what());
  } catch (const std::exception& error) {
    return refused(LINAC_SHOWERS_FAILED, error.what());
  }
}

const char* linac_showers_reason(void) {
  return t_reason.c_str();
}
