// What rewrites must not change: who writes a variable, what a node waits for, and which value a
// read has.
#include "tests/ops/variables/update_support.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

using Floats = std::vector<float>;

Variable pair_of(const std::string& name, double value) {
  return get_variable(name, {2}, {.initializer = constant_initializer(value)});
}

Floats floats_of(const Array& array) {
  return {array.data<float>(), array.data<float>() + array.elements()};
}

/// Initializes the variables and fetches a tensor once with all rewrites and once without.
std::vector<std::vector<Floats>> with_and_without(
    const std::function<std::vector<Tensor>()>& program, int runs = 1) {
  std::vector<std::vector<Floats>> results;
  for (const bool fused : {true, false}) {
    Graph graph;
    const auto guard = graph.as_default();
    const std::vector<Tensor> fetched = program();
    Session session(graph, with_fusion(fused));
    session.run(global_variables_initializer());
    std::vector<Floats> found;
    for (int i = 0; i < runs; ++i) found.push_back(floats_of(session.run(fetched[0])));
    for (const Variable& variable : global_variables())
      found.push_back(floats_of(session.run(variable)));
    results.push_back(found);
  }
  return results;
}

TEST_CASE("the average of what assignments return changes no variable") {
  using Average = std::function<Tensor(const Tensor&, const Tensor&)>;
  const std::vector<std::pair<Floats, Average>> averages{
      {{4, 4},
       [](const Tensor& a, const Tensor& b) {
         return reduce_mean(stack({a, b}), 0);
       }},
      {{8, 8},
       [](const Tensor& a, const Tensor& b) {
         return reduce_sum(stack({a, b}), 0);
       }},
      {{4, 4},
       [](const Tensor& a, const Tensor& b) {
         return add_n({a, b}) / 2.0F;
       }},
      {{4, 4}, [](const Tensor& a, const Tensor& b) {
         return reduce_mean(concat({expand_dims(a, 0), expand_dims(b, 0)}, 0), 0);
       }}};
  for (const auto& [wanted, average] : averages) {
    const auto found = with_and_without([&average = average]() -> std::vector<Tensor> {
      const Tensor u = assign_add(pair_of("a", 1), {1.0F, 1.0F});
      const Tensor v = assign_add(pair_of("b", 5), {1.0F, 1.0F});
      return {average(u, v)};
    });
    CHECK(found[0] == std::vector<Floats>{wanted, {2, 2}, {6, 6}});
    CHECK(found[1] == found[0]);
  }
}

TEST_CASE("copies that are trained apart and averaged stay apart") {
  const auto found = with_and_without(
      []() -> std::vector<Tensor> {
        std::vector<Tensor> trained;
        for (int i = 0; i < 2; ++i) {
          const Variable w = pair_of("tower_" + std::to_string(i), 1);
          trained.push_back(assign_sub(w, w * static_cast<float>(i + 1) * 0.25F));
        }
        const Tensor mean = reduce_mean(stack(trained), 0);
        return {reduce_sum(square(trained[0] - mean), {.keepdims = true})};
      },
      2);
  CHECK(found[0] ==
        std::vector<Floats>{{0.03125F}, {0.048828125F}, {0.5625F, 0.5625F}, {0.25F, 0.25F}});
  CHECK(found[1] == found[0]);
}

/// Counts in a variable how often it ran, in `block` under a control dependency on the count.
std::vector<Tensor> counting(const std::function<Tensor(const Tensor&, const Tensor&)>& block) {
  const Tensor g = placeholder_with_default({3.0F, 5.0F}, {2});
  const Tensor h = placeholder_with_default({5.0F, 7.0F}, {2});
  const Tensor count = assign_add(pair_of("count", 0), {1.0F, 1.0F});
  const auto after = control_dependencies({count});
  return {block(g, h)};
}

