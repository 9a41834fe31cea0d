#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "towerflow/tf.h"

namespace towerflow::testing {

/// What a program of make_golden.py returns: fetches, and runs of them with their feeds. A run with
/// `before` runs that operation instead.
struct Program {
  struct Run {
    Feeds feeds{};
    Operation before{};
  };
  std::vector<Tensor> fetches;
  std::vector<Run> runs;
};

/// The programs of make_golden.py in C++, by name.
using Programs = std::map<std::string, std::function<Program()>>;
void add_cond_programs(Programs& programs);
void add_loop_programs(Programs& programs);
void add_array_programs(Programs& programs);
void add_composed_programs(Programs& programs);
void add_error_programs(Programs& programs);

/// Returns a scalar placeholder.
Tensor scalar(const char* name, DType dtype = float32);
/// Returns a variable whose elements are `value`.
Variable weight(const char* name, const Shape& shape, double value);
/// Returns the gradients that exist.
std::vector<Tensor> grads(const Tensor& y, const std::vector<Tensor>& xs);
/// Returns the tensors of both lists.
std::vector<Tensor> joined(std::vector<Tensor> a, const std::vector<Tensor>& b);
/// Returns a run with `p` true and one with `p` false.
std::vector<Program::Run> both(const Tensor& p, const Tensor& x, float value = 3);
/// Returns a run of the initializers of variables, followed by `runs`.
std::vector<Program::Run> initialized(std::vector<Program::Run> runs);

}  // namespace towerflow::testing
