// A bit of an activation that turns over (graph::TurnedActivation), as an audit has to find it.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "linac/model/graph/turned_activation.h"
#include "linac/model/nn/executable.h"

namespace linac::nn {
namespace {

graph::Graph two_layers() {
  graph::Builder b("two_layers");
  const int first = b.add("Dense", "first", {b.input("x", {6})}, {{"units", 5}});
  return b.finish({b.add("Dense", "second", {first}, {{"units", 1}})});
}

class Pass {
 public:
  at::Tensor operator()() const {
    const at::NoGradGuard no_gradient;
    return network_.run(make_weights(network_.graph(), parameters_, Gradients::kNone), {input_}, {})[0];
  }
  const at::Tensor& input() const { return input_; }

 private:
  const Executable network_{two_layers()};
  const graph::Parameters parameters_ = [] {
    graph::Parameters parameters = graph::Parameters::of(two_layers());
    graph::initialize(two_layers(), 7, 0, parameters);
    return parameters;
  }();
  const at::Tensor input_ = (at::arange(24, at::kFloat) * 0.7).sin().view({4, 6});
};

TEST(TurnedValues, OneOfAPassTheSameEachTime) {
  const Pass pass;
  const at::Tensor right = pass(), input = pass.input().clone();
  std::set<int64_t> wrong_events;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const graph::TurnedActivation turned({.seed = seed, .stream = Stream::kAudit});
    const at::Tensor once = pass(), again = pass();
    EXPECT_TRUE(at::equal(once.view(at::kInt), again.view(at::kInt))) << seed;
    const int64_t wrong = once.view(at::kInt).ne(right.view(at::kInt)).sum().item<int64_t>();
    EXPECT_LE(wrong, 1) << "a bit of one event";
    wrong_events.insert(wrong);
    at::Tensor elsewhere;
    std::thread([&] { elsewhere = pass(); }).join();
    EXPECT_TRUE(at::equal(elsewhere, right)) << "another thread computes rightly";
  }
  EXPECT_TRUE(wrong_events.contains(1));
  EXPECT_TRUE(at::equal(pass(), right)) << "behind it all is as before";
  EXPECT_TRUE(at::equal(pass.input(), input));
}

}  // namespace
}  // namespace linac::nn
