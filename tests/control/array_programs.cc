// Programs with tf::TensorArray, tf::map_fn, tf::scan and the folds.
#include "ops/control/map_fn.h"
#include "ops/control/scan.h"
#include "ops/control/tensor_array.h"
#include "tests/control/programs.h"

namespace towerflow::testing {
namespace {

using Pair = std::tuple<Tensor, Tensor>;

Tensor vector_of(const char* name, const Shape& shape, DType dtype = float32) {
  return placeholder(dtype, {.shape = shape, .name = name});
}

TensorArray array_of(int size, DType dtype = float32) { return TensorArray(dtype, {.size = size}); }

const Array& two_rows() {
  static const Array rows = to_array({{1.0, 2.0}, {3.0, 4.0}});
  return rows;
}

const Array& three_rows() {
  static const Array rows = to_array({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}});
  return rows;
}

const Array& three_numbers() {
  static const Array numbers = to_array({1.0, 2.0, 3.0});
  return numbers;
}

void add_elements(Programs& programs) {
  programs["array_write_read"] = [] {
    const Tensor x = scalar("x");
    TensorArray ta(float32, {.size = 3, .clear_after_read = false});
    ta = ta.write(0, x);
    ta = ta.write(1, x * x);
    ta = ta.write(2, 3.0);
    const Tensor a = ta.read(1), b = ta.read(constant(0)), y = a * b;
    const Tensor n = ta.size(), last = ta.read(2);
    return Program{joined({y, a, b, n, last}, grads(y, {x})), {{{{x, 1.5F}}}, {{{x, -2.0F}}}}};
  };
  programs["array_stack"] = [] {
    const Tensor x = vector_of("x", {2});
    TensorArray ta(float32, {.size = 3, .name = "kept"});
    for (int i = 0; i < 3; ++i) ta = ta.write(i, x * static_cast<float>(i + 1));
    const Tensor y = ta.stack();
    return Program{joined({y}, grads(square(y), {x})), {{{{x, to_array({1.0, -2.0})}}}}};
  };
  programs["array_dynamic"] = [] {
    const Tensor x = scalar("x");
    TensorArray ta(float32, {.size = 0, .dynamic_size = true});
    ta = ta.write(0, x);
    ta = ta.write(2, x * x);
    ta = ta.write(1, 1.0);
    const Tensor y = ta.stack(), n = ta.size();
    return Program{joined({y, n}, grads(y, {x})), {{{{x, 1.5F}}}}};
  };
  programs["array_closed"] = [] {
    const TensorArray ta = array_of(1).write(0, 1.0);
    const Operation done = [&] {
      const auto after = control_dependencies({ta.flow()});
      return ta.close();
    }();
    const auto after = control_dependencies({done});
    return Program{{ta.identity().read(0)}, {{}}};
  };
  programs["array_twice_differentiated"] = [] {
    const Tensor x = scalar("x");
    TensorArray ta = array_of(2);
    ta = ta.write(0, x * x);
    ta = ta.write(1, x);
    const Tensor y = ta.stack();
    const std::vector<Tensor> once = grads(y, {x});
    return Program{joined(once, grads(square(y), {x})), {{{{x, 1.5F}}}}};
  };
  programs["array_unread_element"] = [] {
    const Tensor x = scalar("x"), y = scalar("y");
    TensorArray ta = array_of(2);
    ta = ta.write(0, x * 2.0);
    const Tensor z = ta.write(1, y).read(0);
    return Program{joined({z}, grads(z, {x, y})), {{{{x, 1.5F}, {y, 3.0F}}}}};
  };
}

void add_rows(Programs& programs) {
  programs["array_unstack"] = [] {
    const Tensor x = vector_of("x", {None, 2}), n = shape(x)[0];
    const Tensor first = TensorArray(float32, {.size = n}).unstack(x).read(0);
    const TensorArray rows =
        TensorArray(float32, {.size = n, .clear_after_read = false}).unstack(x);
    const Tensor y = rows.gather({1, 0});
    const Tensor z = rows.read(n - 1, {.name = "last"});
    std::vector<Tensor> slopes;
    for (const OptionalGradient& dx : gradients({y, z}, {x})) slopes.push_back(dx->dense());
    return Program{joined({first, y, z}, slopes), {{{{x, two_rows()}}}, {{{x, three_rows()}}}}};
  };
  programs["array_scatter"] = [] {
    const Tensor x = vector_of("x", {2, 2});
    TensorArray ta(float32, {.size = 4, .element_shape = Shape{2}});
    ta = ta.scatter({3, 1}, x);
    ta = ta.write(0, {1.0, 2.0});
    ta = ta.write(2, {0.5, 0.5}, {.name = "half"});
    const Tensor y = ta.stack({.name = "all"});
    return Program{joined({y}, grads(square(y), {x})), {{{{x, two_rows()}}}}};
  };
  programs["array_split_concat"] = [] {
    const Tensor x = vector_of("x", {5, 2});
    const TensorArray ta = TensorArray(float32, {.size = 2, .infer_shape = false});
    const Tensor y = ta.split(x, {2, 3}).concat();
    const Array value = to_array({{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}}, float32);
    return Program{joined({y}, grads(square(y), {x})), {{{{x, value}}}}};
  };
  programs["array_equal_pieces"] = [] {
    const Tensor x = vector_of("x", {4});
    const TensorArray ta =
        TensorArray(float32, {.size = 2, .clear_after_read = false}).split(x, {2, 2});
    const Tensor y = square(ta.read(1)), z = ta.concat();
    return Program{joined({y, z}, grads(y, {x})), {{{{x, to_array({1.0, 2.0, 3.0, 4.0})}}}}};
  };
  programs["array_of_integers"] = [] {
    const Tensor x = vector_of("x", {None}, int32);
    const Tensor y = TensorArray(int32, {.size = size(x)}).unstack(x).stack();
    return Program{{y}, {{{{x, to_array({1, 2, 3})}}}, {{{x, to_array({4})}}}}};
  };
}

void add_structures(Programs& programs) {
  programs["array_in_loop"] = [] {
    const Tensor x = scalar("x");
    const auto [i, z, ta] = while_loop([](Tensor k, Tensor, TensorArray) { return k < 4; },
                                       [&](Tensor k, Tensor u, TensorArray kept) {
                                         const Tensor more = k + 1, next = u * x;
                                         return std::tuple(more, next, kept.write(k, u));
                                       },
                                       std::tuple(0, x, array_of(4)));
    const Tensor y = ta.stack();
    return Program{joined({y, z}, grads(y, {x})), {{{{x, 1.5F}}}}};
  };
  programs["array_read_in_loop"] = [] {
    const Tensor x = vector_of("x", {None, 2}), n = shape(x)[0];
    const TensorArray source = TensorArray(float32, {.size = n}).unstack(x);
    const TensorArray empty(float32, {.size = n});
    const auto [i, last, kept] = while_loop([&](Tensor k, Tensor, TensorArray) { return k < n; },
                                            [&](Tensor k, Tensor state, TensorArray ta) {
                                              const Tensor half = state * 0.5,
                                                           next = half + source.read(k);
                                              const Tensor more = k + 1;
                                              return std::tuple(more, next, ta.write(k, next));
                                            },
                                            std::tuple(0, constant({1.0, 2.0}), empty));
    const Tensor y = kept.stack();
    const Array rows = to_array({{1.0, 2.0}, {3.0, -1.0}});
    return Program{joined({y, last}, grads(square(y), {x})),
                   {{{{x, rows}}}, {{{x, three_rows()}}}}};
  };
  programs["array_grows_in_loop"] = [] {
    const Tensor n = scalar("n", int32), x = scalar("x");
    const TensorArray empty(float32, {.size = 0, .dynamic_size = true});
    const auto [i, ta] = while_loop([&](Tensor k, TensorArray) { return k < n; },
                                    [&](Tensor k, TensorArray kept) {
                                      const Tensor more = k + 1;
                                      return std::tuple(more, kept.write(k, x * cast(k, float32)));
                                    },
                                    std::tuple(0, empty));
    const Tensor y = ta.stack(), count = ta.size();
    return Program{joined({y, count}, grads(y, {x})),
                   {{{{n, 3}, {x, 1.5F}}}, {{{n, 1}, {x, 2.0F}}}}};
  };
  programs["array_made_in_loop"] = [] {
    const Tensor x = scalar("x");
    const auto [i, z, kept] = while_loop([](Tensor k, Tensor, TensorArray) { return k < 3; },
                                         [&](Tensor k, Tensor u, TensorArray all) {
                                           TensorArray ta = array_of(2).write(0, u);
                                           ta = ta.write(1, x);
                                           const Tensor sum = reduce_sum(ta.stack());
                                           const Tensor more = k + 1;
                                           return std::tuple(more, sum, all.write(k, sum));
                                         },
                                         std::tuple(0, x, array_of(3)));
    const TensorArray after = array_of(1).write(0, z);
    const Tensor stacked = kept.stack();
    return Program{{stacked, after.read(0)}, {{{{x, 1.5F}}}}};
  };
  programs["array_in_cond"] = [] {
    const Tensor p = scalar("p", bool_), x = scalar("x");
    const TensorArray ta = array_of(2).write(0, x);
    const TensorArray whole = cond(
        p, [&] { return ta.write(1, x * x); }, [&] { return ta.write(1, 5.0); });
    const Tensor y = whole.stack();
    return Program{joined({y}, grads(y, {x})), both(p, x)};
  };
  programs["array_in_nested_structure"] = [] {
    using Inner = std::tuple<Tensor, TensorArray>;
    using Outer = std::tuple<TensorArray, Inner>;
    const Tensor x = scalar("x");
    const TensorArray a = array_of(3), b = array_of(3);
    const auto [i, arrays] = while_loop([](Tensor k, const Outer&) { return k < 3; },
                                        [&](Tensor k, const Outer& outer) {
                                          const auto& [first, inner] = outer;
                                          const auto& [u, second] = inner;
                                          const Tensor more = k + 1;
                                          const TensorArray kept = first.write(k, u);
                                          const Tensor next = u * x;
                                          const Inner made(next, second.write(k, u + 1.0));
                                          return std::tuple(more, Outer(kept, made));
                                        },
                                        std::tuple(0, Outer(a, Inner(x, b))));
    const Tensor left = std::get<0>(arrays).stack();
    const Tensor y = left * std::get<1>(std::get<1>(arrays)).stack();
    const Tensor z = std::get<0>(std::get<1>(arrays));
    return Program{joined({y, z}, grads(y, {x})), {{{{x, 1.5F}}}}};
  };
}

void add_maps(Programs& programs) {
  programs["map_of_rows"] = [] {
    const Tensor x = vector_of("x", {3, 2});
    const Tensor y = map_fn([](Tensor row) { return square(row); }, x);
    return Program{joined({y}, grads(y, {x})), {{{{x, three_rows()}}}}};
  };
  programs["map_of_unknown_size"] = [] {
    const Tensor x = vector_of("x", {None, 2});
    const Tensor y = map_fn([](Tensor row) { return square(row) + row; }, x,
                            {.parallel_iterations = 3, .name = "sums"});
    return Program{joined({y}, grads(square(y), {x})),
                   {{{{x, two_rows()}}}, {{{x, to_array({{1.0, 2.0}})}}}}};
  };
  programs["map_of_two"] = [] {
    const Tensor x = vector_of("x", {3}), y = vector_of("y", {None});
    const Tensor z =
        map_fn([](Tensor a, Tensor b) { return a * b; }, std::tuple(x, y), {.dtype = float32});
    return Program{joined({z}, grads(z, {x, y})),
                   {{{{x, three_numbers()}, {y, to_array({4.0, 5.0, 6.0})}}}}};
  };
  programs["map_to_other_dtypes"] = [] {
    const Tensor x = vector_of("x", {None});
    const auto [a, b] = map_fn(
        [](Tensor e) {
          const Tensor whole = cast(e, int32);
          return Pair(whole, e + 1.0);
        },
        x, {.dtype = {int32, float32}});
    return Program{joined({a, b}, grads(b, {x})), {{{{x, to_array({1.5, 2.5})}}}}};
  };
  programs["map_with_variable"] = [] {
    const Tensor x = vector_of("x", {None, 2});
    const Variable w = get_variable("w", Shape{2}, {.initializer = constant_initializer(0.5)});
    const Tensor y = map_fn([&](Tensor row) { return row * w; }, x);
    const auto init = initialized({{{{x, two_rows()}}}});
    return Program{joined({y}, grads(square(y), {x, w})), init};
  };
  programs["map_in_map"] = [] {
    const Tensor x = vector_of("x", {2, 3});
    const Tensor y =
        map_fn([](Tensor row) { return map_fn([](Tensor e) { return square(e); }, row); }, x);
    return Program{joined({y}, grads(y, {x})),
                   {{{{x, to_array({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}})}}}}};
  };
  programs["map_without_gradient"] = [] {
    const Tensor x = vector_of("x", {2});
    const Tensor y =
        map_fn([](Tensor e) { return e * e; }, x, {.back_prop = false, .infer_shape = false});
    return Program{{y}, {{{{x, to_array({1.0, 2.0})}}}}};
  };
}

