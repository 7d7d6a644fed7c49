#pragma once
// What a server offers, as tables: a Route is a method, a pattern of a path, who may call it, what it takes, and a
// handler. The dispatcher checks all of that before the handler runs; /openapi.json is made from the same tables.
//
// A handler is a coroutine on the thread of its connection, beside hundreds of others: it must not block (awaited.h is
// the way to wait for what does). It reports failure by throwing Refusal or Error (error_response.h turns them into
// statuses). A Request belongs to one handler; tables do not change once the server runs.

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/descriptor.h"

namespace linac::http {

template <class T>
using Task = boost::asio::awaitable<T>;

/// What a route asks of its caller, and what a caller may: each of them all that those before it may, but for agents:
/// what is theirs is not for readers and members.
enum class Access { kOpen, kAgent, kViewer, kMember, kAdmin };
const char* to_string(Access access);  // "viewer"
bool may(Access caller, Access route);

/// Who asks.
struct Caller {
  std::string user;
  Access access = Access::kOpen;  // kOpen: nobody knows who it is
  std::string account;            // of the host, under which jobs run; empty: none
  bool for_all = false;           // as an agent, he runs everybody's jobs
  std::string from;               // address
  std::string token;              // id of the token that he came with, or logged in with
  int64_t expires_ms = 0;         // end of that token; 0: none
  std::string session;            // that he came with: its keyed hash; empty: none
  int64_t until_ms = 0;           // end of what he came with, token or session; 0: none
};

enum class Method { kGet, kPost, kPut, kPatch, kDelete };
const char* to_string(Method method);  // "GET"

/// Something that belongs to somebody: of which kind ("run"), and which one. What kinds there are, and whose a thing
/// is, the server's owner says (Dispatcher::Guard).
struct Thing {
  std::string kind, id;
};

struct Route;

struct Request {
  Method method = Method::kGet;
  std::string path;                              // as it came, without the query
  std::map<std::string, std::string> variables;  // of the pattern, decoded: {"id": ...}
  std::vector<std::pair<std::string, std::string>> query;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // of BodyKind::kBytes
  std::filesystem::path body_file;  // of BodyKind::kFile: a temporary file, removed after the handler unless moved away
  std::shared_ptr<nlohmann::json> input;  // an object: what the route's fields name, of the right types
  Caller caller;
  bool secure = false;  // came by TLS, to the service or to its proxy
  const Route* route = nullptr;
  std::vector<Thing> things;        // that it changes, checked to be the caller's
  std::vector<Thing> reads;         // that it reads, checked to be for the caller's eyes
  bool of_another = false;          // one of them is not: the caller is an admin
  bool noted = false;               // the change is in the audit log
  std::shared_ptr<void> held;       // what the request holds until it is answered, e.g. room on the disk
  std::shared_ptr<void> under_way;  // the caller's place among requests
  std::shared_ptr<void> body_room;  // what the body takes of his share

  const std::string& variable(const std::string& name) const { return variables.at(name); }
  /// Empty if there is none.
  const std::string& header(const std::string& name_in_lower_case) const;

  // Values of `input`; a field that was not sent, or is null, is `otherwise`.
  bool has(const char* name) const;
  std::string text(const char* name, const std::string& otherwise = {}) const;
  int64_t integer(const char* name, int64_t otherwise = 0) const;
  double number(const char* name, double otherwise = 0) const;
  bool flag(const char* name, bool otherwise = false) const;
  std::vector<std::string> texts(const char* name) const;
  std::vector<double> numbers(const char* name) const;
  const nlohmann::json& list(const char* name) const;  // an empty array if it was not sent
};

class EventSource;  // event_stream.h

/// A body that is made while it is sent, so that a large one is never in memory as a whole.
class PieceSource {
 public:
  virtual ~PieceSource() = default;
  /// The next piece; empty: that was all. What it throws ends the connection.
  virtual Task<std::string> next() = 0;
};

/// Part of an open file, sent in pieces.
struct FileBody {
  std::shared_ptr<Descriptor> file;
  int64_t offset = 0, length = 0;
};

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<FileBody> file;         // instead of `body`
  std::shared_ptr<PieceSource> pieces;  // instead of `body`
  std::shared_ptr<EventSource> events;  // instead of `body`: a stream of server-sent events, until one side ends it

