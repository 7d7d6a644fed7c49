#ifndef LINAC_FASTSIM_SHOWERS_H
#define LINAC_FASTSIM_SHOWERS_H
/* Showers of a trained .chain file in a program of your own: include this header, link liblinac_showers.so. C, and
   C++11 and later (class linac::Showers below); no other part of linac is needed.

   Energies are in GeV, angles in radians, cells counted from 0. Shower `number` of a `seed` is the same on any machine,
   in any order, alone or beside others, and the one that `linac generate --seed` writes at that place. A model may be
   used by several threads at once. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct linac_showers linac_showers;

typedef struct {
  int32_t x, y, layer;
  float energy_gev;
} linac_cell;

typedef struct {
  int32_t cells_x, cells_y, layers;
  /* Of the primaries that the model was trained on; others are refused. All 0 where the file does not say it: then
   * nothing is. */
  double energy_low_gev, energy_high_gev, theta_low, theta_high;
} linac_showers_info;

typedef enum {
  LINAC_SHOWERS_OK = 0,
  LINAC_SHOWERS_BEYOND = 1, /* the primary lies outside of what the model was trained on */
  LINAC_SHOWERS_ROOM = 2,   /* more cells than there is room for; `count` says how many */
  LINAC_SHOWERS_FILE = 3,   /* the file is missing, damaged or no such model */
  LINAC_SHOWERS_FAILED = 4  /* out of memory, or an argument that is NULL */
} linac_showers_status;

/* The model in `path`, or NULL with the reason in `error` (`room` bytes, closed by a zero; may be NULL). */
linac_showers* linac_showers_open(const char* path, char* error, size_t room);
void linac_showers_close(linac_showers* model);
void linac_showers_describe(const linac_showers* model, linac_showers_info* info);

/* Whether the model was trained on such primaries. */
int linac_showers_knows(const linac_showers* model, double energy_gev, double theta);

/* The cells of one shower that are hit, each once, in `cells`; `*count` of them. The particle enters at a point uniform
   over a cell under the angle theta to the y axis of the cells; the cell of the barycentre is the middle one, (cells_x
   / 2, cells_y / 2). With LINAC_SHOWERS_ROOM the first `room` cells are there. */
linac_showers_status linac_showers_draw(const linac_showers* model, double energy_gev, double theta, uint64_t seed,
                                        uint64_t number, linac_cell* cells, size_t room, size_t* count);

/* The reason of the last status of this thread that was not LINAC_SHOWERS_OK. */
const char* linac_showers_reason(void);

#ifdef __cplusplus
}

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace linac {

class Showers {
 public:
  using Cell = linac_cell;

  /// Throws std::runtime_error with the reason.
  explicit Showers(const std::string& path) : model_(open(path), linac_showers_close) {
    linac_showers_describe(model_.get(), &info_);
  }

  const linac_showers_info& info() const { return info_; }
  /// Whether it was trained on such primaries.
  bool knows(double energy_gev, double theta) const {
    return linac_showers_knows(model_.get(), energy_gev, theta) != 0;
  }

  /// Replaces `cells`, whose memory is used again. std::out_of_range for a primary beyond the training.
  void draw(double energy_gev, double theta, uint64_t seed, uint64_t number, std::vector<Cell>& cells) const {
    size_t count = 0;
    cells.resize(cells.capacity());
    auto status = linac_showers_draw(model_.get(), energy_gev, theta, seed, number, cells.data(), cells.size(), &count);
    if (status == LINAC_SHOWERS_ROOM) {
      cells.resize(count);
      status = linac_showers_draw(model_.get(), energy_gev, theta, seed, number, cells.data(), cells.size(), &count);
    }
    cells.resize(status == LINAC_SHOWERS_OK ? count : 0);
    if (status == LINAC_SHOWERS_BEYOND) throw std::out_of_range(linac_showers_reason());
    if (status != LINAC_SHOWERS_OK) throw std::runtime_error(linac_showers_reason());
  }

 private:
  static linac_showers* open(const std::string& path) {
    char error[1024];
    linac_showers* model = linac_showers_open(path.c_str(), error, sizeof error);
    if (model == nullptr) throw std::runtime_error(error);
    return model;
  }

  std::shared_ptr<linac_showers> model_;
  linac_showers_info info_;
};

}  // namespace linac
#endif
#endif
