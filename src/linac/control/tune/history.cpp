#include "linac/control/tune/history.h"

#include <fmt/format.h>

#include <cmath>

#include "linac/base/base/error.h"
#include "linac/base/base/fnv1a.h"
#include "linac/control/tune/pareto.h"

namespace linac::tune {
namespace {

// NaN of any bits, and the two zeros, are one value.
std::string bytes_of(const Point& point) {
  std::string bytes;
  for (double value : point) {
    if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
    if (value == 0) value = 0;
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

void check_cost(const std::string& where, double cost) {
  if (!(std::isfinite(cost) && cost >= 0))
    throw user_error(fmt::format("[study] {}: a cost of {} is not possible; a number of 0 or more", where, cost));
}

std::string bytes_of(const Trial& trial) {
  std::string bytes = bytes_of(trial.point) + bytes_of(trial.losses);
  bytes.append(reinterpret_cast<const char*>(&trial.number), sizeof trial.number);
  bytes.push_back(static_cast<char>(trial.state));
  bytes += bytes_of(Point{trial.cost});
  for (const auto& [step, loss] : trial.curve) {
    bytes.append(reinterpret_cast<const char*>(&step), sizeof step);
    bytes.append(reinterpret_cast<const char*>(&loss), sizeof loss);
  }
  return bytes;
}

}  // namespace

History::History(const Space& space, std::vector<Direction> directions)
    : space_(space), directions_(std::move(directions)), fingerprints_{0} {
  if (directions_.empty()) throw user_error("[study] directions: none; name one for each objective");
}

void History::start(int64_t number, const Point& point, int64_t parent) {
  const std::string where = fmt::format("[study] trial {}", number);
  if (places_.contains(number)) throw user_error(where + ": was started before; take another number");
  if (point.size() != space_.size())
    throw user_error(fmt::format("{}: {} values for {} parameters", where, point.size(), space_.size()));
  for (size_t i = 0; i < point.size(); ++i) {
    const Parameter& parameter = space_[i];
    if (space_.active(point, i) ? !(point[i] >= parameter.low && point[i] <= parameter.high) : !std::isnan(point[i]))
      throw user_error(fmt::format("{}: {} = {} is not in the space", where, parameter.name, point[i]));
  }
  if (const Trial* const found = find(parent); parent != 0 && (found == nullptr || found->state != State::kComplete))
    throw user_error(fmt::format("{}: goes on from trial {}, which is not complete", where, parent));
  places_[number] = trials_.size();
  points_.insert(bytes_of(point));
  Trial trial;
  trial.number = number;
  trial.parent = parent;
  trial.point = point;
  trial.unit = space_.unit_of(point);
  trials_.push_back(std::move(trial));
}

Trial& History::running(int64_t number) {
  const auto found = places_.find(number);
  if (found == places_.end()) throw user_error(fmt::format("[study] trial {}: there is none of this number", number));
  Trial& trial = trials_[found->second];
  if (trial.state != State::kRunning)
    throw user_error(fmt::format("[study] trial {}: has ended; what was told stays", number));
  return trial;
}

void History::report(int64_t number, int64_t step, double value) {
  Trial& trial = running(number);
  if (!trial.curve.empty() && step <= trial.curve.back().first)
    throw user_error(
        fmt::format("[study] trial {}: step {} is not after step {}", number, step, trial.curve.back().first));
  const double loss = loss_of(directions_[0], value);
  trial.curve.emplace_back(step, std::isnan(loss) ? std::numeric_limits<double>::infinity() : loss);
}

void History::spend(int64_t number, double cost) {
  Trial& trial = running(number);
  check_cost(fmt::format("trial {}", number), cost);
  if (!std::isnan(trial.cost)) throw user_error(fmt::format("[study] trial {}: its cost was told before", number));
  trial.cost = cost;
  spent_ += cost;
}

void History::set_budget(double cost) {
  check_cost("budget", cost);
  budget_ = cost;
}

void History::end(Trial& trial, State state, const std::string& reason) {
  trial.state = state;
  trial.reason = reason;
  told_.push_back(static_cast<size_t>(&trial - trials_.data()));
  const uint64_t before = fingerprints_.back();
  std::string bytes = bytes_of(trial);
  bytes.append(reinterpret_cast<const char*>(&before), sizeof before);
  fingerprints_.push_back(fnv1a_64(bytes));
}

void History::complete(int64_t number, const std::vector<double>& values) {
  Trial& trial = running(number);
  if (values.size() != directions_.size())
    throw user_error(
        fmt::format("[study] trial {}: {} values for {} objectives", number, values.size(), directions_.size()));
  trial.values = values;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      trial.losses.clear();
      end(trial, State::kInfeasible, fmt::format("objective {} is {}", i, values[i]));
      return;
    }
    trial.losses.push_back(loss_of(directions_[i], values[i]));
  }
  ++complete_;
  const auto place = static_cast<size_t>(&trial - trials_.data());
  if (best_ == std::numeric_limits<size_t>::max() || trial.losses[0] < trials_[best_].losses[0]) best_ = place;
  end(trial, State::kComplete, "");
}

void History::prune(int64_t number, const std::string& reason) {
  end(running(number), State::kPruned, reason);
}

void History::fail(int64_t number, const std::string& reason) {
  end(running(number), State::kFailed, reason);
}

void History::infeasible(int64_t number, const std::string& reason) {
  end(running(number), State::kInfeasible, reason);
}

const Trial* History::find(int64_t number) const {
  const auto found = places_.find(number);
  return found == places_.end() ? nullptr : &trials_[found->second];
}

const Trial* History::best() const {
  return best_ == std::numeric_limits<size_t>::max() ? nullptr : &trials_[best_];
}

std::vector<const Trial*> History::front() const {
  if (objectives() == 1) return best() == nullptr ? std::vector<const Trial*>{} : std::vector{best()};
  std::vector<const Trial*> trials;
  std::vector<Losses> rows;
  for (const size_t place : told_)
    if (trials_[place].state == State::kComplete) {
      trials.push_back(&trials_[place]);
      rows.push_back(trials_[place].losses);
    }
  const std::vector<size_t> fronts = fronts_of(rows);
  std::vector<const Trial*> front;
  for (size_t i = 0; i < trials.size(); ++i)
    if (fronts[i] == 0) front.push_back(trials[i]);
  return front;
}

bool History::seen(const Point& point) const {
  return points_.contains(bytes_of(point));
}

}  // namespace linac::tune
