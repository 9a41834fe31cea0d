#include "tests/ops/naming/cases.h"

namespace towerflow::testing {
namespace {

using In = const Inputs&;

void add_operator_cases(Cases& c) {
  c["operator +"] = [](In t) { t.x + t.y; };
  c["operator + 1"] = [](In t) { t.x + 1; };
  c["operator 1 +"] = [](In t) { 1 + t.x; };
  c["operator -"] = [](In t) { t.x - 2; };
  c["operator *"] = [](In t) {
    t.x * 2;
    2 * t.x;
  };
  c["operator /"] = [](In t) {
    t.x / 2;
    1.0 / t.x;
  };
  c["operator / int"] = [](In t) { t.i / 2; };
  c["operator %"] = [](In t) { t.i % 2; };
  c["operator unary -"] = [](In t) { -t.x; };
  c["operator >"] = [](In t) {
    (void)(t.x > 0);
    (void)(0 < t.x);
  };
  c["operator >="] = [](In t) { (void)(t.x >= t.y); };
  c["operator <"] = [](In t) { (void)(t.x < 0); };
  c["operator <="] = [](In t) { (void)(t.x <= t.y); };
  c["operator + list"] = [](In t) { t.x + Operand({1.0, 2.0, 3.0}); };
  c["operator - list"] = [](In t) { Operand({1, 2, 3}) - t.x; };
  c["operator + dtypes"] = [](In t) { t.x + t.i; };
  c["operator + shapes"] = [](In t) { t.b + zeros({4}); };
  c["operator int + 1.5"] = [](In t) { t.i + 1.5; };
  c["operator 1.5 + int"] = [](In t) { 1.5 + t.i; };
  c["operator + True"] = [](In t) { t.x + true; };
  c["operator + unknown"] = [](In t) {
    t.u + t.x;
    t.u + t.u;
    t.u + t.b;
    t.q + t.x;
  };
  c["operator bool +"] = [](In t) { t.p + t.p; };
}

void add_binary_cases(Cases& c) {
  c["range"] = [](In) { range(3); };
  c["range by"] = [](In) { range(1, 10, 2, {.name = "k"}); };
  c["range float"] = [](In) { range(0.0, 1.0, 0.25); };
  c["add"] = [](In t) {
    add(t.x, 1.0);
    t.x + t.y;
    add(t.x, t.y, {.name = "k"});
  };
  c["add values"] = [](In) { add(1, 2); };
  c["add value left"] = [](In t) { add(1, t.x); };
  c["subtract"] = [](In t) { subtract(t.x, t.b); };
  c["multiply"] = [](In t) { multiply(t.x, 1.0); };
  c["divide"] = [](In t) { divide(t.x, 2.0); };
  c["divide named"] = [](In t) { divide(t.x, 2.0, {.name = "k"}); };
  c["divide values"] = [](In) { divide(1.0, 2.0); };
  c["truediv"] = [](In t) { truediv(t.x, t.y); };
  c["floordiv"] = [](In t) { floordiv(t.i, 2); };
  c["floormod"] = [](In t) { floormod(t.i, 2); };
  c["maximum"] = [](In t) { maximum(t.x, 1.0); };
  c["minimum"] = [](In t) { minimum(t.x, t.b); };
  c["pow"] = [](In t) { pow(t.x, 2.0); };
  c["squared_difference"] = [](In t) { squared_difference(t.x, 1.0); };
  c["equal"] = [](In t) {
    equal(t.i, 2);
    not_equal(t.x, 1.0);
  };
  c["equal strings"] = [](In) { equal(constant({"a"}), "b"); };
  c["greater"] = [](In t) {
    greater(t.x, t.y);
    greater_equal(t.x, 1.0);
  };
  c["less"] = [](In t) {
    less(t.x, t.y);
    less_equal(t.x, 1.0);
  };
  c["logical"] = [](In t) {
    logical_and(t.p, t.p);
    logical_or(t.p, t.p);
    logical_not(t.p);
  };
  c["unary"] = [](In t) {
    negative(t.x);
    abs(t.x);
    square(t.x);
    sqrt(t.x);
    rsqrt(t.x);
    reciprocal(t.x);
    exp(t.x);
    expm1(t.x);
    log(t.x);
    log1p(t.x);
    sigmoid(t.x);
    tanh(t.x);
    sin(t.x);
    cos(t.x);
    sign(t.x);
    floor(t.x);
    ceil(t.x);
    round(t.x);
    is_nan(t.x);
    is_inf(t.x);
    is_finite(t.x);
  };
  c["unary value"] = [](In) { square({1.0, 2.0}); };
  c["unary dtype"] = [](In t) { sqrt(t.i); };
  c["round int"] = [](In t) { round(t.i); };
}

void add_reduction_cases(Cases& c) {
  c["reduce_sum"] = [](In t) { reduce_sum(t.x); };
  c["reduce_sum axis"] = [](In t) { reduce_sum(t.x, 0); };
  c["reduce_sum axes"] = [](In t) { reduce_sum(t.x, {0, 1}, {.keepdims = true}); };
  c["reduce_sum no axes"] = [](In t) { reduce_sum(t.x, std::vector<int>{}); };
  c["reduce_sum no rank"] = [](In t) { reduce_sum(t.q); };
  c["reduce_sum no rank axis"] = [](In t) { reduce_sum(t.q, 0); };
  c["reduce_sum twice"] = [](In t) { reduce_sum(t.x, {0, -2}); };
  c["reduce_sum tensor axes"] = [](In t) { reduce_sum(t.x, t.j); };
  c["reduce_sum wrong axis"] = [](In t) { reduce_sum(t.x, 5); };
  c["reduce_sum values"] = [](In) { reduce_sum({1, 2, 3}); };
  c["reduce_sum bool"] = [](In t) { reduce_sum(t.p); };
  c["reduce_mean"] = [](In t) { reduce_mean(t.u, {.name = "m"}); };
  c["reduce_mean list"] = [](In t) { reduce_mean({t.x, t.y}, 0); };
  c["reduce_mean whole list"] = [](In t) {
    const auto scope = name_scope("t");
    reduce_mean({t.x, t.y}, {.name = "s"});
  };
  c["reduce_sum keep_dims"] = [](In t) { reduce_sum(t.x, 1, {.keep_dims = true}); };
  c["reduce_sum keep_dims false"] = [](In t) { reduce_sum(t.x, {.axis = 1, .keep_dims = false}); };
  c["reduce_sum keepdims twice"] = [](In t) {
    reduce_sum(t.x, 1, {.keepdims = false, .keep_dims = false});
  };
  c["reduce_all keep_dims"] = [](In t) { reduce_all(t.p, {.keep_dims = true}); };
  c["reduce_mean reduction_indices"] = [](In t) { reduce_mean(t.x, {.reduction_indices = {1}}); };
  c["reduce_mean axis twice"] = [](In t) { reduce_mean(t.x, {.axis = 1, .reduction_indices = 1}); };
  c["reduce_mean axis twice by place"] = [](In t) {
    reduce_mean(t.x, 1, {.reduction_indices = 1});
  };
  c["reduce_mean axis none"] = [](In t) { reduce_mean(t.x, None, {.reduction_indices = 0}); };
  c["moments keep_dims"] = [](In t) { nn::moments(t.x, {0}, {.keep_dims = true}); };
  c["moments keepdims twice"] = [](In t) {
    nn::moments(t.x, {0}, {.keep_dims = true, .keepdims = true});
  };
  c["reduce_max"] = [](In t) { reduce_max(t.u, {.axis = 1, .keepdims = true}); };
  c["reduce_min"] = [](In t) { reduce_min(t.i, -1); };
  c["reduce_prod"] = [](In t) { reduce_prod(t.x); };
  c["reduce_all"] = [](In t) {
    reduce_all(t.p);
    reduce_any(t.p, 1);
  };
  c["reduce_all float"] = [](In t) { reduce_all(t.x); };
  c["argmax"] = [](In t) { argmax(t.x, 1); };
  c["argmax int32"] = [](In t) { argmax(t.x, 0, {.output_type = int32}); };
  c["argmax default"] = [](In t) { argmax(t.u); };
  c["argmax wrong"] = [](In t) { argmax(t.x, 5); };
  c["argmin"] = [](In t) { argmin(t.x, 1); };
}

void add_product_cases(Cases& c) {
  c["add_n"] = [](In t) { add_n({t.x, t.y}); };
  c["add_n one"] = [](In t) { add_n({t.x}); };
  c["add_n one named"] = [](In t) { add_n({t.x}, {.name = "k"}); };
  c["add_n unknown"] = [](In t) { add_n({t.u, t.x}); };
  c["add_n values"] = [](In) { add_n({1.0, 2.0}); };
  c["sign value"] = [](In) { sign(2.0); };
  c["softmax packed"] = [](In t) { nn::softmax({t.b, t.b}); };
  c["add_n packed"] = [](In t) { add_n({Operand({t.b, t.b}), t.x}); };
  c["add_n none"] = [](In) { add_n(std::vector<Tensor>{}); };
  c["add_n shapes"] = [](In t) { add_n({t.x, t.b}); };
  c["add_n dtypes"] = [](In t) { add_n({t.x, t.i}); };
  c["cumsum"] = [](In t) { cumsum(t.x); };
  c["cumsum named"] = [](In t) {
    cumsum(t.u, -1, {.exclusive = true, .reverse = true, .name = "k"});
  };
  c["cumsum values"] = [](In) { cumsum({1, 2, 3}); };
  c["cumsum axis tensor"] = [](In t) { cumsum(t.q, t.i); };
  c["cumsum axis beyond"] = [](In t) { cumsum(t.x, 7); };
  c["cumsum axis float"] = [](In t) { cumsum(t.x, 0.5); };
  c["cumsum bool"] = [](In t) { cumsum(t.p); };
  c["l2_loss"] = [](In t) { nn::l2_loss(t.x); };
  c["matmul"] = [](In t) { matmul(t.x, t.y, {.transpose_b = true}); };
  c["matmul transpose_a"] = [](In t) { matmul(t.x, t.y, {.transpose_a = true, .name = "k"}); };
  c["matmul unknown"] = [](In t) { matmul(t.u, t.y, {.transpose_b = true}); };
  c["matmul value"] = [](In t) { matmul(t.x, {{1.0}, {2.0}, {3.0}}); };
  c["matmul sizes"] = [](In t) { matmul(t.x, t.y); };
  c["matmul rank"] = [](In t) { matmul(t.x, t.b); };
  c["matmul dtypes"] = [](In t) { matmul(t.x, t.i); };
  c["matmul int value"] = [](In t) { matmul(t.i, {{1.5}, {1.0}, {2.0}}); };
  c["unsorted_segment_sum"] = [](In t) { unsorted_segment_sum(t.x, {0, 1}, 4); };
}

}  // namespace

void add_math_cases(Cases& cases) {
  add_operator_cases(cases);
  add_binary_cases(cases);
  add_reduction_cases(cases);
  add_product_cases(cases);
}

}  // namespace towerflow::testing
