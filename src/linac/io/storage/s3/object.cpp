#include "linac/io/storage/s3/object.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "linac/base/base/error.h"

namespace linac::storage::s3 {
namespace {

constexpr const char* kPageObjects = "1000";

int64_t number_of(const std::string& text) {
  int64_t number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// An answer to HEAD has no body that says why: the same question once more, for that. Some servers then give another
// status: of a key that they do not know first 404, as of no object.
Answer explained(Session& session, const Address& address, Answer head) {
  if (head.http.status < 300 || head.http.status >= 500) return head;
  Answer answer = session.attempt({.address = address, .headers = {"Range: bytes=0-0"}});
  return answer.http.status == head.http.status || !answer.error.code.empty() ? answer : head;
}

// The object, and not the one that was looked at. One that has no ETag has a date.
bool is_another(const net::HttpAnswer& head, const ObjectState& state) {
  const std::string etag = head.header("etag"), modified = head.header("last-modified");
  if (!state.etag.empty()) return !etag.empty() && etag != state.etag;
  return !state.modified.empty() && !modified.empty() && modified != state.modified;
}

[[noreturn]] void fail_odd(const Call& call, const std::string& what) {
  throw data_error(fmt::format("[s3] {}{}: {}; ask whoever runs the server", call.address.url(), call.part, what));
}

}  // namespace

std::optional<ObjectState> look_if_there(Session& session, const Address& address) {
  const Call call{.address = address, .method = "HEAD"};
  if (address.key.empty() || address.key.ends_with('/'))
    throw user_error(
        fmt::format("[s3] {}: a folder, not an object; name its objects, as in {}*.h5", address.url(), address.url()));
  Attempts attempts(session.patience());
  for (;;) {
    Answer answer = session.attempt(call);
    if (answer.good()) {
      ObjectState state{number_of(answer.http.header("content-length")), answer.http.header("etag"),
                        answer.http.header("last-modified")};
      if (state.size < 0) fail_odd(call, "the server does not say the object's size");
      return state;
    }
    answer = explained(session, address, std::move(answer));
    if (answer.http.status == 404 && (answer.error.code.empty() || answer.error.code == "NoSuchKey"))
      return std::nullopt;
    if (!attempts.another(call, answer)) session.fail(call, answer);
  }
}

ObjectState look(Session& session, const Address& address) {
  if (auto state = look_if_there(session, address)) return *state;
  Answer missing;
  missing.http.status = 404;
  missing.error.code = "NoSuchKey";
  session.fail({.address = address}, missing);
}

ObjectReader::ObjectReader(Access access, Address address, Patience patience)
    : session_(std::move(access), patience), address_(std::move(address)), state_(look(session_, address_)) {}

ObjectReader::ObjectReader(Access access, Address address, ObjectState state, Patience patience)
    : session_(std::move(access), patience), address_(std::move(address)), state_(std::move(state)) {}

// Of another server the same address is another object.
std::string version_of(const Access& access, const std::string& etag, const std::string& modified) {
  const std::string& said = etag.empty() ? modified : etag;
  return said.empty() ? "" : access.endpoint + " " + said;
}

std::string ObjectReader::version() const {
  return version_of(session_.access(), state_.etag, state_.modified);
}

std::unique_ptr<Reader> ObjectReader::another() const {
  return std::make_unique<ObjectReader>(session_.access(), address_, state_, session_.patience());
}

void ObjectReader::read(int64_t offset, std::span<std::byte> bytes) {
  const auto wanted_end = offset + static_cast<int64_t>(bytes.size());
  if (offset < 0 || wanted_end > state_.size) {
    throw data_error(
        fmt::format("[s3] {}: ends at byte {}, and {} are asked for", address_.url(), state_.size, wanted_end));
  }
  Attempts attempts(session_.patience());
  while (!bytes.empty()) {
    const int64_t last = wanted_end - 1;
    Call call{.address = address_, .headers = {fmt::format("Range: bytes={}-{}", offset, last)}};
    if (!state_.etag.empty()) call.headers.push_back("If-Match: " + state_.etag);
    call.part = fmt::format(", bytes {} to {}", offset, last);
    size_t got = 0;
    bool fits = true, changed = false;
    // What the server sends must be what was asked for, of the same object: some caches on the way know no If-Match.
    call.receive = [&](const net::HttpAnswer& head, std::string_view piece) {
      const std::string range = head.header("content-range");
      fits = head.status == 206 && piece.size() <= bytes.size() - got &&
             (range.empty() || range.starts_with(fmt::format("bytes {}-", offset)));
      changed = is_another(head, state_);
      if (!fits || changed) return false;
      std::memcpy(bytes.data() + got, piece.data(), piece.size());
      got += piece.size();
      return true;
    };
    Answer answer = session_.attempt(call);
    if (changed) {
      answer = {};
      answer.http.status = 412;
      session_.fail(call, answer);
    }
    if (!fits) fail_odd(call, "the server sends other bytes than it was asked for");
    if (got > 0) attempts.begin_anew();
    offset += static_cast<int64_t>(got);
    bytes = bytes.subspan(got);
    if (bytes.empty()) return;
    if (answer.good()) {  // and less than was asked for
      answer.http.problem = net::HttpProblem::kBroken;
      answer.http.what = "the server sends less than was asked for";
    }
    if (!attempts.another(call, answer)) session_.fail(call, answer);
  }
}

Level list_level(Session& session, const Address& prefix) {
  Level level;
  Call call{.address = {prefix.bucket, ""}};
  call.query = {{"delimiter", "/"},
                {"encoding-type", "url"},
                {"list-type", "2"},
                {"max-keys", kPageObjects},
                {"prefix", prefix.key}};
  std::string token;
  do {
    if (!token.empty()) call.query["continuation-token"] = token;
    const Answer answer = session.perform(call);
    auto page = parse_list(answer.http.body);
    if (!page) fail_odd(call, "the server's list of objects cannot be read");
    if (!page->next.empty() && (page->next == token || page->objects.size() + page->prefixes.size() == 0))
      fail_odd(call, "the server's list of objects has no end");
    for (ListedObject& object : page->objects) level.objects.push_back(std::move(object));
    for (std::string& folder : page->prefixes) level.folders.push_back(std::move(folder));
    if (level.objects.size() + level.folders.size() > kListedMax)
      throw user_error(fmt::format("[s3] {}: more than {} objects; name fewer", prefix.url(), kListedMax));
    token = std::move(page->next);
  } while (!token.empty());
  return level;
}

}  // namespace linac::storage::s3