void add_scans(Programs& programs) {
  programs["scan_sums"] = [] {
    const Tensor x = vector_of("x", {None, 2});
    const Tensor y = scan([](Tensor a, Tensor e) { return square(a) + e; }, x);
    return Program{joined({y}, grads(square(y), {x})),
                   {{{{x, two_rows()}}}, {{{x, three_rows()}}}}};
  };
  programs["scan_with_initializer"] = [] {
    const Tensor x = vector_of("x", {3}), s = scalar("s");
    const Tensor y = scan([](Tensor a, Tensor e) { return a * e; }, x, s, {.name = "products"});
    return Program{joined({y}, grads(y, {x, s})), {{{{x, three_numbers()}, {s, 1.5F}}}}};
  };
  programs["scan_reverse"] = [] {
    const Tensor x = vector_of("x", {3});
    const Tensor y = scan([](Tensor a, Tensor e) { return a + e * e; }, x, {.reverse = true});
    return Program{joined({y}, grads(y, {x})), {{{{x, three_numbers()}}}}};
  };
  programs["scan_reverse_of_unknown_size"] = [] {
    const Tensor x = vector_of("x", {None});
    const Tensor y = scan([](Tensor a, Tensor e) { return a + e; }, x, 0.5,
                          {.infer_shape = false, .reverse = true});
    return Program{joined({y}, grads(y, {x})),
                   {{{{x, three_numbers()}}}, {{{x, to_array({4.0})}}}}};
  };
  programs["scan_fibonacci"] = [] {
    const Tensor x = vector_of("x", {6}, int32);
    const auto [a, b] = scan(
        [](const Pair& before, Tensor) {
          return Pair(std::get<1>(before), std::get<0>(before) + std::get<1>(before));
        },
        x, std::tuple(0, 1));
    return Program{{a, b}, {{{{x, to_array({0, 0, 0, 0, 0, 0})}}}}};
  };
}

