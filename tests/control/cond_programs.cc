// Programs with tf::cond and tf::case_.
#include "tests/control/programs.h"

namespace towerflow::testing {
namespace {

void add_plain_conds(Programs& programs) {
  programs["cond"] = [] {
    const Tensor p = scalar("p", bool_), x = scalar("x");
    const Tensor y = cond(
        p, [&] { return x * 2.0; }, [&] { return square(x); });
    return Program{joined({y}, grads(y, {x})), both(p, x)};
  };
  programs["cond_of_constants"] = [] {
    const Tensor p = scalar("p", bool_);
    const Tensor y = cond(
        p, [] { return 1; }, [] { return 2; }, {.name = "choose"});
    return Program{{y}, {{{{p, true}}}, {{{p, false}}}}};
  };
  programs["cond_of_outside_tensors"] = [] {
    const Tensor p = scalar("p", bool_), x = scalar("x");
    const Tensor a = x + 1.0, b = x * 5.0;
    const Tensor y = cond(
        p, [&] { return a; }, [&] { return b; });
    return Program{joined({y}, grads(y, {x})), both(p, x)};
  };
  programs["cond_of_tuples"] = [] {
    const Tensor p = scalar("p", bool_), x = scalar("x");
    const auto results = cond(
        p, [&] { return std::tuple(x + 1.0, x); }, [&] { return std::tuple(x, x * x); });
    const Tensor y = std::get<0>(results), z = std::get<1>(results);
    return Program{joined({y, z}, grads(y + z, {x})), both(p, x)};
  };
  programs["cond_in_cond"] = [] {
    const Tensor p = scalar("p", bool_), q = scalar("q", bool_), x = scalar("x");
    const Tensor y = cond(
        p,
        [&] {
          return cond(
              q, [&] { return x * x; }, [&] { return 3.0 * x; });
        },
        [&] { return exp(x); });
    std::vector<Program::Run> runs;
    for (const bool a : {true, false}) {
      for (const bool b : {true, false}) runs.push_back({{{p, a}, {q, b}, {x, 0.5F}}});
    }
    return Program{joined({y}, grads(y, {x})), runs};
  };
  programs["cond_waits"] = [] {
    const Tensor p = scalar("p", bool_), x = scalar("x");
    const Tensor first = x * 2.0;
    const auto after = control_dependencies({first});
    const Tensor y = cond(
        p, [] { return constant(1.0); }, [&] { return x + 1.0; });
    return Program{{y}, both(p, x)};
  };
  programs["cond_gradient_of_one_branch"] = [] {
    const Tensor p = scalar("p", bool_), x = scalar("x");
    const Tensor y = cond(
        p, [] { return constant(4.0); }, [&] { return x * x; });
    return Program{joined({y}, grads(y, {x})), both(p, x)};
  };
  programs["cond_second_gradient"] = [] {
    const Tensor p = scalar("p", bool_), x = scalar("x");
    const Tensor y = cond(
        p, [&] { return x * x * x; }, [&] { return x * x; });
    const Tensor first = grads(y, {x})[0];
    return Program{joined({first}, grads(first, {x})), both(p, x)};
  };
  programs["cond_of_unlike_shapes"] = [] {
    const Tensor p = scalar("p", bool_);
    const Tensor y = cond(
        p,
        [] {
          return ones({2, 3});
        },
        [] {
          return zeros({4, 3});
        });
    return Program{{y, shape(y)}, {{{{p, true}}}, {{{p, false}}}}};
  };
}

void add_conds_with_variables(Programs& programs) {
  programs["cond_of_operations"] = [] {
    const Tensor p = scalar("p", bool_);
    const Variable v = weight("v", {}, 1);
    const Tensor done = cond(
        p, [&] { return assign_add(v, 2.0).op(); }, [] { return no_op(); });
    const Tensor now = [&] {
      const auto after = control_dependencies({done});
      return identity(v.read_value());
    }();
    return Program{{now}, initialized({{{{p, true}}}, {{{p, false}}}, {{{p, true}}}})};
  };
  programs["cond_of_assignments"] = [] {
    const Tensor p = scalar("p", bool_), x = scalar("x");
    const Variable v = weight("v", {}, 1);
    const Tensor y = cond(
        p, [&] { return assign(v, x); }, [&] { return assign_sub(v, x); });
    return Program{{y}, initialized({{{{p, true}, {x, 4.0F}}}, {{{p, false}, {x, 1.5F}}}})};
  };
  programs["cond_with_weights"] = [] {
    const Tensor p = scalar("p", bool_);
    const Tensor x = placeholder(float32, {.shape = {None, 2}, .name = "x"});
    const Variable w = weight("w", {2, 2}, 0.5);
    const Tensor y = cond(
        p, [&] { return matmul(x, w); }, [&] { return tanh(x); });
    const Tensor loss = reduce_sum(y);
    const Array value = to_array({{1.0, 2.0}, {3.0, -1.0}, {0.5, 0.25}});
    return Program{joined({loss, y}, grads(loss, {x, w})),
                   initialized({{{{p, true}, {x, value}}}, {{{p, false}, {x, value}}}})};
  };
  programs["cond_of_gathered_rows"] = [] {
    const Tensor p = scalar("p", bool_);
    const Variable w = weight("w", {4, 2}, 0.5);
    const Tensor y = cond(
        p, [&] { return reduce_sum(w, 1); }, [&] { return reduce_prod(w, 1); });
    return Program{joined({y}, grads(y, {w})), initialized({{{{p, true}}}, {{{p, false}}}})};
  };
}

void add_cases(Programs& programs) {
  programs["case_of_three"] = [] {
    const Tensor i = scalar("i", int32), x = scalar("x");
    const Tensor is_zero = equal(i, 0), is_one = equal(i, 1);
    const Tensor y = case_({{is_zero, [&] { return x + 1.0; }}, {is_one, [&] { return x * x; }}},
                           [&] { return -x; });
    std::vector<Program::Run> runs;
    for (const int k : {0, 1, 2}) runs.push_back({{{i, k}, {x, 3.0F}}});
    return Program{joined({y}, grads(y, {x})), runs};
  };
  programs["case_exclusive"] = [] {
    const Tensor i = scalar("i", int32), x = scalar("x");
    const Tensor is_less = i < 5, is_least = i < 3;
    const Tensor y = case_({{is_less, [&] { return x; }}, {is_least, [&] { return 2.0 * x; }}},
                           [&] { return -x; }, {.exclusive = true});
    std::vector<Program::Run> runs;
    for (const int k : {4, 9, 1}) runs.push_back({{{i, k}, {x, 1.0F}}});
    return Program{{y}, runs};
  };
  programs["case_exclusive_gradient"] = [] {
    const Tensor i = scalar("i", int32), x = scalar("x");
    const Tensor is_less = i < 5, is_least = i < 3;
    const Tensor y = case_({{is_less, [&] { return x * x; }}, {is_least, [&] { return 2.0 * x; }}},
                           [&] { return tanh(x); }, {.exclusive = true});
    std::vector<Program::Run> runs;
    for (const int k : {4, 9, 1}) runs.push_back({{{i, k}, {x, 1.5F}}});
    return Program{grads(y, {x}), runs};
  };
  programs["case_without_default"] = [] {
    const Tensor i = scalar("i", int32), x = scalar("x");
    const Tensor is_zero = equal(i, 0), is_one = equal(i, 1);
    const Tensor y = case_without_default<Tensor>(
        {{is_zero, [&] { return x; }}, {is_one, [&] { return 2.0 * x; }}});
    std::vector<Program::Run> runs;
    for (const int k : {0, 1, 2}) runs.push_back({{{i, k}, {x, 1.0F}}});
    return Program{{y}, runs};
  };
}

}  // namespace

void add_cond_programs(Programs& programs) {
  add_plain_conds(programs);
  add_conds_with_variables(programs);
  add_cases(programs);
}

}  // namespace towerflow::testing
