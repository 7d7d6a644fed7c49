#include "linac/physics/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "linac/base/atomic_file.h"
#include "linac/base/config.h"
#include "linac/base/error.h"
#include "linac/base/nearest.h"

namespace linac::physics {
namespace {

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
    throw user_error(fmt::format("[gate] {}: no limits; give a list, e.g. limits: [{{figure: fpd, floor: 3}}]", where));
  for (const Limit& limit : gate.limits) {
    if (!(limit.max > 0) && !(limit.floor > 0)) {
      throw user_error(
          fmt::format("[gate] {}: the limit of '{}' has neither max nor floor above 0", where, limit.figure));
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
    throw user_error(fmt::format("[gate] this comparison has no figure '{}'{}", limit.figure,
                                 near ? fmt::format("; did you mean '{}'?", *near) : ""));
  }
}

const char* to_string(Judgement judgement) {
  static constexpr std::array kWords{"passed", "undecided", "failed"};
  return kWords.at(static_cast<size_t>(judgement));
}

Judgement Verdict::judgement() const {
  if (!std::isfinite(figure.value) || figure.value - figure.uncertainty > allowed) return Judgement::kFailed;
  const double noise = noisy ? figure.uncertainty : 0;
  const bool within = figure.value + noise <= allowed && figure.uncertainty <= allowed;
  return within ? Judgement::kPassed : Judgement::kUndecided;
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
    const bool noisy = limit->cap > 0 && generous > limit->cap;
    verdicts.push_back({figure, noisy ? limit->cap : generous, noisy});
  }
  std::stable_sort(verdicts.begin(), verdicts.end(), [](const Verdict& a, const Verdict& b) {
    if (a.judgement() != b.judgement()) return a.judgement() > b.judgement();
    return a.excess() > b.excess();
  });
  return verdicts;
}

}  // namespace linac::physics