void add_folds(Programs& programs) {
  programs["fold_left"] = [] {
    const Tensor x = vector_of("x", {3});
    const Tensor y = foldl([](Tensor a, Tensor e) { return a * 0.5 + e; }, x);
    return Program{joined({y}, grads(y, {x})), {{{{x, three_numbers()}}}}};
  };
  programs["fold_left_from_initializer"] = [] {
    const Tensor x = vector_of("x", {None, 2}), s = scalar("s");
    const Tensor y =
        foldl([](Tensor a, Tensor e) { return a * reduce_sum(e); }, x, s, {.name = "left"});
    return Program{joined({y}, grads(y, {x, s})), {{{{x, two_rows()}, {s, 1.5F}}}}};
  };
  programs["fold_left_then_gathered"] = [] {
    const Tensor x = vector_of("x", {None, 3});
    const Tensor y =
        gather(foldl([](Tensor a, Tensor e) { return a - e; }, x, constant({0.5F, 1.0F, -2.0F})),
               {0, 0, 2});
    return Program{joined({y}, grads(y, {x})),
                   {{{{x, to_array({{1.0, 2.0, 4.0}, {3.0, 4.0, 0.5}})}}}}};
  };
  programs["fold_right"] = [] {
    const Tensor x = vector_of("x", {None});
    const Tensor y = foldr([](Tensor a, Tensor e) { return a * 0.5 + e; }, x);
    return Program{joined({y}, grads(y, {x})),
                   {{{{x, three_numbers()}}}, {{{x, to_array({5.0})}}}}};
  };
  programs["fold_right_of_two"] = [] {
    const Tensor x = vector_of("x", {3}), y = vector_of("y", {3});
    const Tensor z = foldr(
        [](Tensor a, const Pair& e) {
          const Tensor product = a * std::get<0>(e);
          return product + std::get<1>(e);
        },
        std::tuple(x, y), 1.0);
    return Program{joined({z}, grads(z, {x, y})),
                   {{{{x, three_numbers()}, {y, to_array({4.0, 5.0, 6.0})}}}}};
  };
}

