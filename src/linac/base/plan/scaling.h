#pragma once
// How long a training step takes on N hosts that carry R replicas each, from one that was measured: pure functions,
// thread-safe.
//
//   T(N) = compute + sum over the updates of exposed(N)
//
// An update's buckets (train/train/loops/loop_steps.h, UpdateOutline) travel one after the other. Each leaves when it
// is there and the one before it has arrived; it is there `left_s` before the host's last replica is computed. What
// travels up to that moment is hidden: by the backward pass of the last replica, and by what the hosts do besides that
// needs none of it (the 3DGAN's look ahead, train/train/loops/adversarial.h).
//
//   exposed(N)  = max(0, end of the last bucket - end of computing - work beside)
//   exchange(N) = sum over the levels of
//                 2 alpha + 2 (n + s - 2) o / t + (r + 1) (n - 1) (m / s) max(beta, c / t) + r (n - 1) (m / s) a
//
// is what a bucket of m bytes takes in train/comm/replica_sum.h, on the busiest host. In each of the levels of
// train/comm/sum_levels.h (one up to 32 hosts) it exchanges twice with the n - 1 others of its group; s of them, each
// with 16 KiB at least, add up a part of m, and m / s is what goes on to the next level. alpha is the latency of a
// round, beta the seconds a byte of the link, o what a message costs a thread of the host, c what a byte does that is
// sent and one that is received (encryption, the kernel's copies), t the threads that share these, one for each 256 KiB
// of a round, a what the addition of a byte costs. Each host sends r sums of its own replicas (1 where R is a power of
// two), and in further levels one of its group. The bucket goes in chunks of 1 MiB, of 8 MiB in several levels.
// Encrypting and sending go on side by side, record by record, so the slower of the two counts.
//
// The alpha-beta model is Hockney's (Parallel Computing 20, 1994); for collectives Thakur, Rabenseifner and Gropp (Int.
// J. High Perform. Comput. Appl. 19, 2005), who count reduce-scatter and all-gather by pairwise exchange alike but with
// N - 1 rounds of alpha each; here all messages of a round are under way at once.
//
// Not in the model: hosts of unequal speed (a step waits for the slowest), congestion between switches, and computing
// that the threads of the exchange hold up.

#include <string>
#include <vector>

namespace linac::plan {

/// Between any two hosts. Each sends and receives at `bytes_per_s` at the same time.
struct Link {
  double bytes_per_s = 1.25e9;
  double latency_s = 50e-6;  // one way
  double message_s = 10e-6;  // of a host's thread for a message sent or received
  double byte_s = 0;         // of a host's thread for a byte sent and one received
  double add_s = 0;          // of a host for a byte of a sum that is added to another
  int threads = 1;           // of a host for what it sends and receives, at most
};

/// "10gbit:50us", and as many as wanted of ":10us:0.9ns:0.05ns:8" behind it: rate (kbit, mbit, gbit), latency, cost of
/// a message, of a byte and of an addition (ns, us, ms, s), threads. User error otherwise.
Link parse_link(const std::string& text);

/// A part of an update's message.
struct Bucket {
  double bytes = 0;
  double left_s = 0;  // computing that goes on after it is there
};

struct Update {
  std::vector<Bucket> buckets;  // in the order in which they travel
  double beside_s = 0;          // work that is done while they do, after the update's own
  double every = 1;             // steps from one to the next
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

/// The largest group of each level that so many hosts exchange in.
std::vector<int> groups_of(int hosts);

/// One bucket. 0 for one host.
double exchange_s(double bytes, int hosts, int replicas, const Link& link);

/// What is not hidden of an update.
double exposed_s(const Update& update, int hosts, int replicas, const Link& link);

Prediction predict(const Step& step, int hosts, const Link& link);

}  // namespace linac::plan
