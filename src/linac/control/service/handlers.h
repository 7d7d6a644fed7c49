#pragma once
// Handlers from functions that do not wait: what most routes need.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "linac/control/service/catalog_access.h"

namespace linac::service {

/// Answers with the JSON that `work` makes of the catalog, on a thread of the readers' pool, when it is the caller's
/// turn.
Handler reads(Context& context, std::function<nlohmann::json(catalog::Database&, Request&)> work);
/// The same after a change: `work` runs on the writing thread, and more than once if it has to be tried again.
Handler writes(Context& context, std::function<nlohmann::json(catalog::Database&, Request&)> work);
/// What `writes` does, for a handler that has more to do: `work` within a transaction in which what it changes is still
/// the caller's, and the change in the audit log.
Task<nlohmann::json> change(Context& context, Request& request,
                            std::function<nlohmann::json(catalog::Database&, Request&)> work);
/// Without the catalog, on a thread of the pool: files, hashes.
Handler works_aside(Context& context, std::function<Response(Request&)> work);
/// At once.
Handler answers(std::function<Response(Request&)> work);

/// Puts it into the audit log in words of its own, within the same transaction.
void put_into_audit(catalog::Database& database, Request& request, const std::string& action,
                    const std::string& object);

}  // namespace linac::service
