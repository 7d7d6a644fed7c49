#include "linac/train/comm/meeting/sockets.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/train/comm/group.h"
#include "linac/train/comm/meeting/run_key.h"
#include "linac/train/comm/test_stores.h"
#include "linac/train/comm/test_tcp_workers.h"
#include "linac/train/comm/transport/control_links.h"

namespace linac::comm {
namespace {

using testing::has_ipv6;

TEST(Sockets, LocalAddress) {
  EXPECT_TRUE(is_loopback("127.0.0.1"));
  EXPECT_TRUE(is_loopback("localhost"));
  EXPECT_FALSE(is_loopback("10.0.0.1"));
  EXPECT_EQ(local_address_towards("127.0.0.1", 1), "127.0.0.1");
  EXPECT_THROW(local_address_towards("no-such-host.invalid", 1), Error);
  EXPECT_THROW(listen_at("not an address", 0), Error);
  EXPECT_EQ(local_address_towards("localhost", 1), "127.0.0.1") << "whichever of its addresses is named first";
  if (has_ipv6()) {
    EXPECT_EQ(local_address_towards("::1", 1), "::1");
  }
}

TEST(Sockets, AddressesAsText) {
  EXPECT_EQ(host_and_port("10.0.0.3", 7), "10.0.0.3:7");
  EXPECT_EQ(host_and_port("fd00::3", 7), "[fd00::3]:7");
  EXPECT_EQ(host_in("[fd00::3]:7"), "fd00::3");
  EXPECT_EQ(host_in("10.0.0.3:7"), "10.0.0.3");
  EXPECT_EQ(socket_address("10.0.0.3:7").storage.ss_family, AF_INET);
  EXPECT_EQ(socket_address("[fd00::3]:65535").storage.ss_family, AF_INET6);
  for (const char* const bad :
       {"", ":", "7", "10.0.0.3", "10.0.0.3:", "10.0.0.3:0", "10.0.0.3:65536", "10.0.0.3:7x", "10.0.0.3:-7",
        "fd00::3:7", "[fd00::3]", "[]:7", "[fd00::3:7", "host:7", "[10.0.0.3]:7"})
    EXPECT_THROW(socket_address(bad), Error) << bad;
}

TEST(Sockets, ListenAtTheFirstFreePortOfARange) {
  const Descriptor taken(listen_at("127.0.0.1", 0));
  const int port = std::min(port_of(taken.get()), 65515);
  const Descriptor next(listen_at("127.0.0.1", PortRange{port, port + 20}));
  EXPECT_GT(port_of(next.get()), port);
  EXPECT_LE(port_of(next.get()), port + 20);
  const PortRange full{port_of(next.get()), port_of(next.get())};
  EXPECT_THROW(listen_at("127.0.0.1", full), Error);
}

TEST(Sockets, AWorkerIsFoundWhereItSays) {
  const auto run = std::make_shared<const LinkContext>(RunKey::draw(), "run");
  const ControlLinks here("127.0.0.1", "", {}, run), elsewhere("127.0.0.1", "fd00::9", {}, run);
  EXPECT_TRUE(here.address().starts_with("127.0.0.1:"));
  EXPECT_TRUE(elsewhere.address().starts_with("[fd00::9]:"));
  EXPECT_EQ(advertised_address("10.0.0.9"), "10.0.0.9");
  const TemporaryFolder folder;
  for (const char* const bad : {"0.0.0.0", "::", "no-such-host.invalid"}) EXPECT_THROW(advertised_address(bad), Error);
  EXPECT_THROW(make_group({}, {.open = true, .listen = "0.0.0.0", .folder = folder.path()}, *testing::chosen_stores()),
               Error)
      << "an address of none";
}

}  // namespace
}  // namespace linac::comm
