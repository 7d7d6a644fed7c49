#include "linac/train/comm/membership/membership_message.h"

#include <limits>
#include <stdexcept>

#include "linac/train/comm/membership/view_change.h"

namespace linac::comm {
namespace {

constexpr int kLastType = static_cast<int>(Message::Type::kEnd);

nlohmann::json to_json(const Report& report) {
  nlohmann::json json{{"installed", report.installed}, {"moment", report.moment}};
  if (report.accepted) json["accepted"] = *report.accepted;
  if (report.unreachable != 0) json["unreachable"] = report.unreachable;
  if (report.silent != 0) json["silent"] = report.silent;
  return json;
}

Report report_from(const nlohmann::json& json) {
  Report report{.installed = json.at("installed"), .accepted = {}, .moment = json.at("moment")};
  report.unreachable = json.value("unreachable", uint64_t{0});
  report.silent = json.value("silent", uint64_t{0});
  if (json.contains("accepted")) report.accepted = json.at("accepted").get<View>();
  return report;
}

nlohmann::json to_json(const Activity& activity) {
  return {activity.what, activity.since_ms, activity.waiting, activity.pace_s, activity.account};
}

Activity activity_from(const nlohmann::json& json) {
  return {json.at(0), json.at(1), json.at(2), json.at(3), json.at(4)};
}

// Whole numbers are due but for seconds. Another one is not to be put where it does not fit, which would be undefined.
bool fits(int /*depth*/, nlohmann::json::parse_event_t event, nlohmann::json& value) {
  if (event != nlohmann::json::parse_event_t::value || !value.is_number_float()) return true;
  const auto number = value.get<double>();
  if (!(number >= 0 && number < std::numeric_limits<int>::max())) throw std::runtime_error("a number out of bounds");
  return true;
}

}  // namespace

Message plain(Message::Type type) {
  Message message;
  message.type = type;
  return message;
}

Message with_view(Message::Type type, const View& view) {
  Message message = plain(type);
  message.view = view;
  return message;
}

View name_of(const View& view) {
  return {.number = view.number, .proposer = view.proposer, .members = {}};
}

Message with_failure(Message::Type type, const Failure& failure) {
  Message message = plain(type);
  message.failure = failure;
  return message;
}

Message request_to_join(const Member& self, uint64_t former) {
  Message message = plain(Message::Type::kJoin);
  message.member = self;
  message.former = former;
  return message;
}

Message direction_to(const std::string& address) {
  Message message = plain(Message::Type::kTryThere);
  message.address = address;
  return message;
}

std::string encode(const Message& message, const View* known) {
  nlohmann::json json{{"type", static_cast<int>(message.type)},
                      {"from", message.from},
                      {"from_address", message.from_address},
                      {"report", to_json(message.report)}};
  if (message.view && known != nullptr)
    json["change"] = change_of(*known, *message.view);
  else if (message.view)
    json["view"] = *message.view;
  if (message.member) json["member"] = *message.member;
  if (!message.activity.what.empty()) json["activity"] = to_json(message.activity);
  for (const auto& [key, activity] : message.activities) json["activities"].push_back({key, to_json(activity)});
  if (message.failure.code != 0 || !message.failure.text.empty())
    json["failure"] = {message.failure.code, message.failure.text};
  if (!message.address.empty()) json["address"] = message.address;
  if (message.former != 0) json["former"] = message.former;
  if (message.promised) json["promised"] = *message.promised;
  // Texts may quote file names and errors of any bytes.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Message decode_message(std::string_view bytes, const View& installed) {
  const auto json = nlohmann::json::parse(bytes, fits);
  const int type = json.at("type");
  if (type < 0 || type > kLastType) throw std::runtime_error("a message of an unknown kind");
  Message message;
  message.type = static_cast<Message::Type>(type);
  message.from = json.at("from");
  message.from_address = json.at("from_address");
  message.report = report_from(json.at("report"));
  if (json.contains("view")) message.view = json.at("view").get<View>();
  if (json.contains("change")) message.view = changed(installed, json.at("change"));
  if (json.contains("member")) message.member = json.at("member").get<Member>();
  if (json.contains("activity")) message.activity = activity_from(json.at("activity"));
  if (json.contains("activities")) {
    for (const auto& one : json.at("activities"))
      message.activities.emplace_back(one.at(0).get<uint64_t>(), activity_from(one.at(1)));
  }
  if (json.contains("failure")) message.failure = {json.at("failure").at(0), json.at("failure").at(1)};
  message.address = json.value("address", "");
  message.former = json.value("former", uint64_t{0});
  if (json.contains("promised")) message.promised = json.at("promised").get<View>();
  const bool wants_view = message.type == Message::Type::kPropose || message.type == Message::Type::kInstall ||
                          message.type == Message::Type::kAccept;
  if (wants_view && !message.view) throw std::runtime_error("a message without its view");
  if (message.type == Message::Type::kJoin && !message.member) throw std::runtime_error("a message without its member");
  return message;
}

}  // namespace linac::comm
