// By which agents (`linac agent`) take work and hand it in: docs/internals/decisions/pilots.md. Work waits in the
// scheduler's queue, leases are the board's (control/launch/pilots/pilot_board.h). What is written here goes into the
// folder of the run, where the scheduler finds it as it finds what processes of this host write.

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "linac/base/base/clock.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/safe_path.h"
#include "linac/base/base/utf8.h"
#include "linac/base/job/run_files.h"
#include "linac/base/job/run_record.h"
#include "linac/control/catalog/may.h"
#include "linac/control/execution/record/run_places.h"
#include "linac/control/execution/scheduler.h"
#include "linac/control/http/files/disk_room.h"
#include "linac/control/http/files/file_response.h"
#include "linac/control/launch/pilots/piece.h"
#include "linac/control/launch/pilots/pilot_board.h"
#include "linac/control/launch/pilots/words.h"
#include "linac/control/service/authentication.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/routes/table.h"
#include "linac/control/service/things.h"

namespace linac::service {
namespace {

using catalog::Database;
using nlohmann::json;

constexpr int64_t kWaitMax_s = 20;
constexpr std::chrono::milliseconds kLookEvery{50};
constexpr size_t kPieceBytesMax = 4 << 20, kWordsBytesMax = 64 << 10;
constexpr size_t kFileBytesMax = size_t{64} << 30;
constexpr size_t kNameBytesMax = 64, kTagsMax = 50, kTagBytesMax = 100, kFilesMax = 20000;
constexpr double kPriceMax = 1e6;
constexpr int64_t kCoresMax = 1 << 20, kMemoryMbMax = int64_t{1} << 40;

std::string short_text(const Request& request, const char* field) {
  return printable(request.text(field)).substr(0, kNameBytesMax);
}

launch::Demand room(const Request& request, const std::string& end) {
  const auto amount = [&](const char* name, int64_t max) {
    return std::clamp<int64_t>(request.integer((name + end).c_str()), 0, max);
  };
  return {amount("cores", kCoresMax), amount("memory_mb", kMemoryMbMax), amount("gpus", kCoresMax)};
}

launch::PilotAgent agent_of(const Request& request) {
  launch::PilotAgent agent;
  agent.id = request.variable("id");
  if (!launch::is_agent_id(agent.id))
    throw Refusal(RefusalKind::kInvalid, "[pilots] the id of an agent has 32 hexadecimal digits");
  agent.name = short_text(request, "name");
  agent.host = short_text(request, "host");
  agent.version = short_text(request, "version");
  agent.user = request.caller.user;
  agent.of_all = request.caller.for_all && !request.flag("own");
  agent.all = room(request, "");
  agent.free = room(request, "_free");
  agent.free.seconds_max = std::max<int64_t>(0, request.integer("seconds_left"));
  agent.tags = request.texts("tags");
  agent.draining = request.flag("draining");
  agent.price = request.number("price");
  if (!(agent.price >= 0 && agent.price <= kPriceMax))
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[pilots] price is US dollars for an hour, from 0 to {}", kPriceMax));
  const bool good =
      agent.tags.size() <= kTagsMax &&
      std::all_of(agent.tags.begin(), agent.tags.end(), [](const auto& tag) { return tag.size() <= kTagBytesMax; });
  if (!good) throw Refusal(RefusalKind::kInvalid, "[pilots] too many tags, or too long ones");
  return agent;
}

/// While it lives, the agent asks.
class Asking {
 public:
  Asking(launch::PilotBoard& board, const launch::PilotAgent& agent) : board_(board), id_(agent.id) {
    board.ask(agent);
  }
  ~Asking() { board_.leave(id_); }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

