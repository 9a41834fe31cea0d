// Indexing, conversions and checks.
#include "ops/array/indexing.h"
#include "tests/ops/cases/families.h"
#include "towerflow/tf.h"

namespace towerflow::testing {
namespace {

using In = const CaseTensors&;

/// Adds a case of one index of x [4, 5, 3], with every dtype.
void add_index(std::vector<OpCase>& cases, const char* python, Indices at, bool timed = false) {
  cases.push_back(
      {.name = std::string("Index ") + python,
       .inputs = {random_input({4, 5, 3}, -9, 9)},
       .call = [at = std::move(at)](In t) { return t.x[at]; },
       .python = python,
       .dtypes = any_dtype(),
       .large = timed ? std::vector{random_input({100, 100, 100})} : std::vector<CaseInput>{}});
}

void add_index_cases(std::vector<OpCase>& cases) {
  add_index(cases, "x[0]", 0, true);
  add_index(cases, "x[-1, 2]", {-1, 2});
  add_index(cases, "x[...]", tf::ellipsis);
  add_index(cases, "x[()]", std::vector<Index>());
  add_index(cases, "x[None]", tf::newaxis);
  add_index(cases, "x[1, :, 0:-1]", {1, tf::all, {0, -1}}, true);
  add_index(cases, "x[..., None]", {tf::ellipsis, tf::newaxis});
  add_index(cases, "x[None, ..., None, 0]", {tf::newaxis, tf::ellipsis, tf::newaxis, 0});
  add_index(cases, "x[1, ..., None, :2]", {1, tf::ellipsis, None, {None, 2}});
  add_index(cases, "x[..., 1, :]", {tf::ellipsis, 1, tf::all});
  add_index(cases, "x[0, 1, ..., 2]", {0, 1, tf::ellipsis, 2});
  add_index(cases, "x[::2, 4:0:-2, ::-1]", {{None, None, 2}, {4, 0, -2}, {None, None, -1}}, true);
  add_index(cases, "x[9:1:-1, -99:99]", {{9, 1, -1}, {-99, 99}});
  add_index(cases, "x[2:1]", std::vector<Index>{{2, 1}});
  add_index(cases, "x[1:]", std::vector<Index>{{1, None}});
  cases.push_back({.name = "Index with tensors",
                   .inputs = {random_input({4, 5}, -9, 9), input_of({}, {1}, DType::int32),
                              input_of({}, {2}, DType::int32)},
                   .call =
                       [](In t) {
                         return CaseResults({t.x[t.y], t.x[{tf::all, t.z}], t.x[{-1, t.y}]});
                       },
                   .python = "[x[y], x[:, z], x[-1, y]]"});
  cases.push_back({.name = "Index with int64 tensors",
                   .inputs = {random_input({4, 5}, -9, 9), input_of({}, {1}, DType::int64),
                              input_of({}, {2}, DType::int32)},
                   .call =
                       [](In t) {
                         return CaseResults({t.x[t.y], t.x[{t.y, t.y}]});
                       },
                   .python = "[x[y], x[y, y]]"});
  cases.push_back({.name = "Index of a shape",
                   .inputs = {random_input({4, 5})},
                   .call =
                       [](In t) {
                         return CaseResults({tf::shape(t.x)[0], tf::shape(t.x)[{{1, None}}]});
                       },
                   .python = "[tf.shape(x)[0], tf.shape(x)[1:]]",
                   .gradients = CaseGradients::none});
  cases.push_back(
      {.name = "Index by a mask",
       .inputs = {random_input({2, 3}), input_of({2, 3}, {1, 0, 0, 1, 1, 0}, DType::bool_)},
       .call = [](In t) { return t.x[t.y]; },
       .python = "x[y]"});
}

}  // namespace

void add_indexing_cases(std::vector<OpCase>& cases) { add_index_cases(cases); }

}  // namespace towerflow::testing