  static Response json(const nlohmann::json& value, int status = 200);
  static Response text(std::string body, std::string type = "text/plain; charset=utf-8", int status = 200);
};

enum class FieldType { kText, kInteger, kNumber, kBoolean, kTexts, kIntegers, kNumbers, kObject, kObjects };

/// A field of the JSON body, or of the query where a route has no JSON body (a list is then a name given several
/// times). Integers and booleans are also taken as text, as protobuf's JSON writes them; a number may be "NaN",
/// "Infinity", "-Infinity".
struct FieldRule {
  std::string name;
  FieldType type = FieldType::kText;
  bool required = false;
  std::string summary;
};

enum class BodyKind { kNone, kJson, kBytes, kFile };

using Handler = std::function<Task<Response>(Request&)>;

/// What a route changes. Every route but a GET says so: a Router refuses a table in which one does not.
struct Changes {
  enum class What {
    kUndeclared,
    kNothing,  // a POST that only reads, or a change of the connection's own session
    kNew,      // something is made, which then is the caller's
    kThings,   // what is there: the caller's alone, unless he is an admin
    kAdmins    // what belongs to nobody
  };
  using Find = std::function<std::vector<Thing>(const Request&)>;  // throws kInvalid where the request names none

  What what = What::kUndeclared;
  Find things{};           // of kThings, and of kNew if something of the caller's is needed beside it
  bool noted_each = true;  // in the audit log each time; else only if an admin changes what is another's: for what
                           // comes a thousand times a second and is itself the record, as points of a curve

  static Changes nothing() { return {What::kNothing}; }
  static Changes made(Find things = {}) { return {What::kNew, std::move(things)}; }
  static Changes of(Find things) { return {What::kThings, std::move(things)}; }
  static Changes recorded(Find things) { return {What::kThings, std::move(things), false}; }
  static Changes by_admins() { return {What::kAdmins}; }
};

/// What a route reads beside what it changes. Every route says so that only reads or makes something new; what changes
/// things that are there reads no others unless it says so.
struct Reads {
  enum class What {
    kUndeclared,
    kNothing,  // of anybody's: it answers the same to all, or with what is the caller's own
    kThings,   // the things that the request names: not there for who may not read them
    kFound,    // what a search, a list or a name finds: its handler asks for what the caller may read
    kAdmins    // all of it
  };
  What what = What::kUndeclared;
  Changes::Find things{};  // of kThings, and of kFound if it also names some

  static Reads nothing() { return {What::kNothing}; }
  static Reads of(Changes::Find things) { return {What::kThings, std::move(things)}; }
  static Reads found(Changes::Find things = {}) { return {What::kFound, std::move(things)}; }
  static Reads by_admins() { return {What::kAdmins}; }
};

/// The role that a route asks for, what it changes, and what it reads.
struct Permission {
  Permission(Access role, Reads what) : access(role), changes(Changes::nothing()), reads(std::move(what)) {}
  Permission(Access role, Changes what, Reads beside = {})
      : access(role), changes(std::move(what)), reads(std::move(beside)) {}
  Access access;
  Changes changes;
  Reads reads;
};

struct Route {
  Method method = Method::kGet;
  std::string
      pattern;  // "/api/v1/runs/{id}"; a last "{path...}" takes the rest of the path, slashes and all (it may be empty)
  std::string name;  // unique: OpenAPI's operationId and the label of the metrics
  std::string summary;
  Access access = Access::kViewer;
  BodyKind body = BodyKind::kNone;
  std::vector<FieldRule> fields;
  Handler handler;
  size_t body_bytes_max = 1 << 20;
  std::string response_schema = {};  // JSON schema of a 200, as text; empty: any object
  std::string response_type = "application/json";
  Changes changes = {};
  Reads reads = {};
};

/// `route`, which changes that, and beside it reads this.
inline Route changing(Changes changes, Route route, Reads reads = {}) {
  route.changes = std::move(changes);
  route.reads = std::move(reads);
  return route;
}
/// `route`, which reads this.
inline Route showing(Reads reads, Route route) {
  route.reads = std::move(reads);
  return route;
}

}  // namespace linac::http
