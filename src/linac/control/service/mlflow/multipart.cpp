#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "linac/base/base/refusal.h"
#include "linac/base/base/secure_random.h"
#include "linac/control/http/routes/json_fields.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/routes/table.h"
#include "linac/control/service/secrets.h"
#include "linac/control/service/things.h"

namespace linac::service {

using nlohmann::json;

namespace {

constexpr const char* kRoot = "/api/2.0/mlflow-artifacts/mpu/";
constexpr size_t kTokenDigits = 64;
constexpr size_t kPartBytesMax = size_t{5} << 30;

/// The folder comes in the URL, the file's name in the body, with the folders of the client's machine.
std::string target_of(const Request& request) {
  const std::string path = request.text("path");
  const std::string name = path.substr(path.find_last_of("/\\") + 1);
  const std::string& folder = request.variable("path");
  return folder.empty() ? name : folder + "/" + name;
}

Response begun(Context& context, Request& request) {
  const int64_t parts = request.integer("num_parts");
  const std::string token = random_hex(kTokenDigits);
  const std::string id = context.parts.begin(request.caller.user, target_of(request), parts, keyed_hash(token));
  const std::string service = (request.secure ? "https://" : "http://") + request.header("host");
  json credentials = json::array();
  for (int64_t number = 1; number <= parts; ++number)
    credentials.push_back({{"url", fmt::format("{}{}parts/{}/{}", service, kRoot, id, number)},
                           {"part_number", number},
                           {"headers", {{"Linac-Upload-Token", token}}}});
  return Response::json({{"upload_id", id}, {"credentials", std::move(credentials)}});
}

Response part_put(Context& context, const Request& request) {
  const std::string& text = request.variable("number");
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);  // 0, which is no part, for what is no number
  Response response = Response::json(json::object());
  response.headers.emplace_back("ETag", context.parts.put_part(request.variable("id"), number, request.body_file));
  return response;
}

Response completed(Context& context, const Request& request) {
  std::vector<int64_t> parts;
  for (const json& part : request.list("parts")) parts.push_back(http::integer_of(part, "part_number"));
  context.parts.complete(context.artifacts, request.text("upload_id"), target_of(request), parts);
  return Response::json(json::object());
}

}  // namespace

std::vector<Route> mlflow_multipart_routes(Context& context) {
  const FieldRule path{"path", FieldType::kText, true, "the file's name; folders are left off"};
  const FieldRule upload{"upload_id", FieldType::kText, true, "as create answered"};
  const auto target = [](const Request& request) { return std::vector<Thing>{{kArtifactThing, target_of(request)}}; };
  const auto upload_of = by_field(kUploadThing, "upload_id");
  const auto post = [&](const char* verb, const char* summary, std::vector<FieldRule> fields, Changes changes,
                        auto work) {
    Route route;
    route.changes = std::move(changes);
    route.method = Method::kPost;
    route.pattern = std::string(kRoot) + verb + "/{path...}";
    route.name = std::string("mlflow_multipart_") + verb;
    route.summary = summary;
    route.access = Access::kMember;
    route.body = BodyKind::kJson;
    route.fields = std::move(fields);
    route.handler = works_aside(context, [&context, work](Request& request) { return work(context, request); });
    route.body_bytes_max = 8 << 20;
    return route;
  };
  Route part;
  part.method = Method::kPut;
  part.pattern = std::string(kRoot) + "parts/{id}/{number}";
  part.name = "mlflow_multipart_part";
  part.summary = "One part of a file, with the header that `create` told, or by who began the upload";
  part.access = Access::kOpen;
  part.changes = Changes::recorded(by_variable(kUploadThing, "id"));
  part.body = BodyKind::kFile;
  part.body_bytes_max = kPartBytesMax;
  part.handler = works_aside(context, [&context](Request& request) { return part_put(context, request); });
  return {post("create", "Begins the upload of a large file in parts",
               {path, {"num_parts", FieldType::kInteger, true, "1 to 10000"}}, Changes::of(target), begun),
          std::move(part),
          post("complete", "Puts the parts together",
               {path, upload, {"parts", FieldType::kObjects, true, "{part_number}, in order"}},
               Changes::of(both(target, upload_of)), completed),
          post("abort", "Forgets the parts", {path, upload}, Changes::of(upload_of),
               [](Context& context, const Request& request) {
                 context.parts.abort(request.text("upload_id"));
                 return Response::json(json::object());
               })};
}

}  // namespace linac::service