void add_build_errors(Programs& programs) {
  programs["error_array_without_size"] = [] {
    const TensorArray ta(float32, {});
    return Program{};
  };
  programs["error_array_of_handle_and_size"] = [] {
    const TensorArray ta = array_of(1);
    const TensorArray other(float32, {.size = 1, .handle = ta.handle(), .flow = ta.flow()});
    return Program{};
  };
  programs["error_array_shapes"] = [] {
    const TensorArray ta = array_of(2).write(0, {1.0, 2.0});
    ta.write(1, {1.0, 2.0, 3.0});
    return Program{};
  };
  programs["error_array_index_type"] = [] {
    array_of(2).write(constant(0, {.dtype = int64}), 1.0);
    return Program{};
  };
  programs["error_map_of_scalar"] = [] {
    map_fn([](Tensor e) { return e; }, scalar("x"));
    return Program{};
  };
  programs["error_map_of_unlike_sizes"] = [] {
    map_fn([](Tensor a, Tensor) { return a; }, std::tuple(zeros({2}), zeros({3})),
           {.dtype = float32});
    return Program{};
  };
}

void add_run_errors(Programs& programs) {
  programs["error_array_written_outside"] = [] {
    const Tensor i = scalar("i", int32);
    return Program{{array_of(2).write(i, 1.0).flow()}, {{{{i, 1}}}, {{{i, 2}}}, {{{i, -1}}}}};
  };
  programs["error_array_written_twice"] = [] {
    return Program{{array_of(2).write(0, 1.0).write(0, 2.0).flow()}, {{}}};
  };
  programs["error_array_read_twice"] = [] {
    const TensorArray ta = array_of(1).write(0, 1.0);
    const Tensor a = ta.read(0);
    const auto after = control_dependencies({a});
    return Program{{ta.read(0)}, {{}}};
  };
  programs["error_array_read_outside"] = [] {
    const Tensor i = scalar("i", int32);
    return Program{{array_of(2).write(0, 1.0).read(i)}, {{{{i, 0}}}, {{{i, 1}}}, {{{i, 2}}}}};
  };
  programs["error_array_shapes_in_run"] = [] {
    const Tensor x = vector_of("x", {None});
    const Tensor y = array_of(2).write(0, {1.0, 2.0}).write(1, x).stack();
    return Program{{y}, {{{{x, to_array({3.0, 4.0})}}}, {{{x, to_array({3.0})}}}}};
  };
  programs["error_array_shapes_stacked"] = [] {
    const Tensor x = vector_of("x", Shape::unknown());
    const TensorArray ta(float32, {.size = 2, .infer_shape = false});
    const Tensor y = ta.write(0, {1.0, 2.0}).write(1, x).stack();
    return Program{{y}, {{{{x, to_array({3.0, 4.0})}}}, {{{x, to_array({3.0})}}}}};
  };
  programs["error_array_lengths"] = [] {
    const Tensor n = vector_of("n", {None}, int32);
    const TensorArray ta(float32, {.size = 2, .infer_shape = false});
    const Tensor y = ta.split({1.0, 2.0, 3.0}, n).concat();
    return Program{{y},
                   {{{{n, to_array({1, 2})}}},
                    {{{n, to_array({1, 1})}}},
                    {{{n, to_array({1, 1, 1})}}},
                    {{{n, to_array({3})}}}}};
  };
  programs["error_array_empty"] = [] {
    const Tensor n = scalar("n", int32);
    return Program{{TensorArray(float32, {.size = n}).stack()}, {{{{n, 0}}}}};
  };
  programs["error_array_size"] = [] {
    const Tensor n = scalar("n", int32);
    return Program{{TensorArray(float32, {.size = n}).flow()}, {{{{n, 0}}}, {{{n, -1}}}}};
  };
}

}  // namespace

void add_array_programs(Programs& programs) {
  add_elements(programs);
  add_rows(programs);
  add_structures(programs);
  add_maps(programs);
  add_scans(programs);
  add_folds(programs);
  add_build_errors(programs);
  add_run_errors(programs);
}

}  // namespace towerflow::testing