 private:
  launch::PilotBoard& board_;
  const std::string id_;
};

std::string run_of(const std::string& label) {
  return label.substr(0, label.rfind('-'));
}

/// kState where the owner of the run's job has lost the right to begin one.
void check_owner(Database& database, const std::string& run) {
  const catalog::QueuedJob job = catalog::queued_job(database, run);
  if (const std::string why = why_no_job(catalog::person(database, job.user), catalog::Action::kBegin); !why.empty())
    throw Refusal(RefusalKind::kState, fmt::format("[pilots] {} does not start: {}", run, why));
}

/// A question waits. Meanwhile its token may have ended, or its user, or the job's, have lost his rights.
void check_again(Database& database, const Request& request, const launch::HandedWork& work) {
  check_owner(database, run_of(work.label));
  if (request.caller.token.empty()) return;  // a service without users
  const auto kept = catalog::token_in_force(database, request.caller.token);
  if (!kept || !(work.own || caller_of(*kept).for_all))
    throw Refusal(RefusalKind::kUnknown, "[pilots] the token has ended, or is no longer for jobs of others");
}

/// An agent's question while it is answered.
struct Question {
  Question(launch::PilotBoard& board_asked, const Request& request)
      : board(board_asked),
        agent(agent_of(request)),
        until(std::chrono::steady_clock::now() +
              std::chrono::seconds(std::clamp<int64_t>(request.integer("wait_s"), 0, kWaitMax_s))),
        asking(board, agent) {}

  /// Whether there is nothing to wait for.
  bool look(bool stopping) {
    work = board.take(agent.id);
    return work || agent.draining || stopping || std::chrono::steady_clock::now() >= until;
  }
  void note(Database& database, Request& request) const {
    check_again(database, request, *work);
    request.noted = false;
    put_into_audit(database, request, "pilots.hand",
                   fmt::format("run {} to agent {} on {}", run_of(work->label), agent.name, agent.host));
  }
  json answer() const {
    json told = json::object();
    told["lease_ms"] = board.lease().count();
    told["work"] = work ? to_json(*work) : json();
    return told;
  }

  launch::PilotBoard& board;
  const launch::PilotAgent agent;
  const std::chrono::steady_clock::time_point until;
  const Asking asking;
  std::optional<launch::HandedWork> work;
};

Handler work_handler(Context& context, execution::Scheduler& scheduler, launch::PilotBoard& board) {
  return [&context, &scheduler, &board](Request& request) -> Task<Response> {
    const auto question = std::make_shared<Question>(board, request);
    if (!question->agent.draining) scheduler.wake();
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
    while (!question->look(context.traffic.stopping)) {
      timer.expires_after(kLookEvery);
      co_await timer.async_wait(boost::asio::use_awaitable);
    }
    if (question->work) {
      const std::function<void(Database&)> note = [&](Database& database) { question->note(database, request); };
      co_await writing(context, note);
    }
    co_return Response::json(question->answer());
  };
}

json agent_json(const launch::PilotAgent& agent) {
  return {{"id", agent.id},
          {"name", agent.name},
          {"host", agent.host},
          {"version", agent.version},
          {"user", agent.user},
          {"shared", agent.of_all},
          {"tags", agent.tags},
          {"cores", agent.all.cores},
          {"memory_mb", agent.all.memory_mb},
          {"gpus", agent.all.gpus},
          {"cores_free", agent.free.cores},
          {"seconds_left", agent.free.seconds_max},
          {"jobs", agent.leases},
          {"draining", agent.draining},
          {"price", agent.price},
          {"seen_ms", agent.seen_ms}};
}

/// His own, those that would run his jobs, and an admin's all.
Response agents_response(const launch::PilotBoard& board, const Request& request) {
  const catalog::Viewer viewer = viewer_of(request);
  json agents = json::array();
  for (const launch::PilotAgent& agent : board.agents())
    if (viewer.all || agent.of_all || agent.user == viewer.user) agents.push_back(agent_json(agent));
  return Response::json({{"agents", std::move(agents)}});
}

// --- what comes with a lease

struct Leased {
  launch::LeaseClaim claim;
  std::filesystem::path outputs;
};

Leased leased(Context& context, const Request& request) {
  const std::string& label = request.variable("attempt");
  return {lease_claim(request, label), execution::RunPlaces(context.host, context.host.run(run_of(label))).outputs};
}

void need_file_of_run(const std::string& name) {
  if (!job::is_handed_in(harmless_path(name)))
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[pilots] '{}' is no file that a run leaves; docs/reference/run-folder.md has them",
                              printable(name)));
}

/// A work on files, of a lease that is alive meanwhile.
Handler with_files(Context& context, launch::PilotBoard& board, std::function<json(const Leased&, Request&)> work) {
  return works_aside(context, [&context, &board, work = std::move(work)](Request& request) {
    const Leased lease = leased(context, request);
    json answer;
    board.with_lease(lease.claim, [&] { answer = work(lease, request); });
    return Response::json(answer);
  });
}

