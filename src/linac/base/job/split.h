#pragma once
// One replica's volume over several workers (train.split). A value.

namespace linac::job {

struct Split {
  int x = 1, y = 1, z = 1;

  int parts() const { return x * y * z; }
  template <class V>
  void fields(V& v) {
    v("x", x,
      "parts into which the first axis of every image of a replica is divided, each with its activations on a worker "
      "(docs/guide/split.md); part of the numerics, unlike the number of workers that carry the parts");
    v("y", y, "of the second axis");
    v("z", z, "of the third axis");
  }
};

}  // namespace linac::job
