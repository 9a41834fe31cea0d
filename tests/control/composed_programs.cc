// Programs with functions that TensorFlow composes with cond.
#include <numeric>

#include "tests/control/programs.h"

namespace towerflow::testing {
namespace {

Program::Run initialized_by(const std::vector<Variable>& variables) {
  std::vector<Operation> initializers;
  for (const Variable& variable : variables) initializers.push_back(variable.initializer());
  return {{}, group(initializers, {.name = "start"})};
}

Tensor any_tensor(const char* name, DType dtype = float32, Shape shape = Shape::unknown()) {
  return placeholder(dtype, {.shape = std::move(shape), .name = name});
}

Array numbers(const Shape& shape, std::vector<float> values) {
  Array array(float32, shape);
  std::copy(values.begin(), values.end(), array.data<float>());
  return array;
}

Array integers(const Shape& shape, const std::vector<std::int32_t>& values) {
  Array array(int32, shape);
  std::copy(values.begin(), values.end(), array.data<std::int32_t>());
  return array;
}

Array pixels(const Shape& shape) {
  Array array(float32, shape);
  std::iota(array.data<float>(), array.data<float>() + shape.elements(), 0.0F);
  return array;
}

void add_composed_variables(Programs& programs) {
  programs["composed_initialized_value"] = [] {
    const Variable a = weight("a", {2}, 3.0);
    const Variable b(a.initialized_value() * 2.0, {.name = "b"});
    const Variable c = get_variable("c", std::nullopt, {.initializer = a + b});
    Variable d;
    {
      const auto scope = name_scope("s");
      d = Variable(Tensor(c), {.name = "d"});
    }
    const Tensor y = stack({a, b, c, d});
    const Program::Run first = initialized_by({a, b}), second = initialized_by({c, d});
    return Program{{y}, {first, second, {}}};
  };
  programs["composed_initial_value_of_branches"] = [] {
    const Tensor p = scalar("p", bool_);
    const Variable a = weight("a", {}, 3.0);
    const Tensor y = cond(
        p, [&] { return a * 2.0; }, [&] { return identity(a); });
    const Variable b(y, {.name = "b"});
    return Program{{b.read_value()}, {{{}, group({a.initializer()})}}};
  };
  programs["composed_initial_value_of_loop"] = [] {
    const Variable a = weight("a", {}, 3.0);
    const Tensor y =
        while_loop([](Tensor x) { return x < 10.0; }, [&](Tensor x) { return x * a; }, 1.0);
    const Variable b(y + 1.0, {.name = "b"});
    const Program::Run first = initialized_by({a}), second = initialized_by({b});
    return Program{{b.read_value()}, {first, second, {}}};
  };
  programs["error_initial_value_in_loop"] = [] {
    const Tensor y =
        while_loop([](Tensor x) { return x < 10.0; }, [](Tensor x) { return x * 2.0; }, 1.0);
    const Variable b(y, {.validate_shape = false, .name = "b"});
    return Program{};
  };
  programs["composed_average"] = [] {
    const Variable v = weight("v", {2}, 2.0);
    Variable w;
    {
      const auto on = device("/cpu:0");
      w = get_variable("w", {}, {.initializer = ones_initializer()});
    }
    train::ExponentialMovingAverage ema(0.5);
    const Operation update = ema.apply({v, w});
    const Tensor y = ema.average(v)->read_value();
    const Tensor z = ema.average(w)->read_value();
    const Tensor move = assign_add(v, {2.0, 4.0});
    const Operation start = global_variables_initializer();
    return Program{{y, z}, {{{}, start}, {}, {{}, move.op()}, {{}, update}, {}}};
  };
}

void add_schedules(Programs& programs) {
  programs["composed_piecewise_constant"] = [] {
    const Tensor x = scalar("x", int64);
    const Tensor y = train::piecewise_constant(x, {10, 20, 30}, {0.1, 0.01, 0.001, 0.5});
    std::vector<Program::Run> runs;
    for (const std::int64_t n : {-5, 10, 11, 20, 25, 30, 31}) runs.push_back({{{x, n}}});
    return Program{{y}, runs};
  };
  programs["composed_piecewise_constant_gradients"] = [] {
    const Tensor x = scalar("x"), low = any_tensor("low", float32, {2});
    const Tensor y = train::piecewise_constant(x, {0.5}, {low, low * 3.0}, {.name = "k"});
    const Array fed = numbers({2}, {1, 2});
    return Program{joined({y}, grads(y, {low})),
                   {{{{x, 0.25F}, {low, fed}}}, {{{x, 0.75F}, {low, fed}}}}};
  };
  programs["composed_cosine_decay_restarts"] = [] {
    const Tensor step = scalar("step", int32), factor = scalar("factor");
    const Tensor y =
        train::cosine_decay_restarts(0.5, step, 3, {.t_mul = factor, .m_mul = 0.5, .alpha = 0.125});
    std::vector<Program::Run> runs;
    for (const float f : {1.0F, 2.0F}) {
      for (const int s : {0, 2, 7}) runs.push_back({{{step, s}, {factor, f}}});
    }
    return Program{{y}, runs};
  };
}

void add_comparisons(Programs& programs) {
  programs["composed_is_monotonic"] = [] {
    const Tensor x = any_tensor("x");
    const Tensor y = is_non_decreasing(x);
    const Tensor z = is_strictly_increasing(x, {.name = "k"});
    std::vector<Program::Run> runs;
    for (const Array& fed : {numbers({0}, {}), numbers({1}, {3}), numbers({3}, {1, 2, 2}),
                             numbers({2, 2}, {1, 2, 3, 4}), numbers({2}, {2, 1})}) {
      runs.push_back({{{x, fed}}});
    }
    return Program{{y, z}, runs};
  };
  programs["composed_zero_fraction"] = [] {
    const Tensor x = any_tensor("x", float32, {None, 2});
    const Tensor y = nn::zero_fraction(x);
    const Tensor counted = constant({{1, 0, 0}, {0, 2, 0}});
    const Tensor z = nn::zero_fraction(counted, {.name = "k"});
    return Program{{y, z}, {{{{x, numbers({2, 2}, {0, 1, 2, -0.0F})}}}}};
  };
}

void add_weights(Programs& programs) {
  programs["composed_weighted_loss"] = [] {
    const Tensor x = any_tensor("x", float32, {None, 2}),
                 w = any_tensor("w", float32, {None, None});
    const Tensor y = losses::compute_weighted_loss(x, {.weights = w});
    const Array a = numbers({2, 2}, {1, 2, 3, 4});
    return Program{{y},
                   {{{{x, a}, {w, numbers({2, 1}, {1, 2})}}},
                    {{{x, a}, {w, numbers({1, 2}, {0, 1})}}},
                    {{{x, a}, {w, numbers({1, 3}, {1, 2, 3})}}}}};
  };
  programs["composed_loss_of_unknown_rank"] = [] {
    const Tensor x = any_tensor("x"), w = any_tensor("w");
    const Tensor y =
        losses::compute_weighted_loss(x, {.weights = w, .reduction = losses::Reduction::SUM});
    const Array a = numbers({2, 2}, {1, 2, 3, 4});
    return Program{{y},
                   {{{{x, a}, {w, 2.0F}}},
                    {{{x, a}, {w, numbers({2, 1}, {1, 2})}}},
                    {{{x, a}, {w, numbers({2}, {1, 2})}}}}};
  };
  programs["composed_sparse_loss_of_unknown_rank"] = [] {
    const Tensor x = any_tensor("x"), labels = any_tensor("labels", int32);
    const Tensor w = any_tensor("w", float32, {None});
    const Tensor y = losses::sparse_softmax_cross_entropy(labels, x, {.weights = w});
    const Array a = numbers({2, 2}, {1, 2, 3, 5});
    return Program{{y},
                   {{{{x, a}, {labels, integers({2}, {0, 1})}, {w, numbers({2}, {1, 2})}}},
                    {{{x, a}, {labels, integers({2, 1}, {0, 1})}, {w, numbers({2}, {1, 0})}}}}};
  };
  programs["composed_metric_of_unknown_rank"] = [] {
    const Tensor x = any_tensor("x"), labels = any_tensor("labels"), w = any_tensor("w");
    const auto metric = metrics::mean_squared_error(labels, x, {.weights = w});
    const Array a = numbers({2, 1}, {1, 3});
    const Operation start = local_variables_initializer();
    return Program{
        {metric.update_op},
        {{{}, start},
         {{{x, a}, {labels, numbers({2, 1}, {2, 2})}, {w, 2.0F}}},
         {{{x, a}, {labels, numbers({2}, {3, 5})}, {w, numbers({2}, {1, 0})}}},
         {{{x, a}, {labels, numbers({2, 1}, {3, 5})}, {w, numbers({2}, {1, 1})}}},
         {{{x, numbers({1}, {1})}, {labels, numbers({1}, {3})}, {w, numbers({1, 1}, {1})}}}}};
  };
  programs["composed_mean_iou"] = [] {
    const Tensor x = any_tensor("x", int32, {None, 2});
    const Tensor labels = any_tensor("labels", int64, {None, 2});
    const Tensor w = any_tensor("w", float32, {None, 2});
    const auto weighted = metrics::mean_iou(labels, x, 4, {.weights = w});
    const auto plain = metrics::mean_iou(labels, x, 4, {.name = "k"});
    const Operation start = local_variables_initializer();
    const auto run = [&](const Shape& shape, const std::vector<std::int32_t>& found,
                         const std::vector<std::int64_t>& right,
                         const std::vector<float>& weights) {
      Array wanted(int64, shape);
      std::copy(right.begin(), right.end(), wanted.data<std::int64_t>());
      return Program::Run{
          {{x, integers(shape, found)}, {labels, wanted}, {w, numbers(shape, weights)}}};
    };
    return Program{{weighted.update_op, plain.update_op},
                   {{{}, start},
                    run({2, 2}, {0, 1, 1, 2}, {0, 1, 2, 2}, {1, 1, 1, 1}),
                    run({1, 2}, {2, 1}, {0, 1}, {0.5F, 0}),
                    run({1, 2}, {2, 4}, {0, 1}, {0.5F, 0})}};
  };
  programs["composed_mean_iou_of_little"] = [] {
    const Tensor x = constant({0, 1, 1}), w = constant({0.5, 0.25, 0.25});
    const auto metric = metrics::mean_iou(constant({0, 1, 0}), x, 3, {.weights = w});
    const Operation start = local_variables_initializer();
    return Program{{metric.value}, {{{}, start}, {{}, metric.update_op.op()}, {}}};
  };
  programs["composed_mean_iou_of_two"] = [] {
    const Tensor x = constant({0, 1, 1, 2});
    const auto metric = metrics::mean_iou(constant({0, 1, 2, 2}), x, 4);
    const Operation start = local_variables_initializer();
    return Program{{metric.value}, {{{}, start}, {}, {{}, metric.update_op.op()}, {}}};
  };
  programs["composed_mean_per_class_accuracy"] = [] {
    const Tensor x = any_tensor("x", int32, {None}), w = any_tensor("w", float32, {None});
    const auto weighted =
        metrics::mean_per_class_accuracy(constant({0, 1, 2, 2}), x, 4, {.weights = w});
    const auto plain =
        metrics::mean_per_class_accuracy(constant({{0, 1}, {2, 2}}), x, 3, {.name = "k"});
    const Operation start = local_variables_initializer();
    return Program{
        {weighted.update_op, plain.update_op},
        {{{}, start}, {{{x, integers({4}, {0, 1, 1, 2})}, {w, numbers({4}, {1, 2, 3, 4})}}}}};
  };
  programs["composed_confusion_of_unknown_rank"] = [] {
    const Tensor x = any_tensor("x", int32), labels = any_tensor("labels", int32, {None, 1});
    const Tensor y = confusion_matrix(labels, x, {.num_classes = Operand(3)});
    const Array right = integers({2, 1}, {1, 1});
    return Program{{y},
                   {{{{x, integers({2}, {1, 2})}, {labels, right}}},
                    {{{x, integers({2, 1}, {1, 2})}, {labels, right}}}}};
  };
}

std::vector<Program::Run> fed_with(const Tensor& image, const std::vector<Shape>& shapes) {
  std::vector<Program::Run> runs;
  for (const Shape& shape : shapes) runs.push_back({{{image, pixels(shape)}}});
  return runs;
}

void add_images(Programs& programs) {
  programs["composed_rot90"] = [] {
    const Tensor image = any_tensor("image", float32, {2, 3, 1}), k = scalar("k", int32);
    const Tensor y = image::rot90(image, k);
    std::vector<Program::Run> runs;
    for (int n = -1; n < 5; ++n) runs.push_back({{{image, pixels({2, 3, 1})}, {k, n}}});
    return Program{{y}, runs};
  };
  programs["composed_rot90_batch"] = [] {
    const Tensor image = any_tensor("image", float32, {None, None, 3, 2});
    const Tensor y = image::rot90(image, {.name = "turned"});
    return Program{{y}, fed_with(image, {{2, 2, 3, 2}})};
  };
  programs["composed_rot90_of_unknown_rank"] = [] {
    const Tensor image = any_tensor("image");
    const Tensor y = image::rot90(image, 3);
    return Program{{y}, fed_with(image, {{2, 3, 1}, {1, 2, 3, 1}})};
  };
  programs["composed_flips_of_unknown_rank"] = [] {
    const Tensor image = any_tensor("image");
    const Tensor y = image::flip_left_right(image);
    const Tensor z = image::flip_up_down(image);
    const Tensor turned = image::transpose_image(image, {.name = "k"});
    return Program{{y, z, turned}, fed_with(image, {{2, 3, 1}, {2, 2, 3, 1}})};
  };
  programs["composed_random_flips"] = [] {
    set_random_seed(3);
    const Tensor image = any_tensor("image", float32, {2, 3, 1});
    const Tensor y = image::random_flip_left_right(image, {.seed = 5});
    const Tensor z = image::random_flip_up_down(image);
    return Program{{y, z}, fed_with(image, std::vector<Shape>(5, Shape{2, 3, 1}))};
  };
  programs["composed_random_flips_of_batch"] = [] {
    const Tensor image = any_tensor("image", float32, {None, 2, 3, 1});
    const Tensor y = image::random_flip_left_right(image, {.seed = 5});
    const Tensor z = image::random_flip_up_down(image, {.seed = 2});
    return Program{{y, z}, fed_with(image, std::vector<Shape>(3, Shape{4, 2, 3, 1}))};
  };
  programs["composed_random_flip_of_unknown_rank"] = [] {
    const Tensor image = any_tensor("image");
    const Tensor y = image::random_flip_up_down(image, {.seed = 5});
    return Program{{y}, fed_with(image, {{2, 3, 1}, {2, 2, 3, 1}})};
  };
}

}  // namespace

void add_composed_programs(Programs& programs) {
  add_composed_variables(programs);
  add_schedules(programs);
  add_comparisons(programs);
  add_weights(programs);
  add_images(programs);
}

}  // namespace towerflow::testing
