// Indexing, default conversions and checks.
#include <doctest/doctest.h>

#include "tests/ops/naming/cases.h"

namespace towerflow::testing {
namespace {

using In = const Inputs&;

Tensor scalar(DType dtype = int32) { return placeholder(dtype, Shape{}, {.name = "s"}); }

void add_index_cases(Cases& c) {
  c["x[0]"] = [](In t) { t.x[0]; };
  c["x[-1]"] = [](In t) { t.x[-1]; };
  c["x[0][1]"] = [](In t) { t.x[0][1]; };
  c["x[5]"] = [](In t) { t.x[5]; };
  c["x[0, 0, 0]"] = [](In t) { t.x[{0, 0, 0}]; };
  c["x[..., ...]"] = [](In t) { t.x[{tf::ellipsis, tf::ellipsis}]; };
  c["x[()]"] = [](In t) { t.x[{}]; };
  c["x[:, 1:]"] = [](In t) { t.x[{tf::all, {1, None}}]; };
  c["x[::0]"] = [](In t) { t.x[{{None, None, 0}}]; };
  c["x[..., tf.newaxis]"] = [](In t) { t.x[{tf::ellipsis, tf::newaxis}]; };
  c["x[None]"] = [](In t) { t.x[None]; };
  c["u[0]"] = [](In t) { t.u[0]; };
  c["u[1:, 0]"] = [](In t) { t.u[{{1, None}, 0}]; };
  c["u[:, 1]"] = [](In t) { t.u[{tf::all, 1}]; };
  c["x[:, :size]"] = [](In t) { t.x[{tf::all, {None, t.j.shape()[0]}}]; };
  c["x[size]"] = [](In t) { t.u[t.b.shape()[0]]; };
  c["x[:unknown size]"] = [](In t) { t.x[{{None, t.u.shape()[0]}}]; };
  c["q[0]"] = [](In t) { t.q[0]; };
  c["x[2**40:]"] = [](In t) { t.x[{{std::int64_t{1} << 40, None}}]; };
  c["x[s]"] = [](In t) { t.x[scalar()]; };
  c["x[s64]"] = [](In t) { t.x[scalar(int64)]; };
  c["x[0, s64]"] = [](In t) { t.x[{0, scalar(int64)}]; };
  c["x[s:]"] = [](In t) { t.x[{{scalar(), None}}]; };
  c["x[:s64]"] = [](In t) { t.x[{{None, scalar(int64)}}]; };
  c["x[0, :s]"] = [](In t) { t.x[{0, {None, scalar()}}]; };
  c["x[s, s64]"] = [](In t) {
    const Tensor first = scalar();
    t.x[{first, scalar(int64)}];
  };
  c["x[float]"] = [](In t) { t.x[scalar(float32)]; };
  c["x[vector]"] = [](In t) { t.x[t.j]; };
  c["x[mask]"] = [](In t) { t.x[t.p]; };
  c["x[mask,]"] = [](In t) { t.x[{t.p}]; };
  c["shape[0]"] = [](In t) { shape(t.u)[0]; };
  c["shape[:1]"] = [](In t) { shape(t.u)[{{None, 1}}]; };
  c["v[0]"] = [](In) { get_variable("v", {5, 3})[0]; };
  c["reshape shape[0]"] = [](In t) { reshape(t.u, {shape(t.u)[0], 3, 1}); };
  c["two packs"] = [](In t) {
    const auto scope = name_scope("s");
    stack({t.b[0], 1.0});
    stack({t.b[0], 1.0});
  };
  c["packed inner"] = [](In t) { convert_to_tensor({{t.b, t.b}, {t.b, {1.0, 2.0, 3.0}}}); };
  c["packed inner values"] = [](In t) { convert_to_tensor({{1.0, 2.0, 3.0}, t.b}); };
  c["packed dtypes"] = [](In t) { convert_to_tensor({t.j, t.b}); };
  c["strided_slice masks"] = [](In t) {
    strided_slice(t.x, {0, 0, 1}, {0, 0, 2}, {1, 1, 1},
                  {.ellipsis_mask = 1, .new_axis_mask = 2, .name = "k"});
  };
  c["strided_slice shrink new"] = [](In t) {
    strided_slice(t.x, {0, 0}, {1, 1}, {1, 1}, {.new_axis_mask = 1, .shrink_axis_mask = 3});
  };
}

void add_conversion_cases(Cases& c) {
  c["to_float"] = [](In t) { to_float(t.i); };
  c["to_float same"] = [](In t) { to_float(t.x); };
  c["to_double named"] = [](In t) { to_double(t.i, {.name = "k"}); };
  c["to_int32 value"] = [](In) { to_int32(1.5); };
  c["to_int64"] = [](In t) { to_int64(t.x); };
  c["ensure_shape"] = [](In t) { ensure_shape(t.u, Shape{2, None}); };
  c["ensure_shape unknown"] = [](In t) { ensure_shape(t.q, Shape{2, None}, {.name = "k"}); };
  c["ensure_shape wrong"] = [](In t) { ensure_shape(t.x, Shape{3, 3}); };
}

void add_numeric_cases(Cases& c) {
  c["check_numerics"] = [](In t) { check_numerics(t.x, "m"); };
  c["check_numerics value"] = [](In) { check_numerics({1.0, 2.0}, "m", {.name = "k"}); };
  c["check_numerics int"] = [](In t) { check_numerics(t.i, "m"); };
  c["verify_tensor_all_finite"] = [](In t) { verify_tensor_all_finite(t.x, "m"); };
  c["verify_tensor_all_finite value"] = [](In) { verify_tensor_all_finite(1.0, "m"); };
  c["add_check_numerics_ops"] = [](In t) {
    const Variable v = get_variable("v", {3});
    matmul(t.x, expand_dims(v, 1));
    add_check_numerics_ops();
  };
  c["Print"] = [](In t) { Print(t.x, {t.i, t.p}, {.message = "m", .name = "k"}); };
  c["Print values"] = [](In t) { Print(1.0, {t.i, "text", 2}, {.first_n = 2, .summarize = 5}); };
  c["Print nothing"] = [](In t) { Print(t.x, {}); };
  c["is_numeric_tensor"] = [](In t) {
    CHECK(is_numeric_tensor(t.x));
    CHECK_FALSE(is_numeric_tensor(t.p));
  };
}

void add_type_checks(Cases& c) {
  c["assert_type"] = [](In t) { assert_type(t.x, float32); };
  c["assert_type value"] = [](In) { assert_type(1, int32, {.name = "k"}); };
  c["assert_type wrong"] = [](In t) { assert_type(t.x, int32, {.message = "m"}); };
  c["assert_integer"] = [](In t) { assert_integer(t.i); };
  c["assert_integer wrong"] = [](In t) { assert_integer(t.x); };
  c["assert_scalar"] = [](In) { assert_scalar(1.0); };
  c["assert_scalar wrong"] = [](In t) { assert_scalar(t.x); };
  c["assert_scalar unknown"] = [](In t) { assert_scalar(t.q); };
  c["assert_rank"] = [](In t) { assert_rank(t.x, 2); };
  c["assert_rank wrong"] = [](In t) { assert_rank(t.x, 3, {.message = "m"}); };
  c["assert_rank dtype"] = [](In t) { assert_rank(t.x, 2.0); };
  c["assert_rank vector"] = [](In t) { assert_rank(t.x, constant({2})); };
  c["assert_rank_at_least"] = [](In t) { assert_rank_at_least(t.x, 1, {.name = "k"}); };
  c["assert_rank_at_least wrong"] = [](In t) { assert_rank_at_least(t.x, 3); };
  c["assert_rank_in"] = [](In t) { assert_rank_in(t.x, {1, 2}); };
  c["assert_rank_in wrong"] = [](In t) { assert_rank_in(t.x, {0, 3}); };
  c["assert_rank unknown"] = [](In t) { assert_rank(t.q, 2, {.message = "m"}); };
  c["assert_rank_at_least unknown"] = [](In t) { assert_rank_at_least(t.q, 2); };
  c["assert_rank_in unknown"] = [](In t) { assert_rank_in(t.q, {1, 2, 3}); };
  c["assert_rank tensor"] = [](In t) { assert_rank(t.x, scalar()); };
}

/// In TensorFlow, assertions of tensors that are not int32 are conditionals.
void add_value_checks(Cases& c) {
  c["assert_less int"] = [](In t) { assert_less(t.i, t.i); };
  c["assert_positive int"] = [](In t) { assert_positive(t.i, {.summarize = 5, .message = "m"}); };
  c["assert_non_negative int"] = [](In t) { assert_non_negative(t.i, {.name = "k"}); };
  c["assert_negative int"] = [](In t) { assert_negative(t.i); };
  c["assert_non_positive int"] = [](In t) { assert_non_positive(t.i); };
  c["assert_greater data"] = [](In t) {
    assert_greater(t.i, 3, {.data = {{"wrong", t.i}}, .message = "m"});
  };
  c["assert_equal int"] = [](In t) { assert_equal(t.i, t.j[0]); };
  c["assert_equal same"] = [](In t) { assert_equal(t.x, t.x); };
  c["assert_none_equal int"] = [](In t) { assert_none_equal(t.i, 1); };
  c["assert_less_equal int"] = [](In t) { assert_less_equal(t.i, 1); };
  c["assert_greater_equal int"] = [](In t) { assert_greater_equal(t.i, 1); };
  c["assert_less values"] = [](In) { assert_less({1, 2}, 3); };
  c["assert_less values wrong"] = [](In) { assert_less({1, 2}, 2); };
  c["assert_positive value wrong"] = [](In) { assert_positive(-1.0); };
  c["assert_equal strings wrong"] = [](In) { assert_equal({"a", "b"}, "a"); };
  c["assert_less dtypes"] = [](In t) { assert_less(t.x, 1); };
  c["assert_less shapes"] = [](In t) { assert_less(t.i, t.j); };
}

}  // namespace

void add_indexing_cases(Cases& cases) {
  add_index_cases(cases);
  add_conversion_cases(cases);
  add_numeric_cases(cases);
  add_type_checks(cases);
  add_value_checks(cases);
}

}  // namespace towerflow::testing
