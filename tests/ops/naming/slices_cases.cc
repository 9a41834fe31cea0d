// Calls that get IndexedSlices where a tensor is expected.
#include <doctest/doctest.h>

#include "tests/ops/naming/cases.h"

namespace towerflow::testing {
namespace {

using In = const Inputs&;

IndexedSlices slices(const Inputs& t) { return {t.x, t.j, constant({5, 3})}; }
IndexedSlices slices_of_unknown_shape(const Inputs& t) { return {t.x, t.j, t.j}; }
Variable variable() { return get_variable("v", {5, 3}); }

void add_conversions(Cases& c) {
  c["convert slices"] = [](In t) { convert_to_tensor(slices(t)); };
  c["convert slices named"] = [](In t) { convert_to_tensor(slices(t), {.name = "k"}); };
  c["convert slices dtype"] = [](In t) { convert_to_tensor(slices(t), {.dtype = float64}); };
  c["convert slices no shape"] = [](In t) { convert_to_tensor(IndexedSlices{t.x, t.j, None}); };
}

void add_operators(Cases& c) {
  c["slices * number"] = [](In t) { slices(t) * 0.1; };
  c["number * slices"] = [](In t) { -0.1 * slices(t); };
  c["slices / number"] = [](In t) { slices(t) / 2; };
  c["number - slices"] = [](In t) { 1.0 - slices(t); };
  c["slices % number"] = [](In t) { slices(t) % 2.0; };
  c["slices + slices"] = [](In t) {
    const IndexedSlices left = slices(t);
    left + slices(t);
  };
  c["slices > number"] = [](In t) { (void)(slices(t) > 0); };
  c["number < slices"] = [](In t) { (void)(0 < slices(t)); };
  c["- slices"] = [](In t) { CHECK_FALSE((-slices(t)).is_dense()); };
  c["slices * tensor"] = [](In t) { slices(t) * t.b; };
  c["tensor * slices"] = [](In t) { t.b* slices(t); };
  c["slices - tensor"] = [](In t) { slices(t) - t.b; };
  c["tensor / slices"] = [](In t) { t.b / slices(t); };
  c["slices / tensor"] = [](In t) { slices(t) / t.b; };
  c["slices > tensor"] = [](In t) { (void)(slices(t) > t.b); };
  c["tensor > slices"] = [](In t) { (void)(t.b > slices(t)); };
  c["variable - slices"] = [](In t) {
    const Variable v = variable();
    v - slices(t);
  };
}

void add_kept(Cases& c) {
  c["slices scalar_mul"] = [](In t) { CHECK_FALSE(scalar_mul(0.1, slices(t)).is_dense()); };
  c["slices clip_by_value"] = [](In t) {
    CHECK_FALSE(clip_by_value(slices(t), -1.0, 1.0).is_dense());
  };
  c["slices clip_by_norm"] = [](In t) { CHECK_FALSE(clip_by_norm(slices(t), 1.0).is_dense()); };
  c["slices clip_by_global_norm"] = [](In t) {
    CHECK_FALSE(clip_by_global_norm({slices(t), None}, 1.0).list_clipped[0]->is_dense());
  };
  c["slices global_norm"] = [](In t) { global_norm({slices(t), None, t.b}); };
  c["slices stop_gradient"] = [](In t) { CHECK_FALSE(stop_gradient(slices(t)).is_dense()); };
  c["slices identity"] = [](In t) { CHECK_FALSE(identity(slices(t), {.name = "k"}).is_dense()); };
  c["slices cast"] = [](In t) { CHECK_FALSE(cast(slices(t), float64, {.name = "k"}).is_dense()); };
  c["slices cast same"] = [](In t) { CHECK_FALSE(cast(slices(t), float32).is_dense()); };
  c["slices tuple"] = [](In t) { CHECK_FALSE(tuple({slices(t), None, t.b})[0]->is_dense()); };
  c["slices group"] = [](In t) { group({slices(t)}); };
  c["slices group devices"] = [](In t) {
    const Gradient placed = [&] {
      const IndexedSlices own = slices(t);
      const auto cpu = device("/cpu:0");
      return identity(own);
    }();
    group({placed, t.b});
  };
  c["slices control_dependencies"] = [](In t) {
    const auto after = control_dependencies({slices(t)});
    no_op();
  };
}

void add_elementwise(Cases& c) {
  c["slices scaled"] = [](In t) { multiply(slices(t), 0.1); };
  c["slices squared"] = [](In t) {
    const IndexedSlices left = slices(t);
    multiply(left, slices(t));
  };
  c["slices multiply number"] = [](In t) { multiply(0.1, slices(t)); };
  c["slices negative"] = [](In t) { negative(slices(t)); };
  c["slices abs"] = [](In t) { abs(slices(t)); };
  c["slices sign"] = [](In t) { sign(slices(t)); };
  c["slices square"] = [](In t) { square(slices(t), {.name = "k"}); };
  c["slices is_finite"] = [](In t) { is_finite(slices(t)); };
  c["slices maximum"] = [](In t) { maximum(slices(t), 0.0); };
  c["slices equal"] = [](In t) { equal(slices(t), 0.0); };
  c["slices where"] = [](In t) {
    const Tensor finite = is_finite(slices(t));
    const IndexedSlices kept = slices(t);
    where(finite, kept, zeros_like(slices(t)));
  };
  c["slices relu"] = [](In t) { nn::relu(slices(t)); };
  c["slices softmax"] = [](In t) { nn::softmax(slices(t)); };
}

void add_reductions(Cases& c) {
  c["slices matmul"] = [](In t) {
    const IndexedSlices left = slices(t);
    matmul(left, slices(t), {.transpose_b = true});
  };
  c["slices reduce_sum"] = [](In t) { reduce_sum(slices(t)); };
  c["slices reduce_sum unknown"] = [](In t) { reduce_sum(slices_of_unknown_shape(t)); };
  c["slices reduce_max"] = [](In t) { reduce_max(slices(t), 0); };
  c["slices reduce_mean abs"] = [](In t) { reduce_mean(abs(slices(t))); };
  c["slices argmax"] = [](In t) { argmax(slices(t), 0); };
  c["slices cumsum"] = [](In t) { cumsum(slices(t)); };
  c["slices l2_loss"] = [](In t) { nn::l2_loss(slices(t)); };
  c["slices moments"] = [](In t) { nn::moments(slices(t), {0}); };
  c["slices add_n"] = [](In t) { add_n({slices(t), slices(t)}); };
  c["slices add_n one"] = [](In t) { add_n({slices(t)}); };
  c["slices add_n one named"] = [](In t) { add_n({slices(t)}, {.name = "k"}); };
}

void add_shapes(Cases& c) {
  c["slices zeros_like"] = [](In t) { zeros_like(slices(t)); };
  c["slices ones_like"] = [](In t) { ones_like(slices(t)); };
  c["slices shape"] = [](In t) { shape(slices(t)); };
  c["slices shape unknown"] = [](In t) { shape(slices_of_unknown_shape(t)); };
  c["slices size"] = [](In t) { size(slices(t)); };
  c["slices rank"] = [](In t) { rank(slices(t)); };
  c["slices expand_dims"] = [](In t) { expand_dims(slices(t), 0); };
  c["slices squeeze"] = [](In t) { squeeze(slices(t)); };
  c["slices reshape"] = [](In t) { reshape(slices(t), {-1}); };
  c["slices transpose"] = [](In t) { transpose(slices(t)); };
  c["slices concat"] = [](In t) { concat({slices(t), slices(t)}, 0); };
  c["slices stack"] = [](In t) { stack({slices(t), slices(t)}); };
  c["slices stack one"] = [](In t) { stack({slices(t)}, {.name = "k"}); };
  c["slices stack axis"] = [](In t) { stack({slices(t), slices(t)}, {.axis = 1}); };
  c["slices stack second"] = [](In t) { stack({zeros({5, 3}), slices(t)}); };
  c["slices packed"] = [](In t) {
    const IndexedSlices both[] = {slices(t), slices(t)};
    reduce_mean({both[0], both[1]}, 0);
  };
  c["slices unstack"] = [](In t) { unstack(slices(t)); };
  c["slices split"] = [](In t) { split(slices(t), 5); };
  c["slices slice"] = [](In t) { slice(slices(t), {0, 0}, {1, 1}); };
  c["slices gather"] = [](In t) { gather(slices(t), {0}); };
  c["slices pad"] = [](In t) { pad(slices(t), {{0, 1}, {0, 0}}); };
  c["slices tile"] = [](In t) { tile(slices(t), {1, 2}); };
  c["slices placeholder_with_default"] = [](In t) { placeholder_with_default(slices(t), {5, 3}); };
}

void add_uses(Cases& c) {
  c["slices assign"] = [](In t) {
    const Variable v = variable();
    assign(v, slices(t));
  };
  c["slices assign_add"] = [](In t) {
    const Variable v = variable();
    v.assign_add(slices(t));
  };
  c["slices assign_sub"] = [](In t) {
    const Variable v = variable();
    assign_sub(v, slices(t));
  };
  c["slices as initial value"] = [](In t) { Variable(slices(t), {.name = "k"}); };
  c["slices histogram"] = [](In t) { summary::histogram("k", slices(t)); };
  c["slices scalar"] = [](In t) { summary::scalar("k", slices(t)); };
}

}  // namespace

void add_slices_cases(Cases& cases) {
  add_conversions(cases);
  add_operators(cases);
  add_kept(cases);
  add_elementwise(cases);
  add_reductions(cases);
  add_shapes(cases);
  add_uses(cases);
}

}  // namespace towerflow::testing
