#pragma once
// What a job says of its optimiser (train.optimizer). A plain value; the table (table.h) says which settings an
// optimiser takes.

#include <string>

namespace linac::optimizer {

struct Settings {
  std::string name = "rmsprop";
  double lr = 1e-3;
  double momentum = 0;
  bool nesterov = false;
  double rho = 0.9;
  bool centered = false;
  double beta_1 = 0.9, beta_2 = 0.999;
  bool amsgrad = false;
  double epsilon = 1e-7;
  double initial_accumulator_value = 0.1;
  double weight_decay = 0;
  double global_clipnorm = 0;
  double clipvalue = 0;
  bool restore = false;

  template <class V>
  void fields(V& v) {
    v("name", name,
      "sgd, rmsprop, adam, adamw, adamax, nadam, adagrad, adadelta or lion, as Keras defines them; a Keras "
      "file that was compiled goes on with its own where the job names none");
    v("lr", lr, "learning rate");
    v("momentum", momentum, "sgd, rmsprop");
    v("nesterov", nesterov, "sgd: look ahead along the momentum");
    v("rho", rho, "rmsprop, adadelta: decay of the mean square");
    v("centered", centered, "rmsprop: divide by the variance in place of the mean square");
    v("beta_1", beta_1, "adam and its kin, lion: decay of the mean");
    v("beta_2", beta_2, "adam and its kin, lion: decay of the mean square (lion: of the momentum)");
    v("amsgrad", amsgrad, "adam, adamw: divide by the largest mean square so far");
    v("epsilon", epsilon, "keeps the division finite");
    v("initial_accumulator_value", initial_accumulator_value, "adagrad: what the sums of squares start from");
    v("weight_decay", weight_decay, "weights shrink by lr x this at each update, apart from the gradient; 0: off");
    v("global_clipnorm", global_clipnorm,
      "gradients longer than this (all weights of a network together) are shortened to it; 0: off");
    v("clipvalue", clipvalue, "each gradient value is cut to +-this; 0: off");
    v("restore", restore, "keras: start from the state of the optimizer in the file");
  }
};

}  // namespace linac::optimizer