json add_lines(Context& context, const Leased& lease, const Request& request) {
  http::check_room(context.data, static_cast<int64_t>(request.body.size()), context.keep_free);
  const Descriptor folder = folder_below(context.data, lease.outputs.lexically_relative(context.data).string());
  return {{"end", launch::add_piece(folder.get(), job::kMetricsFile, request.integer("from"), request.body)}};
}

void list_below(const std::filesystem::path& root, const std::string& folder, json& files) {
  for (const FolderEntry& entry : entries_below(root, folder, kFilesMax)) {
    if (files.size() >= kFilesMax) return;
    if (entry.folder)
      list_below(root, entry.path, files);
    else if (job::is_handed_in(entry.path))
      files.push_back({{"path", entry.path}, {"bytes", entry.bytes}});
  }
}

json listed(const Leased& lease) {
  json files = json::array();
  list_below(lease.outputs, "", files);
  return {{"files", std::move(files)}};
}

json place(Context& context, const Leased& lease, Request& request) {
  const std::string& name = request.variable("path");
  need_file_of_run(name);
  folder_below(context.data, lease.outputs.lexically_relative(context.data).string());
  place_below(lease.outputs, name, request.body_file);
  return json::object();
}

json removed(const Leased& lease, const Request& request) {
  const std::string& name = request.variable("path");
  need_file_of_run(name);
  return {{"removed", remove_below(lease.outputs, name)}};
}

Response file_of(Context& context, const Request& request) {
  const std::string& name = request.variable("path");
  need_file_of_run(name);
  Response response = http::file_response(open_below(leased(context, request).outputs, name), name);
  http::prepare_range(request, response);
  return response;
}

/// Between the lease and the beginning lies what the agent makes ready.
Handler begin_handler(Context& context, launch::PilotBoard& board) {
  return reads(context, [&board](Database& database, Request& request) -> json {
    const std::string& label = request.variable("attempt");
    check_owner(database, run_of(label));
    board.begin(lease_claim(request, label), now_ms());
    return {{"lease_ms", board.lease().count()}};
  });
}

json renewed(launch::PilotBoard& board, const Request& request) {
  const json& told = *request.input;
  const auto use = told.find("use");
  const bool stop = board.renew(lease_claim(request, request.variable("attempt")),
                                launch::use_from_json(use == told.end() ? json::object() : *use));
  return {{"stop", stop}};
}

json ended(launch::PilotBoard& board, const Request& request) {
  board.end(lease_claim(request, request.variable("attempt")), launch::told_exit(request.input->at("exit")));
  return json::object();
}

Handler log_handler(Context& context, launch::PilotBoard& board) {
  return works_aside(context, [&context, &board](Request& request) {
    http::check_room(context.data, static_cast<int64_t>(request.body.size()), context.keep_free);
    const int64_t end =
        board.add_output(lease_claim(request, request.variable("attempt")), request.integer("from"), request.body);
    return Response::json({{"end", end}});
  });
}

}  // namespace

