#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "linac/base/base/test_errors.h"
#include "linac/io/relay/access.h"
#include "linac/io/relay/addresses.h"
#include "linac/io/relay/listening.h"
#include "linac/io/relay/relays.h"
#include "linac/io/relay/server.h"

namespace linac::relay {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kLong = 20s;  // until a test gives up; none waits so long that passes

Identity::Seed seed_of(unsigned char first) {
  Identity::Seed seed{};
  seed[0] = first;
  return seed;
}

// A relay on a thread, at a port of its own or one that is named.
class Running {
 public:
  explicit Running(ServerLimits limits = {}, const std::string& at = "127.0.0.1:0") : server_(limits) {
    Descriptor listener = listen_at(look_up(at, "test", true));
    address_ = listening_at(listener.get());
    server_.listen(std::move(listener));
    thread_ = std::thread([this] { server_.run(); });
  }
  ~Running() {
    server_.stop();
    thread_.join();
  }
  const std::string& address() const { return address_; }
  ServerFacts facts() const { return server_.facts(); }
  void allow(const std::string& list) { server_.allow(Access(list, "list")); }

 private:
  Server server_;
  std::string address_;
  std::thread thread_;
};

bool ready(int socket, short events, std::chrono::milliseconds limit = kLong) {
  pollfd one{socket, events, 0};
  return poll(&one, 1, static_cast<int>(limit.count())) == 1;
}

// Says what a relay is told; throws with its reason.
Descriptor finish(Relays::Begun begun) {
  while (!begun.approach.advance(begun.socket.get()))
    if (!ready(begun.socket.get(), begun.approach.awaits())) throw std::runtime_error("no answer");
  return std::move(begun.socket);
}

std::string why_not(const Relays& relays, const std::string& name) {
  try {
    finish(relays.call(name));
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

Descriptor taken(Listening& listening) {
  if (!ready(listening.descriptor(), POLLIN)) throw std::runtime_error("nobody has called");
  Descriptor one = listening.take();
  return one ? std::move(one) : taken(listening);
}

// Of a socket that does not block: so many bytes, or fewer where it ends.
std::string read_all(int socket, size_t size) {
  std::string all;
  char bytes[65536];
  while (all.size() < size && ready(socket, POLLIN)) {
    const ssize_t come = recv(socket, bytes, std::min(sizeof bytes, size - all.size()), 0);
    if (come <= 0) break;
    all.append(bytes, static_cast<size_t>(come));
  }
  return all;
}

size_t write_some(int socket, const std::string& bytes) {
  const ssize_t size = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return size < 0 ? 0 : static_cast<size_t>(size);
}

void write_all(int socket, std::string bytes) {
  while (!bytes.empty() && ready(socket, POLLOUT)) bytes.erase(0, write_some(socket, bytes));
}

Descriptor raw(const std::string& address) {
  const Address to = look_up(address, "test");
  Descriptor socket(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(connect(socket.get(), to.get(), to.size), 0) << std::strerror(errno);
  return socket;
}

std::string line_of(int socket) {
  std::string line;
  for (char next = 0; ready(socket, POLLIN) && recv(socket, &next, 1, 0) == 1 && next != '\n';) line += next;
  return line;
}

TEST(Relay, JoinsACallAndWhoTakesIt) {
  const Running server;
  const auto relays = std::make_shared<const Relays>(server.address(), "test", seed_of(1));
  Listening listening(relays, "far/10.0.0.1:7");
  const Descriptor caller = finish(relays->call("far/10.0.0.1:7")), called = taken(listening);
  write_all(caller.get(), "there");
  EXPECT_EQ(read_all(called.get(), 5), "there");
  write_all(called.get(), "and back");
  EXPECT_EQ(read_all(caller.get(), 8), "and back");
  // What is said last arrives, and the end behind it; the other way stays open.
  write_all(caller.get(), "last");
  shutdown(caller.get(), SHUT_WR);
  EXPECT_EQ(read_all(called.get(), 100), "last");
  write_all(called.get(), "heard");
  EXPECT_EQ(read_all(caller.get(), 5), "heard");
}

TEST(Relay, KnowsEachRoomByItsKey) {
  const Running server({.absent = 100ms});
  const auto one = std::make_shared<const Relays>(server.address(), "test", seed_of(1));
  const auto other = std::make_shared<const Relays>(server.address(), "test", seed_of(2));
  Listening listening(one, "worker"), same_name(other, "worker");
  const Descriptor caller = finish(other->call("worker"));
  const Descriptor called = taken(same_name);
  write_all(caller.get(), "x");
  EXPECT_EQ(read_all(called.get(), 1), "x");
  EXPECT_FALSE(ready(listening.descriptor(), POLLIN, 50ms)) << "a call of another room";
  EXPECT_EQ(why_not(*one, "nobody"), "nobody listens there");
}

TEST(Relay, TakesNoHelloTwiceAndNoneOfAnotherRoom) {
  const Running server;
  const Identity own(seed_of(1)), another(seed_of(2));
  const auto answer = [&](const auto& hello) {
    const Descriptor socket = raw(server.address());
    const std::string nonce = nonce_in(line_of(socket.get())).value_or("");
    write_all(socket.get(), hello(nonce) + "\n");
    return line_of(socket.get());
  };
  std::string heard;
  EXPECT_EQ(answer([&](const std::string& nonce) { return heard = hello_line(own, Role::kListen, "a", nonce); }), "ok");
  EXPECT_TRUE(answer([&](const std::string&) { return heard; }).starts_with("no ")) << "heard and said again";
  EXPECT_TRUE(answer([&](const std::string& nonce) {
                std::string hello = hello_line(another, Role::kListen, "a", nonce);
                return hello.replace(hello.find(another.room()), another.room().size(), own.room());
              }).starts_with("no "))
      << "another's room";
  EXPECT_TRUE(answer([&](const std::string& nonce) {
                std::string hello = hello_line(own, Role::kListen, "a", nonce);
                return hello.replace(0, 6, "call");
              }).starts_with("no "))
      << "another role";
  for (const std::string garbage : {"", "GET / HTTP/1.1", "listen", "listen   ", "\xff\xfe"})
    EXPECT_TRUE(answer([&](const std::string&) { return garbage; }).starts_with("no ")) << garbage;
  EXPECT_TRUE(answer([&](const std::string&) { return std::string(2000, 'x'); }).starts_with("no "));
  EXPECT_TRUE(answer([&](const std::string& nonce) {
                return hello_line(own, Role::kCall, "a", nonce) + "\nalready";
              }).starts_with("no "));
}

TEST(Relay, HoldsLittleOfWhatASlowReaderDoesNotTake) {
  const Running server;
  const auto relays = std::make_shared<const Relays>(server.address(), "test", seed_of(1));
  Listening listening(relays, "slow");
  const Descriptor caller = finish(relays->call("slow")), called = taken(listening);
  const std::string piece(1 << 20, 'x');
  size_t sent = 0;
  for (size_t more = 1; more > 0 || ready(caller.get(), POLLOUT, 300ms);)
    sent += more = write_some(caller.get(), piece);
  // The rest is in the kernel's buffers, which have bounds of their own.
  for (const auto end = Clock::now() + kLong; server.facts().bytes_held == 0 && Clock::now() < end;)
    std::this_thread::sleep_for(10ms);
  EXPECT_GT(server.facts().bytes_held, 0U);
  EXPECT_LE(server.facts().bytes_held, Server::kPieceBytes);
  // Others have their way meanwhile, and nothing is lost of this one.
  const Descriptor quick = finish(relays->call("slow")), quick_called = taken(listening);
  write_all(quick.get(), "x");
  EXPECT_EQ(read_all(quick_called.get(), 1), "x");
  EXPECT_EQ(read_all(called.get(), sent).size(), sent);
}

TEST(Relay, LimitsWhoSaysNothingAndHowManyARoomHas) {
  const Running server({.connections_of_room = 3, .unproved = 4, .absent = 100ms});
  const auto relays = std::make_shared<const Relays>(server.address(), "test", seed_of(1));
  std::vector<Descriptor> silent;
  for (int i = 0; i < 12; ++i) silent.push_back(raw(server.address()));
  for (int i = 0; i < 8; ++i) {
    line_of(silent[static_cast<size_t>(i)].get());
    EXPECT_EQ(read_all(silent[static_cast<size_t>(i)].get(), 1), "") << i;  // closed
  }
  Listening listening(relays, "here");
  const Descriptor caller = finish(relays->call("here")), called = taken(listening);
  EXPECT_EQ(why_not(*relays, "here"), "too many connections of this room");
  const auto other = std::make_shared<const Relays>(server.address(), "test", seed_of(2));
  EXPECT_EQ(why_not(*other, "here"), "nobody listens there") << "another room has its own";
}

TEST(Relay, IsFoundAgainAndByAnotherAddress) {
  auto first = std::make_unique<Running>(), second = std::make_unique<Running>();
  const std::string at = first->address(), both = at + "," + second->address();
  const auto relays = std::make_shared<const Relays>(both, "test", seed_of(1));
  Listening listening(relays, "worker");
  const auto reached = [&] {
    for (const auto end = Clock::now() + kLong; Clock::now() < end; std::this_thread::sleep_for(50ms)) {
      try {
        const Descriptor caller = finish(relays->call("worker"));
        write_all(caller.get(), "x");
        return read_all(taken(listening).get(), 1) == "x";
      } catch (const std::runtime_error&) {
      }
    }
    return false;
  };
  EXPECT_TRUE(reached());
  first.reset();
  EXPECT_TRUE(reached()) << "by the second";
  second.reset();
  first = std::make_unique<Running>(ServerLimits{}, at);
  EXPECT_TRUE(reached()) << "by the first, which is another process now";
}

TEST(Relay, OfTwoWithOneNameTheLaterIsCalled) {
  const Running server;
  const auto relays = std::make_shared<const Relays>(server.address(), "test", seed_of(1));
  const Descriptor former = finish(relays->begin(0, Role::kListen, "worker"));
  const Descriptor later = finish(relays->begin(0, Role::kListen, "worker"));
  EXPECT_EQ(read_all(former.get(), 1), "");
  auto begun = relays->call("worker");
  auto call = std::async(std::launch::async, [&] { return finish(std::move(begun)); });
  const std::string line = line_of(later.get());
  ASSERT_TRUE(line.starts_with(kCallWord));
  const std::string ticket = line.substr(kCallWord.size());
  const Descriptor called = finish(relays->begin(0, Role::kTake, ticket));
  write_all(called.get(), "x");
  EXPECT_EQ(read_all(call.get().get(), 1), "x");
  EXPECT_THROW(finish(relays->begin(0, Role::kTake, ticket)), std::runtime_error) << "a ticket is good once";
}

TEST(RelayAccess, IsForWhomTheListNames) {
  Running server({.absent = 100ms});
  const Identity user(seed_of(7)), stranger(seed_of(8)), room(seed_of(1)), other_room(seed_of(2));
  const auto told = [&](unsigned char seed, const std::string& pass) {
    return why_not(Relays(server.address(), "test", seed_of(seed), pass), "nobody");
  };
  EXPECT_EQ(told(1, ""), "nobody listens there") << "without a list anybody";
  const std::string pass = make_pass(user, room.room());
  server.allow("user " + user.room() + "  # somebody\n\nrun " + other_room.room() + "\n");
  EXPECT_EQ(told(1, pass), "nobody listens there");
  EXPECT_EQ(told(2, ""), "nobody listens there") << "a run that is listed itself";
  EXPECT_NE(told(1, "").find("shows no pass"), std::string::npos);
  EXPECT_NE(told(1, make_pass(stranger, room.room())).find("does not list the user"), std::string::npos);
  EXPECT_NE(told(3, pass).find("no hello"), std::string::npos) << "the pass of another run, heard or stolen";
  EXPECT_NE(told(1, user.room() + ":" + stranger.sign("linac relay pass 1\n" + room.room())).find("no hello"),
            std::string::npos)
      << "signed by another user";
  EXPECT_NE(told(1, pass + "0").find("no hello"), std::string::npos);
  EXPECT_GE(server.facts().strangers, 2U);
}

TEST(RelayAccess, ListsNetworks) {
  Running server({.absent = 100ms});
  const auto told = [&] { return why_not(Relays(server.address(), "test", seed_of(1)), "nobody"); };
  server.allow("network 192.0.2.0/24\nnetwork 2001:db8::/32\n");
  EXPECT_NE(told().find("nobody from your address"), std::string::npos);
  server.allow("network 192.0.2.0/24\nnetwork 127.0.0.0/8\n");
  EXPECT_EQ(told(), "nobody listens there");
  server.allow("network 127.0.0.0/8\nuser " + Identity(seed_of(7)).room() + "\n");
  EXPECT_NE(told().find("shows no pass"), std::string::npos) << "both have to hold";
}

TEST(RelayAccess, ClosesConnectionsOfWhoIsNoLongerListed) {
  Running server({.absent = 100ms});
  const Identity user(seed_of(7)), other(seed_of(9));
  const auto with_pass = [&](unsigned char seed, const Identity& of) {
    return std::make_shared<const Relays>(server.address(), "test", seed_of(seed),
                                          make_pass(of, Identity(seed_of(seed)).room()));
  };
  server.allow("user " + user.room() + "\nuser " + other.room() + "\n");
  const auto one = with_pass(1, user), two = with_pass(2, other);
  Listening listening_one(one, "worker"), listening_two(two, "worker");
  const Descriptor caller_one = finish(one->call("worker")), called_one = taken(listening_one);
  const Descriptor caller_two = finish(two->call("worker")), called_two = taken(listening_two);
  const Descriptor silent = raw(server.address());
  server.allow("user " + other.room() + "\n");
  read_all(caller_one.get(), 1000);  // a word why, and its end
  EXPECT_EQ(read_all(called_one.get(), 1), "");
  write_all(caller_two.get(), "x");
  EXPECT_EQ(read_all(called_two.get(), 1), "x") << "of others nothing changes";
  EXPECT_TRUE(nonce_in(line_of(silent.get()))) << "who has yet to say who he is may still";
}

TEST(RelayAccess, TakesNoListThatIsNone) {
  const std::string key(64, 'a');
  const std::vector<std::string> wrong{"",
                                       "# nobody\n",
                                       "user " + key + "0",
                                       "user",
                                       "user " + key + " x",
                                       "run " + std::string(64, 'g'),
                                       "network 10.0.0.0/33",
                                       "host a",
                                       key,
                                       "\xff\xfe"};
  for (const std::string& text : wrong) EXPECT_THROW(Access(text, "list"), Error) << text;
  EXPECT_NO_THROW(Access("  run " + key + " # mine\r\n#\nnetwork ::/0\n", "list"));
  for (const std::string& text : {std::string(), key, key + ":" + key, key + ":" + key + key + "0"})
    EXPECT_FALSE(is_pass(text)) << text;
}

TEST(Relay, RefusesWhatIsNoAddress) {
  for (const std::string text : {"", "relay", "relay:", "relay:0", ":4711", "relay:99999", "127.0.0.1:1,", "http://"})
    EXPECT_THROW(Relays(text, "LINAC_RELAY", seed_of(1)), Error) << text;
  EXPECT_EQ(Relays("127.0.0.1:1,[::1]:2", "LINAC_RELAY", seed_of(1)).size(), 2U);
}

}  // namespace
}  // namespace linac::relay
