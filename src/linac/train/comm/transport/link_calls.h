#pragma once
// Links to several members, opened at the same time: what takes one round trip for one takes one for all.

#include <chrono>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "linac/train/comm/transport/secure_link.h"
#include "linac/train/comm/transport/view_end.h"
#include "linac/train/comm/transport/ways.h"

namespace linac::comm {

struct Callee {
  int rank;
  std::string address;
  std::string hello;  // what is said first
};

struct LinkFailed : std::runtime_error {
  LinkFailed(int of, const std::string& why) : std::runtime_error(why), rank(of) {}
  int rank;
};

/// Established links in the order of the callees, with the hello sent. A greeting that the other end breaks off is
/// tried again some times: where many strangers call, it may have let go of this one too. Throws LinkFailed when one
/// cannot be made, after `limit`, or when the view comes to its `end`.
/// One by a relay (`ways`) is tried until the limit: the relay may be gone for a moment.
std::vector<SecureLink> call_all(std::span<const Callee> callees, const std::shared_ptr<const LinkContext>& context,
                                 std::chrono::milliseconds limit, const ViewEnd& end, const Ways* ways = nullptr);

}  // namespace linac::comm
