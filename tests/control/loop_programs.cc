// Programs with tf::while_loop.
#include "tests/control/programs.h"

namespace towerflow::testing {
namespace {

/// Returns a loop of `count` iterations over a counter and a tensor.
Tensor counted(int count, const Operand& first, const std::function<Tensor(Tensor, Tensor)>& next,
               WhileLoopOptions options = {}) {
  const auto [i, z] = while_loop([&](Tensor k, Tensor) { return k < count; },
                                 [&](Tensor k, Tensor u) {
                                   const Tensor more = k + 1;
                                   return std::tuple(more, next(k, u));
                                 },
                                 std::tuple(0, first), std::move(options));
  return z;
}

void add_plain_loops(Programs& programs) {
  programs["loop"] = [] {
    const Tensor x = scalar("x");
    const auto [i, z] = while_loop([](Tensor k, Tensor) { return k < 10; },
                                   [&](Tensor k, Tensor u) {
                                     const Tensor more = k + 1;
                                     return std::tuple(more, u * x);
                                   },
                                   std::tuple(0, x));
    return Program{joined({i, z}, grads(z, {x})), {{{{x, 1.5F}}}}};
  };
  programs["loop_of_one"] = [] {
    const Tensor n =
        while_loop([](Tensor k) { return k < 100; }, [](Tensor k) { return k * 3; }, constant(1));
    return Program{{n}, {{}}};
  };
  programs["loop_with_limit"] = [] {
    const Tensor x = scalar("x");
    const Tensor z = while_loop([](Tensor u) { return u < 1000.0; },
                                [](Tensor u) { return u * 2.0; }, x, {.maximum_iterations = 5});
    return Program{joined({z}, grads(z, {x})), {{{{x, 1.0F}}}, {{{x, 300.0F}}}, {{{x, 2000.0F}}}}};
  };
  programs["loop_of_activations"] = [] {
    const Tensor x = scalar("x");
    const Tensor z = counted(3, x, [](Tensor, Tensor u) {
      const Tensor product = tanh(u) * sigmoid(u);
      return product + nn::relu(u);
    });
    return Program{joined({z}, grads(z, {x})), {{{{x, 1.5F}}}, {{{x, -0.5F}}}}};
  };
  programs["loop_that_does_not_run"] = [] {
    const Tensor x = scalar("x");
    const Tensor z = counted(0, x * 3.0, [&](Tensor, Tensor u) { return u * x; });
    return Program{joined({z}, grads(z, {x})), {{{{x, 1.5F}}}}};
  };
  programs["loop_that_grows"] = [] {
    const Tensor x = placeholder(float32, {.shape = {1, 2}, .name = "x"});
    const Tensor z = counted(3, x,
                             [](Tensor, Tensor u) {
                               return concat({u, u + 1.0}, 0);
                             },
                             {.shape_invariants = std::vector<Shape>{{}, {None, 2}}});
    return Program{joined({z, shape(z)}, grads(z, {x})), {{{{x, to_array({{1.0, 2.0}})}}}}};
  };
  programs["loop_waits"] = [] {
    const Tensor x = scalar("x");
    const Tensor first = x * 2.0;
    const auto after = control_dependencies({first});
    const Tensor z = counted(3, x, [](Tensor, Tensor u) { return u + constant(1.0); });
    return Program{{z}, {{{{x, 1.5F}}}}};
  };
  programs["loop_named"] = [] {
    const auto scope = name_scope("outer");
    const Tensor z = while_loop([](Tensor u) { return u < 3; }, [](Tensor u) { return u + 1; }, 0,
                                {.parallel_iterations = 1, .name = "count"});
    return Program{{z}, {{}}};
  };
}

void add_nested(Programs& programs) {
  programs["loop_in_loop"] = [] {
    const Tensor x = scalar("x");
    const Tensor z = counted(4, x, [&](Tensor i, Tensor u) {
      const auto [j, inner] = while_loop([&](Tensor k, Tensor) { return k < i; },
                                         [&](Tensor k, Tensor v) {
                                           const Tensor more = k + 1;
                                           return std::tuple(more, v * x);
                                         },
                                         std::tuple(0, u));
      return inner + x;
    });
    return Program{joined({z}, grads(z, {x})), {{{{x, 1.25F}}}}};
  };
  programs["cond_in_loop"] = [] {
    const Tensor x = scalar("x");
    const Tensor z = counted(5, x, [&](Tensor i, Tensor u) {
      const Tensor is_even = equal(i % 2, 0);
      return cond(
          is_even, [&] { return u * x; }, [&] { return u + x; });
    });
    return Program{joined({z}, grads(z, {x})), {{{{x, 1.25F}}}}};
  };
  programs["cond_of_vectors_in_loop"] = [] {
    const Tensor x = placeholder(float32, {.shape = {None}, .name = "x"});
    const Tensor z = counted(4, x, [&](Tensor i, Tensor u) {
      const Tensor is_even = equal(i % 2, 0);
      return cond(
          is_even, [&] { return u * x; }, [&] { return sin(u); });
    });
    return Program{joined({z}, grads(z, {x})), {{{{x, to_array({0.5, 1.0, -2.0})}}}}};
  };
  programs["loop_in_cond"] = [] {
    const Tensor p = scalar("p", bool_), x = scalar("x");
    const Tensor y = cond(
        p, [&] { return counted(3, x, [&](Tensor, Tensor u) { return u * x; }); },
        [&] { return x - 1.0; });
    return Program{joined({y}, grads(y, {x})), both(p, x, 2)};
  };
  programs["gradient_inside_loop"] = [] {
    const Tensor x = scalar("x");
    const Tensor z = counted(5, 0.0, [&](Tensor, Tensor u) {
      const Tensor slope = grads(square(u - x), {u})[0];
      return u - 0.1 * slope;
    });
    return Program{{z}, {{{{x, 1.5F}}}}};
  };
}

void add_loops_with_variables(Programs& programs) {
  programs["loop_of_matrices"] = [] {
    const Tensor x = placeholder(float32, {.shape = {None, 2}, .name = "x"});
    const Variable w = weight("w", {2, 2}, 0.3);
    const auto [i, h] = while_loop([](Tensor k, Tensor) { return k < 4; },
                                   [&](Tensor k, Tensor u) {
                                     const Tensor more = k + 1;
                                     return std::tuple(more, tanh(matmul(u, w) + x));
                                   },
                                   std::tuple(0, zeros_like(x)));
    const Tensor loss = reduce_sum(h * h);
    const Array three = to_array({{1.0, 2.0}, {3.0, -1.0}, {0.5, 0.25}});
    const Array two = to_array({{1.0, 2.0}, {3.0, -1.0}});
    return Program{joined({loss, h}, grads(loss, {x, w})),
                   initialized({{{{x, three}}}, {{{x, two}}}})};
  };
  programs["loop_that_assigns"] = [] {
    const Variable v = weight("v", {}, 1);
    const Tensor i = while_loop([](Tensor k) { return k < 5; },
                                [&](Tensor k) {
                                  const auto after = control_dependencies({assign_add(v, 2.0)});
                                  return k + 1;
                                },
                                constant(0));
    const Tensor now = [&] {
      const auto after = control_dependencies({i});
      return identity(v.read_value());
    }();
    return Program{{i, now}, initialized({{}, {}})};
  };
  programs["loop_with_variable_inside"] = [] {
    const Tensor x = scalar("x");
    const Tensor z = counted(3, x, [](Tensor, Tensor u) {
      const Variable w = [] {
        const auto scope = variable_scope("cell", {.reuse = AUTO_REUSE});
        return weight("w", {}, 0.5);
      }();
      return u * w;
    });
    return Program{joined({z}, grads(z, {x, trainable_variables()[0]})),
                   initialized({{{{x, 2.0F}}}})};
  };
}

void add_gradients(Programs& programs) {
  programs["loop_of_unused_variables"] = [] {
    const Tensor x = scalar("x");
    const auto [i, z, u] = while_loop([](Tensor k, Tensor, Tensor) { return k < 3; },
                                      [&](Tensor k, Tensor a, Tensor b) {
                                        const Tensor more = k + 1, product = a * b;
                                        return std::tuple(more, product, b + x);
                                      },
                                      std::tuple(0, x, x));
    return Program{joined({z}, grads(z, {x})), {{{{x, 1.5F}}}}};
  };
  programs["loop_that_forgets"] = [] {
    const Tensor x = scalar("x");
    const Tensor z = counted(3, x * 7.0, [&](Tensor i, Tensor) { return x * cast(i, float32); });
    return Program{joined({z}, grads(z, {x})), {{{{x, 1.5F}}}}};
  };
  programs["loop_without_gradient"] = [] {
    const Tensor x = scalar("x");
    const Tensor z = counted(3, x, [&](Tensor, Tensor u) { return u * x; }, {.back_prop = false});
    const Tensor fetched = z + x;
    return Program{joined({fetched}, grads(z + x, {x})), {{{{x, 1.5F}}}}};
  };
  programs["loop_gradient_of_initial_value"] = [] {
    const Tensor x = scalar("x"), y = scalar("y");
    const Tensor z = counted(3, x, [&](Tensor, Tensor u) { return u * y; });
    return Program{joined({z}, grads(z, {x, y})), {{{{x, 1.5F}, {y, 2.0F}}}}};
  };
}

}  // namespace

void add_loop_programs(Programs& programs) {
  add_plain_loops(programs);
  add_nested(programs);
  add_loops_with_variables(programs);
  add_gradients(programs);
}

void add_error_programs(Programs& programs) {
  programs["error_dtypes"] = [] {
    const Tensor p = scalar("p", bool_), x = scalar("x");
    cond(
        p, [&] { return x; }, [] { return 1; });
    return Program{};
  };
  programs["error_pred"] = [] {
    const Tensor x = scalar("x");
    cond(
        x, [&] { return x; }, [&] { return x; });
    return Program{};
  };
  programs["error_counts"] = [] {
    const Tensor p = scalar("p", bool_), x = scalar("x");
    cond(
        p,
        [&] {
          return std::vector{x, x};
        },
        [&] {
          return std::vector{x, x, x};
        });
    return Program{};
  };
  programs["error_shape_varies"] = [] {
    const Tensor x = placeholder(float32, {.shape = {1, 2}, .name = "x"});
    while_loop([](Tensor u) { return reduce_sum(u) < 9.0; },
               [](Tensor u) {
                 return concat({u, u}, 0);
               },
               x);
    return Program{};
  };
  programs["error_no_variables"] = [] {
    while_loop([](const std::vector<Tensor>&) { return true; },
               [](const std::vector<Tensor>& u) { return u; }, std::vector<Tensor>());
    return Program{};
  };
  programs["error_condition"] = [] {
    while_loop([](Tensor k) { return k + 1; }, [](Tensor k) { return k + 1; }, 0);
    return Program{};
  };
  programs["error_leak"] = [] {
    Tensor kept;
    while_loop([](Tensor k) { return k < 3; },
               [&](Tensor k) {
                 kept = k * 2;
                 return k + 1;
               },
               0);
    return Program{{kept + 1}, {{}}};
  };
  programs["error_fetch_in_branch"] = [] {
    const Tensor p = scalar("p", bool_), x = scalar("x");
    Tensor kept;
    cond(
        p, [&] { return kept = x * 2.0; }, [&] { return x; });
    return Program{{kept}, both(p, x)};
  };
  programs["error_dead_fetch"] = [] {
    const Tensor p = scalar("p", bool_), x = scalar("x");
    const Tensor y = cond(
        p, [&] { return tanh(x); }, [&] { return x; });
    const Tensor slope = grads(y, {x})[0];
    for (const Operation& op : slope.graph().get_operations()) {
      if (op.type() == "TanhGrad") return Program{{op.output(0)}, both(p, x)};
    }
    return Program{};
  };
}

}  // namespace towerflow::testing
