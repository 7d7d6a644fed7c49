#pragma once
// From a method and a path to the route that serves it. Built once from the tables; then read from any thread.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "linac/control/http/routes/route.h"

namespace linac::http {

struct Match {
  const Route* route = nullptr;  // null: none
  std::map<std::string, std::string> variables;
  bool other_method = false;  // the path is served, by another method
};

class Router {
 public:
  /// Internal error for two routes of the same name, or of the same method and pattern, and for one that does not say
  /// what it changes (Changes), or says what cannot be of its role.
  explicit Router(std::vector<Route> routes);
  /// `path` as it came, still encoded: an encoded slash never separates. A path with an empty, "." or ".." part matches
  /// nothing but a rest ("{path...}"), which the handler checks.
  Match match(Method method, std::string_view path) const;
  const std::vector<Route>& routes() const { return routes_; }

 private:
  struct Pattern {
    std::vector<std::string> parts;  // "{id}" as it is written
    bool rest = false;               // the last part takes what is left
    size_t route = 0;
  };
  std::vector<Route> routes_;
  std::unordered_map<std::string, std::vector<size_t>> fixed_;  // patterns without variables
  std::vector<Pattern> patterns_;
};

}  // namespace linac::http