TEST_CASE("a rewrite waits for what an axis or a shape that it drops waited for") {
  using Block = std::function<Tensor(const Tensor&, const Tensor&)>;
  const std::vector<Block> blocks{
      [](const Tensor& g, const Tensor& h) {
        return reduce_mean(concat({expand_dims(g, 0), expand_dims(h, 0)}, 0), 0);
      },
      [](const Tensor& g, const Tensor& h) {
        Tensor rows;
        {
          const auto free = control_dependencies(None);
          rows = stack({g, h});
        }
        return reduce_sum(rows, 0);
      },
      [](const Tensor& g, const Tensor& h) {
        Tensor axis, again;
        {
          const auto free = control_dependencies(None);
          axis = constant(0);
          again = constant(0);
        }
        const Tensor a = expand_dims(g, axis), b = expand_dims(h, axis);
        const auto free = control_dependencies(None);
        return reduce_mean(concat({a, b}, again), again);
      },
      [](const Tensor& g, const Tensor&) {
        const Tensor wide = broadcast_to(g, {2, 2});
        const auto free = control_dependencies(None);
        return wide * 2.0F + 1.0F;
      }};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    CAPTURE(i);
    const auto found = with_and_without([&] { return counting(blocks[i]); }, 3);
    CHECK(found[0].back() == Floats{3, 3});
    CHECK(found[1] == found[0]);
  }
}

TEST_CASE("moving averages run if the averages of gradients wait for them") {
  const auto found = with_and_without(
      []() -> std::vector<Tensor> {
        const Variable w = pair_of("w", 1);
        const Tensor update = assign_add(pair_of("moving", 0), {1.0F, 1.0F});
        train::GradientDescentOptimizer opt(0.5);
        const auto one = opt.compute_gradients(reduce_sum(w * 2.0F));
        const auto other = opt.compute_gradients(reduce_sum(w * 4.0F));
        std::vector<GradAndVar> mean;
        {
          const auto after = control_dependencies({update});
          mean = average_gradients({one, other});
        }
        const Operation applied = opt.apply_gradients(mean);
        const auto after = control_dependencies({applied});
        return {w.read_value()};
      },
      2);
  CHECK(found[0] == std::vector<Floats>{{-0.5F, -0.5F}, {-2, -2}, {-2, -2}, {2, 2}});
  CHECK(found[1] == found[0]);
}

TEST_CASE("a read after an update has the new value, even if the variable is part of the average") {
  const auto averaged = with_and_without([]() -> std::vector<Tensor> {
    const Variable w = pair_of("w", 1);
    const Tensor g = placeholder_with_default({3.0F, 3.0F}, {2});
    const Operation applied =
        train::GradientDescentOptimizer(0.5).apply_gradients({{reduce_mean(stack({g, w}), 0), w}});
    const auto after = control_dependencies({applied});
    return {w + 0.0F};
  });
  CHECK(averaged[0] == std::vector<Floats>{{0, 0}, {0, 0}});
  CHECK(averaged[1] == averaged[0]);
}

TEST_CASE("an update by the variable itself leaves other reads their own places") {
  using Update = std::function<Tensor(const Variable&)>;
  const std::vector<std::pair<Floats, Update>> updates{
      {{2, 2}, [](const Variable& v) { return assign_add(v, v); }},
      {{0, 0}, [](const Variable& v) { return assign_sub(v, v); }},
      {{2, 2},
       [](const Variable& v) {
         return scatter_add(v, {1, 0}, v);
       }},
      {{4, 4},
       [](const Variable& v) {
         const auto after = control_dependencies({assign_add(v, v)});
         return assign_add(v, v);
       }},
      {{0.5F, 0.5F}, [](const Variable& v) {
         const Operation step =
             train::GradientDescentOptimizer(0.5).apply_gradients({{v.value(), v}});
         const auto after = control_dependencies({step});
         return v.read_value();
       }}};
  for (std::size_t i = 0; i < updates.size(); ++i) {
    CAPTURE(i);
    const auto found = with_and_without([&]() -> std::vector<Tensor> {
      const Variable v = pair_of("v", 1);
      const auto after = control_dependencies({updates[i].second(v)});
      return {v + 0.0F};
    });
    CHECK(found[0] == std::vector<Floats>{updates[i].first, updates[i].first});
    CHECK(found[1] == found[0]);
  }
}

TEST_CASE("a moving average of a value from before another write") {
  for (const bool read_value : {false, true}) {
    const auto found = with_and_without([&]() -> std::vector<Tensor> {
      const Variable v = pair_of("v", 1);
      const Tensor old = read_value ? v.read_value() : identity(v);
      const Tensor written = assign(v, {3.0F, 3.0F});
      const Tensor step = (old - constant({5.0F, 5.0F})) * 0.25F;
      const auto after = control_dependencies({written});
      return {assign_sub(v, step)};
    });
    CHECK(found[0] == std::vector<Floats>{{4, 4}, {4, 4}});
    CHECK(found[1] == found[0]);
  }
}

}  // namespace
}  // namespace towerflow
