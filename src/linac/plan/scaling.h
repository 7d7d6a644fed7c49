#pragma once
// How long a training step takes on N hosts that carry R replicas each, from one that was measured: pure functions,
// thread-safe.
//
//   T(N) = compute + sum over the updates of exposed(N)
//
// An update's buckets (train/loop.h, UpdateOutline) travel one after the other. Each leaves when it is there and the
// one before it has arrived; it is there `left_s` before the host's last replica is computed. What travels up to that
// moment is hidden: by the backward pass of the last replica, and by what the hosts do besides that needs none of it
// (the 3DGAN's look ahead, train/adversarial.h).
//
//   exposed(N)  = max(0, end of the last bucket - end of computing - work beside)
//   exchange(N) = 2 alpha + 2 (N + s - 2) o + (r + 1) (N - 1) (m / s) beta
//
// is what a bucket of m bytes takes in the two all-to-all rounds of comm/replica_sum.h, on the busiest host: alpha is
// the latency of a round, beta the seconds a byte, o what a message costs its host; the bucket goes in chunks of 1 MiB
// or N x 16 KiB, each cut into s parts, at most N and each of 16 KiB at least, and each host sends r sums of its own
// replicas (1 where R is a power of two). The alpha-beta model is Hockney's (Parallel Computing 20, 1994); for
// collectives Thakur, Rabenseifner and Gropp (Int. J. High Perform. Comput. Appl. 19, 2005), who count reduce-scatter
// and all-gather by pairwise exchange alike but with N - 1 rounds of alpha each; here all messages of a round are under
// way at once.
//
// Not in the model: hosts of unequal speed (a step waits for the slowest), the additions, congestion between switches.

#include <string>
#include <vector>

namespace linac::plan {

/// Between any two hosts. Each sends and receives at `bytes_per_s` at the same time.
struct Link {
  double bytes_per_s = 1.25e9;
  double latency_s = 50e-6;  // one way
  double message_s = 10e-6;  // of a host for a message sent or received
};

/// "10gbit:50us" or "10gbit:50us:10us": rate (kbit, mbit, gbit), latency and cost of a message (ns, us, ms, s). User
/// error otherwise.
Link parse_link(const std::string& text);

/// A part of an update's message.
struct Bucket {
  double bytes = 0;
  double left_s = 0;  // computing that goes on after it is there
};

struct Update {
  std::vector<Bucket> buckets;  // in the order in which they travel
  double beside_s = 0;          // work that is done while they do, after the update's own
};

/// Of one host without communication.
struct Step {
  double compute_s = 0;
  int replicas = 1;
  std::vector<Update> updates;
};

struct Prediction {
  int hosts = 1;
  double step_s = 0, exposed_s = 0;
  double efficiency = 1;  // of weak scaling: compute_s / step_s
  double sent_bytes = 0;  // by a host, a step
};

/// The most sums that one of `hosts` sends for a bucket: subtrees of the fixed tree that it owns alone.
int sums_of_a_host(int hosts, int replicas);

/// One bucket. 0 for one host.
double exchange_s(double bytes, int hosts, int replicas, const Link& link);

/// What is not hidden of an update.
double exposed_s(const Update& update, int hosts, int replicas, const Link& link);

Prediction predict(const Step& step, int hosts, const Link& link);

}  // namespace linac::plan
