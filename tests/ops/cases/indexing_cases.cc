// Indexing, conversions and checks.
#include "tests/ops/cases/families.h"
#include "towerflow/tf.h"

namespace towerflow::testing {
namespace {

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
  cases.push_back({.name = "Index with ranges of tensors",
                   .inputs = {random_input({4, 5}, -9, 9), input_of({}, {1}, DType::int32),
                              input_of({}, {3}, DType::int32)},
                   .call =
                       [](In t) {
                         return CaseResults({t.x[{{t.y, None}}], t.x[{tf::all, {None, t.z}}],
                                             t.x[{{t.z, t.y, -1}, {None, None, t.z}}],
                                             t.x[{tf::newaxis, {t.y, t.z}, 0}]});
                       },
                   .python = "[x[y:], x[:, :z], x[z:y:-1, ::z], x[None, y:z, 0]]",
                   .dtypes = any_dtype()});
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

void add_cast_cases(std::vector<OpCase>& cases) {
  const CaseInput x = random_input({2, 3}, -9, 9);
  cases.push_back({.name = "ToFloat",
                   .inputs = {x},
                   .call = [](In t) { return tf::to_float(t.x); },
                   .python = "tf.to_float(x)",
                   .dtypes = any_dtype(),
                   .gradients = CaseGradients::elsewhere});
  cases.push_back({.name = "ToDouble",
                   .inputs = {x},
                   .call = [](In t) { return tf::to_double(t.x); },
                   .python = "tf.to_double(x)",
                   .dtypes = any_dtype(),
                   .gradients = CaseGradients::elsewhere});
  cases.push_back({.name = "ToInt32, ToInt64",
                   .inputs = {x},
                   .call =
                       [](In t) {
                         return CaseResults({tf::to_int32(t.x), tf::to_int64(t.x, {.name = "k"})});
                       },
                   .python = "[tf.to_int32(x), tf.to_int64(x, name='k')]",
                   .dtypes = any_dtype(),
                   .gradients = CaseGradients::none});
  // The highest number of float32 below 2^31 is another one than that of float64.
  struct Target {
    const char* name;
    DType dtype;
    double most;
  };
  for (const Target& to :
       {Target{"uint8", DType::uint8, 1e30}, Target{"int32", DType::int32, 1e30},
        Target{"int64", DType::int64, 1e18}, Target{"float32", DType::float32, 1e300}}) {
    cases.push_back(
        {.name = std::string("Saturate to ") + to.name,
         .inputs = {input_of({6}, {-to.most, -3e9, -7, 8, 300, to.most})},
         .call = [dtype = to.dtype](In t) { return tf::saturate_cast(t.x, dtype); },
         .python = std::string("tf.saturate_cast(x, tf.") + to.name + ")",
         .dtypes = {DType::float64},
         .gradients = to.dtype == DType::float32 ? CaseGradients::elsewhere : CaseGradients::none});
  }
  cases.push_back({.name = "Saturate integers",
                   .inputs = {input_of({3}, {-7, 8, 300})},
                   .call =
                       [](In t) {
                         return CaseResults({tf::saturate_cast(t.x, DType::uint8),
                                             tf::saturate_cast(t.x, DType::int32),
                                             tf::saturate_cast(t.x, DType::float32)});
                       },
                   .python = "[tf.saturate_cast(x, d) for d in (tf.uint8, tf.int32, tf.float32)]",
                   .dtypes = integers(),
                   .gradients = CaseGradients::none});
  cases.push_back({.name = "EnsureShape",
                   .inputs = {x},
                   .call =
                       [](In t) {
                         return tf::ensure_shape(t.x, Shape{None, 3});
                       },
                   .python = "tf.ensure_shape(x, [None, 3])",
                   .dtypes = any_dtype()});
}

void add_check_cases(std::vector<OpCase>& cases) {
  const CaseInput x = random_input({2, 3}, -9, 9);
  cases.push_back({.name = "CheckNumerics",
                   .inputs = {x},
                   .call = [](In t) { return tf::check_numerics(t.x, "wrong"); },
                   .python = "tf.check_numerics(x, 'wrong')",
                   .large = {random_input({1000, 1000})}});
  cases.push_back({.name = "VerifyFinite",
                   .inputs = {x},
                   .call = [](In t) { return tf::verify_tensor_all_finite(t.x, "wrong"); },
                   .python = "tf.verify_tensor_all_finite(x, 'wrong')"});
  cases.push_back({.name = "Print",
                   .inputs = {x},
                   .call =
                       [](In t) {
                         return tf::Print(t.x, {t.x, t.x}, {.first_n = 0});
                       },
                   .python = "tf.Print(x, [x, x], first_n=0)",
                   .dtypes = any_dtype()});
  cases.push_back(
      {.name = "Monotonic",
       .inputs = {input_of({4}, {1, 2, 2, 3})},
       .call =
           [](In t) {
             return CaseResults({tf::is_non_decreasing(t.x), tf::is_strictly_increasing(t.x)});
           },
       .python = "[tf.is_non_decreasing(x), tf.is_strictly_increasing(x)]",
       .other_nodes = true,
       .dtypes = numbers(),
       .gradients = CaseGradients::none});
  cases.push_back(
      {.name = "Monotonic, short",
       .inputs = {input_of({1}, {1}), input_of({0}, {})},
       .call =
           [](In t) {
             return CaseResults({tf::is_non_decreasing(t.x), tf::is_strictly_increasing(t.y)});
           },
       .python = "[tf.is_non_decreasing(x), tf.is_strictly_increasing(y)]",
       .other_nodes = true,
       .gradients = CaseGradients::none});
  for (const bool stateful : {true, false}) {
    cases.push_back({.name = stateful ? "PyFunc" : "PyFunc without state",
                     .inputs = {x},
                     .call =
                         [stateful](In t) {
                           const auto twice = [](const tf::Array& a) {
                             tf::Array y(a.dtype(), a.shape());
                             dispatch_dtype(a.dtype(), [&]<class T>() {
                               for (std::int64_t i = 0; i < a.elements(); ++i) {
                                 y.data<T>()[i] = a.data<T>()[i] + a.data<T>()[i];
                               }
                             });
                             return y;
                           };
                           return tf::py_func(twice, {t.x}, t.dtype, {.stateful = stateful});
                         },
                     .python = std::string("tf.py_func(lambda a: a + a, [x], dtype, stateful=") +
                               (stateful ? "True)" : "False)"),
                     .gradients = CaseGradients::none});
  }
}

}  // namespace

void add_indexing_cases(std::vector<OpCase>& cases) {
  add_index_cases(cases);
  add_cast_cases(cases);
  add_check_cases(cases);
}

}  // namespace towerflow::testing
