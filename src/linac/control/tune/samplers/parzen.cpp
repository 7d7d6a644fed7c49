#include "linac/control/tune/samplers/parzen.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "linac/control/tune/normal.h"

namespace linac::tune {
namespace {

// Discrete parameters of more values are treated as continuous ones: a table of their kernels has the square of it.
constexpr int64_t kCellsMax = 64;
// What is less than this beside the largest term does not change a sum in double precision.
constexpr double kNegligible = -40;

bool by_cells(const Parameter& parameter) {
  return parameter.discrete() && parameter.cells <= kCellsMax;
}

// Log of the mass of a normal distribution between two places, in units of its deviation.
double log_mass(double from, double to) {
  const double mass = from > 0 ? normal_distribution(-from) - normal_distribution(-to)
                               : normal_distribution(to) - normal_distribution(from);
  return std::log(std::max(mass, 1e-300));
}

}  // namespace

Parzen::Parzen(const Space& space, std::vector<const Trial*> points, const std::vector<double>& weights,
               const ParzenOptions& options)
    : space_(space), points_(std::move(points)) {
  const double sum = std::accumulate(weights.begin(), weights.end(), options.prior);
  double share = 0;
  for (const double weight : weights) {
    share += weight / sum;
    shares_.push_back(share);
    log_shares_.push_back(std::log(weight / sum));
  }
  log_shares_.push_back(std::log(options.prior / sum));
  edges_.resize(space.size());
  for (size_t i = 0; i < space.size(); ++i) make_edge(i, options);
}

double Parzen::spread_of(size_t parameter) const {
  double count = 0, mean = 0, square = 0;
  for (const Trial* point : points_) {
    if (std::isnan(point->point[parameter])) continue;
    const double distance = point->unit[parameter] - mean;
    mean += distance / ++count;
    square += distance * (point->unit[parameter] - mean);
  }
  // The prior is one point more: a uniform density around the middle.
  const double shift = mean - 0.5;
  return std::sqrt((square + shift * shift * count / (count + 1) + 1.0 / 12) / (count + 1));
}

void Parzen::make_edge(size_t i, const ParzenOptions& options) {
  const Parameter& parameter = space_[i];
  Edge& edge = edges_[i];
  const auto n = static_cast<double>(std::max<size_t>(points_.size(), 1));
  const double scott = std::pow(n, -1.0 / (static_cast<double>(space_.size()) + 4));
  edge.width = std::clamp(options.width * spread_of(i) * scott, options.width_least, options.width_most);
  if (parameter.discrete()) edge.width = std::max(edge.width, 0.5 / static_cast<double>(parameter.cells));
  if (by_cells(parameter)) {
    make_masses(edge, parameter, 1 - (1 - options.kept) * std::pow(n, -1.0 / 5) * 2);
    for (const Trial* point : points_)
      edge.cells.push_back(std::isnan(point->point[i]) ? -1 : static_cast<int>(parameter.cell_of(point->unit[i])));
    return;
  }
  const double root = std::log(edge.width * std::sqrt(2 * std::numbers::pi));
  for (const Trial* point : points_) {
    const bool active = !std::isnan(point->point[i]);
    const double centre = point->unit[i];
    edge.centres.push_back(centre);
    edge.precisions.push_back(active ? 0.5 / (edge.width * edge.width) : 0);
    edge.logs.push_back(active ? -root - log_mass(-centre / edge.width, (1 - centre) / edge.width) : 0);
  }
}

void Parzen::make_masses(Edge& edge, const Parameter& parameter, double kept) const {
  const auto cells = static_cast<size_t>(parameter.cells);
  const double log_cells = std::log(static_cast<double>(cells));
  edge.log_masses.resize(cells * cells);
  for (size_t from = 0; from < cells; ++from) {
    const double centre = (static_cast<double>(from) + 0.5) / static_cast<double>(cells);
    const double whole = log_mass(-centre / edge.width, (1 - centre) / edge.width);
    for (size_t to = 0; to < cells; ++to) {
      double& mass = edge.log_masses[from * cells + to];
      if (parameter.categorical()) {
        mass = std::log(from == to ? kept : (1 - kept) / static_cast<double>(cells - 1)) + log_cells;
      } else {
        const double low = parameter.edge_of(static_cast<int64_t>(to)), high = low + 1 / static_cast<double>(cells);
        mass = log_mass((low - centre) / edge.width, (high - centre) / edge.width) - whole + log_cells;
      }
    }
  }
}

std::vector<double> Parzen::draw(Draws& draws) const {
  std::vector<double> unit(space_.size());
  const double choice = draws.uniform();
  const auto point = static_cast<size_t>(std::upper_bound(shares_.begin(), shares_.end(), choice) - shares_.begin());
  for (size_t i = 0; i < space_.size(); ++i) {
    const Edge& edge = edges_[i];
    const double u = draws.uniform();
    unit[i] = u;
    if (point == points_.size() || std::isnan(points_[point]->point[i])) continue;
    if (by_cells(space_[i])) {
      const auto cells = static_cast<size_t>(space_[i].cells);
      const double* const masses = edge.log_masses.data() + static_cast<size_t>(edge.cells[point]) * cells;
      double left = u * static_cast<double>(cells);
      size_t cell = 0;
      while (cell + 1 < cells && (left -= std::exp(masses[cell])) >= 0) ++cell;
      unit[i] = (static_cast<double>(cell) + 0.5) / static_cast<double>(cells);
    } else {
      const double centre = edge.centres[point];
      const double low = normal_distribution(-centre / edge.width),
                   high = normal_distribution((1 - centre) / edge.width);
      const double p = std::clamp(low + u * (high - low), 1e-16, 1 - 1e-16);
      unit[i] = std::clamp(centre + edge.width * normal_quantile(p), 0.0, 1.0);
    }
  }
  return unit;
}

double Parzen::log_density(const Point& point, std::span<const double> unit) const {
  const size_t n = points_.size();
  std::vector<double> terms = log_shares_;
  for (size_t i = 0; i < space_.size(); ++i) {
    if (std::isnan(point[i])) continue;
    const Edge& edge = edges_[i];
    if (by_cells(space_[i])) {
      const auto cells = static_cast<size_t>(space_[i].cells);
      const double* const masses = edge.log_masses.data() + space_[i].cell_of(unit[i]);
      for (size_t j = 0; j < n; ++j)
        if (edge.cells[j] >= 0) terms[j] += masses[static_cast<size_t>(edge.cells[j]) * cells];
    } else {
      const double u = unit[i];
      const double *const centres = edge.centres.data(), *const precisions = edge.precisions.data();
      const double* const logs = edge.logs.data();
      for (size_t j = 0; j < n; ++j) {
        const double distance = u - centres[j];
        terms[j] += logs[j] - precisions[j] * distance * distance;
      }
    }
  }
  const double largest = *std::max_element(terms.begin(), terms.end());
  double sum = 0;
  for (const double term : terms)
    if (term - largest > kNegligible) sum += std::exp(term - largest);
  return largest + std::log(sum);
}

}  // namespace linac::tune
