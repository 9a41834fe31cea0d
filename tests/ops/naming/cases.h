#pragma once

#include <functional>
#include <map>
#include <string>

#include "towerflow/tf.h"

namespace towerflow::testing {

/// The inputs of every case of make_golden.py.
struct Inputs {
  Tensor x = placeholder(float32, {.shape = {2, 3}, .name = "x"});
  Tensor y = placeholder(float32, {.shape = {2, 3}, .name = "y"});
  Tensor b = placeholder(float32, {.shape = {3}, .name = "b"});
  Tensor u = placeholder(float32, {.shape = {None, 3}, .name = "u"});
  Tensor i = placeholder(int32, {.shape = {2, 3}, .name = "i"});
  Tensor j = placeholder(int32, {.shape = {2}, .name = "j"});
  Tensor q = placeholder(float32, {.name = "q"});
  Tensor p = placeholder(bool_, {.shape = {2, 3}, .name = "p"});
};

/// The calls of make_golden.py in C++, by their keys.
using Cases = std::map<std::string, std::function<void(const Inputs&)>>;
void add_array_cases(Cases& cases);
void add_indexing_cases(Cases& cases);
void add_convolution_cases(Cases& cases);
void add_arrays_cases(Cases& cases);
void add_image_cases(Cases& cases);
void add_math_cases(Cases& cases);
void add_mathematics_cases(Cases& cases);
void add_slices_cases(Cases& cases);

}  // namespace towerflow::testing
