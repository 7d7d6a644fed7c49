// Whatever a peer says, a line a message: each is refused by the decoder, or moves the membership somewhere from which
// time goes on. The process that hears them is a member of a view of three, or a newcomer.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <sstream>
#include <string>

#include "linac/base/base/error.h"
#include "linac/train/comm/membership/membership.h"

namespace {

using namespace linac::comm;

View founders() {
  View view{.number = 1, .proposer = 11, .members = {}, .next_seniority = 3};
  for (int i = 0; i < 3; ++i) {
    view.members.push_back({.seniority = i,
                            .key = static_cast<uint64_t>(i) + 11,
                            .address = "10.0.0." + std::to_string(i + 1) + ":1000",
                            .host = "n",
                            .pid = i});
  }
  return view;
}

std::optional<Message> decoded(const std::string& line, const View& installed) {
  try {
    return decode_message(line, installed);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const View first = founders();
  const size_t role = data[0] % 4;  // a rank, or a newcomer
  Member self = role < 3 ? first.members[role] : Member{.key = 99, .address = "10.0.0.9:1000"};
  uint64_t keys = 1000;
  Membership membership(self, {.members_min = 2, .replicas = 8}, [&] { return ++keys; });
  if (role < 3)
    membership.found(first, 0);
  else
    membership.join({first.members[0].address}, 0);
  std::istringstream lines(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  int64_t now = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto message = decoded(line, membership.view());
    if (message) membership.on_message(*message, now);
    if (line.empty()) membership.on_refused(first.members[2].address, now);
    now += 150;
    membership.on_tick(now);
    const View& installed = membership.view();
    for (const auto& outgoing : membership.take_outgoing()) {
      const std::string bytes = encode(outgoing.message, outgoing.knows_view ? &installed : nullptr);
      LINAC_CHECK(decode_message(bytes, installed).view == outgoing.message.view);
    }
    for (const auto& event : membership.take_events()) LINAC_CHECK(!event.text.empty());
    if (membership.running()) {
      LINAC_CHECK(membership.rank() >= 0 && membership.view().size() >= 1);
      membership.commit({0, now, 0});
    }
  }
  return 0;
}
