#pragma once
// Whether a catalog is what was written into it, and changes of it by another program than its service.

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "linac/control/catalog/database.h"

namespace linac::catalog {

/// What is wrong, in words, at most kDamagesMax of them: pages (SQLite), references, curves whose blocks are not what
/// their summaries say. Reads the whole catalog; a service may use it meanwhile.
std::vector<std::string> damage_of(const std::string& url);
constexpr size_t kDamagesMax = 20;

/// What SQLite finds wrong in its pages, without comparing indexes with tables; empty for a sound one and for
/// PostgreSQL, which looks after its pages itself. Ends early, with nothing, when `stop` is set.
std::string damage_of_pages(const std::string& url, const std::atomic<bool>& stop);

/// Carries `work` out in one transaction of its own, while a service may have the catalog open: for tables of which it
/// keeps nothing in mind, as those of users and tokens. User error if the catalog is of another version of the schema.
void change_beside_service(const std::string& url, const std::function<void(Database&)>& work);

}  // namespace linac::catalog
