#include "linac/control/http/routes/router.h"

#include <fmt/format.h>

#include <set>

#include "linac/base/base/error.h"
#include "linac/base/base/percent.h"

namespace linac::http {
namespace {

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  if (!path.empty() && path.front() == '/') path.remove_prefix(1);
  while (true) {
    const size_t slash = path.find('/');
    parts.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

bool variable(std::string_view part) {
  return part.size() > 2 && part.front() == '{' && part.back() == '}';
}

bool rest(std::string_view part) {
  return part.size() > 5 && part.front() == '{' && part.ends_with("...}");
}

}  // namespace

/// What is wrong with what a route says of its changes and of what it reads; empty: nothing.
static std::string undeclared(const Route& route) {
  using What = Changes::What;
  const What what = route.changes.what;
  if (route.method != Method::kGet && what == What::kUndeclared) return "does not say what it changes";
  if (route.access >= Access::kMember && route.method != Method::kGet && what == What::kNothing)
    return "needs more than reading and says that it changes nothing";
  if (what == What::kAdmins && route.access != Access::kAdmin) return "changes what is nobody's and is not for admins";
  if (what == What::kNew && route.access < Access::kMember) return "makes something and is for readers";
  if (what == What::kThings && !route.changes.things) return "does not say whose thing it changes";
  const bool reads_only_what_it_changes = what == What::kThings || what == What::kAdmins;
  const Reads& reads = route.reads;
  if (reads.what == Reads::What::kUndeclared && !reads_only_what_it_changes) return "does not say what it reads";
  if (reads.what == Reads::What::kThings && !reads.things) return "does not say whose thing it reads";
  if (reads.what == Reads::What::kAdmins && route.access != Access::kAdmin) return "reads all and is not for admins";
  if (reads.what == Reads::What::kFound && route.access == Access::kOpen) return "searches for nobody knows whom";
  return "";
}

Router::Router(std::vector<Route> routes) : routes_(std::move(routes)) {
  std::set<std::string> names, places;
  for (size_t i = 0; i < routes_.size(); ++i) {
    const Route& route = routes_[i];
    if (const std::string why = undeclared(route); !why.empty())
      throw Error(ErrorCode::kInternal, fmt::format("[service] the route {} {}", route.name, why));
    LINAC_CHECK(names.insert(route.name).second);
    LINAC_CHECK(places.insert(to_string(route.method) + route.pattern).second);
    if (route.pattern.find('{') == std::string::npos) {
      fixed_[route.pattern].push_back(i);
      continue;
    }
    Pattern pattern;
    pattern.route = i;
    for (const std::string_view part : split(route.pattern)) pattern.parts.emplace_back(part);
    pattern.rest = rest(pattern.parts.back());
    patterns_.push_back(std::move(pattern));
  }
}

Match Router::match(Method method, std::string_view path) const {
  Match match;
  if (const auto found = fixed_.find(std::string(path)); found != fixed_.end()) {
    for (const size_t i : found->second)
      if (routes_[i].method == method) return {&routes_[i], {}, false};
    match.other_method = true;
  }
  const std::vector<std::string_view> parts = split(path);
  for (const Pattern& pattern : patterns_) {
    const size_t fixed = pattern.parts.size() - (pattern.rest ? 1 : 0);
    if (pattern.rest ? parts.size() < fixed : parts.size() != fixed) continue;
    std::map<std::string, std::string> variables;
    bool same = true;
    for (size_t k = 0; k < fixed && same; ++k) {
      const std::string& wanted = pattern.parts[k];
      if (!variable(wanted)) {
        same = parts[k] == wanted;
        continue;
      }
      auto value = percent_decoded(parts[k], false);
      same = value && !value->empty() && *value != "." && *value != "..";
      if (same) variables[wanted.substr(1, wanted.size() - 2)] = std::move(*value);
    }
    if (same && pattern.rest) {
      std::string_view left =
          parts.size() > fixed ? path.substr(static_cast<size_t>(parts[fixed].data() - path.data())) : "";
      auto value = percent_decoded(left, false);
      same = value.has_value();
      const std::string& name = pattern.parts.back();
      if (same) variables[name.substr(1, name.size() - 5)] = std::move(*value);
    }
    if (!same) continue;
    if (routes_[pattern.route].method == method) return {&routes_[pattern.route], std::move(variables), false};
    match.other_method = true;
  }
  return match;
}

}  // namespace linac::http