std::vector<Route> pilot_routes(Context& context, execution::Scheduler& scheduler, launch::PilotBoard& board) {
  using enum Method;
  const Changes of_lease = Changes::recorded(by_variable(kLeaseThing, "attempt"));
  const Reads of_lease_read = Reads::of(by_variable(kLeaseThing, "attempt"));
  const FieldRule from{"from", FieldType::kInteger, true, "of the first byte"};
  const auto route = [](Method method, const char* end, const char* name, const char* summary, BodyKind body,
                        std::vector<FieldRule> fields, Handler handler, size_t bytes_max) {
    return Route{method,
                 fmt::format("/api/v1/leases/{{attempt}}/{}", end),
                 name,
                 summary,
                 Access::kAgent,
                 body,
                 std::move(fields),
                 std::move(handler),
                 bytes_max};
  };
  const auto aside_json = [&context](std::function<json(const Request&)> work) {
    return works_aside(context, [work = std::move(work)](Request& request) { return Response::json(work(request)); });
  };
  return {
      changing(Changes::recorded(by_variable(kAgentThing, "id")),
               {kPost,
                "/api/v1/agents/{id}/work",
                "ask_for_work",
                "A job for an agent that has room for it, with its lease and secrets",
                Access::kAgent,
                BodyKind::kJson,
                {{"name", FieldType::kText, true, "of the agent"},
                 {"host", FieldType::kText, true, "it is on"},
                 {"version", FieldType::kText, false, "of its linac"},
                 {"tags", FieldType::kTexts, false, "that it has"},
                 {"cores", FieldType::kInteger, true, "when nothing runs there"},
                 {"memory_mb", FieldType::kInteger, true, "when nothing runs there"},
                 {"gpus", FieldType::kInteger, true, "when nothing runs there"},
                 {"cores_free", FieldType::kInteger, true, "now"},
                 {"memory_mb_free", FieldType::kInteger, true, "now"},
                 {"gpus_free", FieldType::kInteger, true, "now"},
                 {"seconds_left", FieldType::kInteger, false, "that it is there; 0: no end is known"},
                 {"price", FieldType::kNumber, false,
                  "US dollars for an hour of its host; the cheaper agent is served first"},
                 {"own", FieldType::kBoolean, false, "only jobs of its user"},
                 {"draining", FieldType::kBoolean, false, "it takes nothing any more"},
                 {"wait_s", FieldType::kInteger, false, "wait so long for work; 20 at most"}},
                work_handler(context, scheduler, board),
                kWordsBytesMax}),
      showing(Reads::found(), {kGet,
                               "/api/v1/agents",
                               "list_agents",
                               "Agents that were heard of lately: the caller's, and those that run everybody's jobs",
                               Access::kViewer,
                               BodyKind::kNone,
                               {},
                               answers([&board](Request& request) { return agents_response(board, request); })}),
      changing(of_lease, route(kPost, "begin", "begin_lease", "The job is about to run there", BodyKind::kJson, {},
                               begin_handler(context, board), kWordsBytesMax)),
      changing(of_lease,
               route(kPost, "renew", "renew_lease", "The job goes on", BodyKind::kJson,
                     {{"use", FieldType::kObject, false, "cpu_s, memory_bytes, read_bytes, written_bytes so far"}},
                     answers([&board](Request& request) { return Response::json(renewed(board, request)); }),
                     kWordsBytesMax)),
      changing(of_lease, route(kPost, "log", "add_lease_log", "What the job has printed from a place on",
                               BodyKind::kBytes, {from}, log_handler(context, board), kPieceBytesMax)),
      changing(of_lease, route(kPost, "lines", "add_lease_lines", "Bytes of its metrics.jsonl from a place on",
                               BodyKind::kBytes, {from},
                               with_files(context, board,
                                          [&context](const Leased& lease, Request& request) {
                                            return add_lines(context, lease, request);
                                          }),
                               kPieceBytesMax)),
      changing(of_lease,
               route(kPost, "end", "end_lease", "How the job ended; all its files are there", BodyKind::kJson,
                     {{"exit", FieldType::kObject, true, "status, signal, stopped, seconds, cpu_s, ..."}},
                     aside_json([&board](const Request& request) { return ended(board, request); }), kWordsBytesMax)),
      showing(of_lease_read,
              route(kGet, "files", "list_lease_files", "What the run has, of attempts before", BodyKind::kNone, {},
                    with_files(context, board, [](const Leased& lease, Request&) { return listed(lease); }),
                    kWordsBytesMax)),
      showing(of_lease_read,
              route(kGet, "files/{path...}", "get_lease_file", "One of these files", BodyKind::kNone, {},
                    works_aside(context, [&context](Request& request) { return file_of(context, request); }),
                    kWordsBytesMax)),
      changing(of_lease,
               route(kPut, "files/{path...}", "put_lease_file", "A file that the run leaves", BodyKind::kFile, {},
                     with_files(
                         context, board,
                         [&context](const Leased& lease, Request& request) { return place(context, lease, request); }),
                     kFileBytesMax)),
      changing(
          of_lease,
          route(
              kDelete, "files/{path...}", "remove_lease_file", "A file that the run no longer has", BodyKind::kNone, {},
              with_files(context, board, [](const Leased& lease, Request& request) { return removed(lease, request); }),
              kWordsBytesMax)),
  };
}

}  // namespace linac::service
