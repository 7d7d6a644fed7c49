#include "linac/control/service/things.h"

#include <fmt/format.h>

#include "linac/base/base/utf8.h"

namespace linac::service {

Refusal not_there(const Thing& thing) {
  const char* way_out = thing.kind == kArtifactThing ? "" : "; search lists those that there are";
  return {RefusalKind::kNotFound,
          fmt::format("[{}] no {} '{}'{}", thing.kind == kStudyThing ? "studies" : thing.kind + "s", thing.kind,
                      printable(thing.id.substr(0, 200)), way_out)};
}

catalog::Viewer viewer_of(const Request& request) {
  return {request.caller.user, request.caller.access == Access::kAdmin};
}

launch::LeaseClaim lease_claim(const Request& request, const std::string& label) {
  return {label, request.header(kLeaseHeader), request.caller.user, request.caller.for_all};
}

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

Changes::Find by_list(const char* kind, const char* field) {
  return [kind, field](const Request& request) {
    std::vector<Thing> things;
    for (std::string& id : request.texts(field)) things.push_back({kind, std::move(id)});
    if (things.size() > kNamedMax)
      throw Refusal(RefusalKind::kInvalid, fmt::format("[request] '{}' names {} (at most {}); ask for fewer", field,
                                                       things.size(), kNamedMax));
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
