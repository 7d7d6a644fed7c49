#include "linac/service/things.h"

namespace linac::service {

Changes::Find by_variable(const char* kind, const char* variable) {
  return [kind, variable](const Request& request) { return std::vector<Thing>{{kind, request.variable(variable)}}; };
}

Changes::Find by_field(const char* kind, const char* field) {
  return [kind, field](const Request& request) {
    std::vector<Thing> things;
    if (const std::string id = request.text(field); !id.empty()) things.push_back({kind, id});
    return things;
  };
}

Changes::Find both(Changes::Find one, Changes::Find other) {
  return [one = std::move(one), other = std::move(other)](const Request& request) {
    std::vector<Thing> things = one(request);
    for (Thing& thing : other(request)) things.push_back(std::move(thing));
    return things;
  };
}

}  // namespace linac::service
