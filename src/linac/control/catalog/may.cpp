#include "linac/control/catalog/may.h"

namespace linac::catalog {

bool may(const Person& person, Action action, const Audience& thing) {
  if (person.disabled) return false;
  const bool own = !thing.owner.empty() && thing.owner == person.name, admin = person.role == Role::kAdmin;
  switch (action) {
    case Action::kRead:
      return own || admin || thing.everybody;
    case Action::kChange:
    case Action::kGoOn:
      return own || admin;
    case Action::kBegin:
      return (own || admin) && person.role >= Role::kMember;
  }
  return false;
}

Person person(const User& user) {
  return {user.name, user.role, user.disabled};
}

Person person(const Viewer& viewer) {
  return {viewer.user, viewer.all ? Role::kAdmin : Role::kViewer, false};
}

Person person(Database& database, const std::string& name) {
  const auto row = database.first("SELECT role, disabled FROM users WHERE name = $1", name);
  return row ? Person{name, role(row->text(0)), row->integer(1) != 0} : Person{name, Role::kAdmin, false};
}

std::string why_no_job(const Person& owner, Action action) {
  if (may(owner, action, {owner.name, false})) return "";
  return owner.disabled ? "its owner was disabled" : "its owner may no longer submit jobs";
}

}  // namespace linac::catalog
