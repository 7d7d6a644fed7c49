#pragma once
// The words of http/ in which the tables of routes and their handlers are written.

#include "linac/control/http/routes/route.h"

namespace linac::service {

using http::Access;
using http::BodyKind;
using http::Caller;
using http::FieldRule;
using http::FieldType;
using http::Handler;
using http::Method;
using http::Request;
using http::Response;
using http::Route;
using http::Task;

}  // namespace linac::service
