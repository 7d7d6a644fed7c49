#include "linac/physics/physics/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/config.h"
#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"

namespace linac::physics {
namespace {

constexpr double kSure = 2;            // uncertainties
constexpr int64_t kShowersLeast = 30;  // what a gate may ask for

bool matches(std::string_view pattern, std::string_view name) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (name.substr(0, star) != pattern.substr(0, star)) return false;
  for (size_t i = star; i <= name.size(); ++i)
    if (matches(pattern.substr(star + 1), name.substr(i))) return true;
  return false;
}

bool names(const Limit& limit, const Figure& figure) {
  return matches(limit.figure, figure.name) && (limit.bins || figure.bin == Bin{});
}

}  // namespace

Gate read_gate(const std::filesystem::path& path) {
  const std::string where = path.string();
  Gate gate;
  config::read(config::parse_text(read_file(path), where), gate, where);
  if (gate.limits.empty())
    throw user_error(fmt::format("[gate] {}: no limits; give a list, e.g. limits: [{{figure: fpd, max: 0.5}}]", where));
  if (gate.showers < kShowersLeast) {
    throw user_error(fmt::format("[gate] {}: showers = {}; give {} or more: fewer tell nothing of their uncertainty",
                                 where, gate.showers, kShowersLeast));
  }
  for (const Limit& limit : gate.limits) {
    if (!(limit.max > 0) && !(limit.floor > 0)) {
      throw user_error(
          fmt::format("[gate] {}: the limit of '{}' has neither max nor floor above 0", where, limit.figure));
    }
    if (limit.floor > 0 && !(limit.cap > 0)) {
      throw user_error(
          fmt::format("[gate] {}: the limit of '{}' is in floors, which grow as the reference shrinks, and has no cap; "
                      "give one, e.g. {{figure: {}, floor: {}, cap: 0.1}}, or a max instead",
                      where, limit.figure, limit.figure, limit.floor));
    }
    if (limit.cap < 0 || (limit.cap > 0 && !(limit.cap > limit.max))) {
      throw user_error(fmt::format("[gate] {}: the limit of '{}' has a cap of {}; give one above its max, {}", where,
                                   limit.figure, limit.cap, limit.max));
    }
  }
  return gate;
}

void need_known_figures(const Gate& gate, const std::vector<std::string>& known) {
  for (const Limit& limit : gate.limits) {
    const auto used = [&](const std::string& name) { return matches(limit.figure, name); };
    if (std::any_of(known.begin(), known.end(), used)) continue;
    const auto near = nearest(limit.figure, known);
    std::string hint = near ? fmt::format("; did you mean '{}'?", *near) : "";
    if (limit.figure == "memorised") hint = "; it wants the training's showers: --train FILES";
    if (limit.figure.starts_with("auc")) hint = "; it wants the classifiers: leave out --no-classifiers";
    throw user_error(fmt::format("[gate] this comparison has no figure '{}'{}", limit.figure, hint));
  }
}

const char* to_string(Judgement judgement) {
  static constexpr std::array kWords{"passed", "undecided", "failed"};
  return kWords.at(static_cast<size_t>(judgement));
}

double Verdict::excess() const {
  if (!std::isfinite(figure.value)) return std::numeric_limits<double>::infinity();
  return allowed > 0 ? figure.value / allowed : 0;
}

Judgement Verdict::judgement() const {
  if (!std::isfinite(figure.value)) return Judgement::kFailed;
  const double doubt = kSure * figure.uncertainty, chance = figure.floor + kSure * figure.floor_deviation;
  if (figure.value - doubt > std::max(allowed, chance)) return Judgement::kFailed;
  return figure.value + doubt <= allowed ? Judgement::kPassed : Judgement::kUndecided;
}

bool is_noise(const Figure& figure) {
  return figure.value < figure.uncertainty;  // not for NaN
}

std::vector<Verdict> judge(const Gate& gate, const std::vector<Figure>& figures) {
  std::vector<std::string> known;
  for (const Figure& figure : figures) known.push_back(figure.name);
  need_known_figures(gate, known);
  std::vector<Verdict> verdicts;
  for (const Figure& figure : figures) {
    const auto limit = std::find_if(gate.limits.begin(), gate.limits.end(),
                                    [&](const Limit& candidate) { return names(candidate, figure); });
    if (limit == gate.limits.end()) continue;
    const double generous = std::max(limit->max, limit->floor * figure.floor);
    verdicts.push_back({figure, limit->cap > 0 ? std::min(limit->cap, generous) : generous});
  }
  std::stable_sort(verdicts.begin(), verdicts.end(), [](const Verdict& a, const Verdict& b) {
    const auto rank = [](const Verdict& verdict) {
      return std::tuple(verdict.judgement(), !is_noise(verdict.figure), verdict.excess());
    };
    return rank(a) > rank(b);
  });
  return verdicts;
}

}  // namespace linac::physics
