#pragma once
// The stores at which workers of tests meet.

#include <memory>
#include <string>

#include "linac/train/comm/meeting/founding.h"
#include "linac/train/comm/test_loopback_store.h"

namespace linac::comm::testing {

/// The loopback store, unless another one is chosen before the first test: comm_test has LibTorch's in builds with it
/// (c10d/test_c10d_store.cpp).
inline const Stores*& chosen_stores() {
  static const Stores* stores = &loopback_stores();
  return stores;
}

inline std::unique_ptr<HostedStore> host_store(const std::string& addr, int port = 0) {
  return comm::host_store(*chosen_stores(), addr, port);
}

}  // namespace linac::comm::testing
