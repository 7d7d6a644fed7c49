#pragma once
// A request that cannot be followed, by what a caller has to change. The service turns the kind into an HTTP status and
// an MLflow error code, a verb into an exit status: to it, it is an Error of the user.

#include <string>

#include "linac/base/base/error.h"

namespace linac {

enum class RefusalKind {
  kInvalid,   // a parameter is wrong: 400, INVALID_PARAMETER_VALUE
  kNotFound,  // 404, RESOURCE_DOES_NOT_EXIST
  kExists,    // 400 to MLflow's clients, 409 else, RESOURCE_ALREADY_EXISTS
  kState,     // not in this state: 409, INVALID_STATE
  kUnknown,   // who asks is not known: 401, UNAUTHENTICATED
  kDenied,    // and may not: 403, PERMISSION_DENIED
  kLimit,     // beyond a quota or a rate: 429, RESOURCE_EXHAUSTED
};

class Refusal : public Error {
 public:
  /// `message` follows Error's form: "[runs] no run 'abc' (...); way out".
  Refusal(RefusalKind kind, const std::string& message) : Error(ErrorCode::kUser, message), kind_(kind) {}
  RefusalKind kind() const { return kind_; }

 private:
  RefusalKind kind_;
};

}  // namespace linac
