// Chains of elementwise ops are fused into one instruction with the same bits, if that is allowed.
#include "autodiff/gradients.h"
#include "core/graph/scopes.h"
#include "ops/array/broadcast_to.h"
#include "ops/array/cast.h"
#include "ops/array/constant.h"
#include "ops/array/placeholder.h"
#include "ops/array/select.h"
#include "ops/array/view.h"
#include "ops/elementwise/program.h"
#include "ops/math/add_n.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"
#include "ops/nn/bias_add.h"
#include "ops/nn/relu.h"
#include "ops/variables/assign.h"
#include "ops/variables/variable.h"
#include "tests/ops/nn/support.h"
#include "tests/ops/ran.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

RunResult fused(Graph& graph, const std::vector<Fetch>& fetches, const Operation* init = nullptr) {
  return run_with(graph, fetches, only_rewrites("elementwise"), init);
}
RunResult run_plain(Graph& graph, const std::vector<Fetch>& fetches,
                    const Operation* init = nullptr) {
  return run_with(graph, fetches, only_rewrites(), init);
}

template <class T>
Tensor random_tensor(const Shape& shape, unsigned seed) {
  return tensor_of(random_array<T>(shape, seed));
}

template <class T>
void check_chain(const Shape& shape) {
  CAPTURE(shape.text());
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = random_tensor<T>(shape, 1), y = random_tensor<T>(shape, 2);
  const Tensor half = tensor_of(Array::scalar(T(0.5)));
  const Tensor z = nn::relu(tanh(x * half + y) - sigmoid(half - y));
  const RunResult one = fused(graph, {z}), many = run_plain(graph, {z});
  CHECK(one.has("  _Elementwise [pieces]"));
  CHECK(one.has("rewrite: elementwise chain applied"));
  CHECK(one.launches == 1);
  CHECK(many.launches == 7);
  CHECK(same_bits(one, many));
}

TEST_CASE("elementwise: a chain is one launch with the bits of its ops") {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{0}, Shape{3, 0}, Shape{5, 7}, Shape{1023},
                             Shape{1025}, Shape{300, 700}, Shape{2, 3, 4, 5}}) {
    check_chain<float>(shape);
    check_chain<double>(shape);
  }
}

TEST_CASE("elementwise: rows, columns and numbers are repeated") {
  for (const Shape& small :
       {Shape{}, Shape{1}, Shape{33}, Shape{1, 33}, Shape{9, 1}, Shape{70, 1, 33}, Shape{70, 1, 1},
        Shape{1, 9, 33}, Shape{1, 9, 1}, Shape{1, 1, 1, 1}}) {
    CAPTURE(small.text());
    Graph graph;
    const auto guard = graph.as_default();
    Shape full{70, 9, 33};
    if (small.rank() == 4) full = Shape{1, 70, 9, 33};
    const Tensor x = random_tensor<float>(full, 1), b = random_tensor<float>(small, 2);
    for (const Tensor& z : {square(x - b) + b, square(b - x) * b, exp(maximum(b, x) / b)}) {
      const RunResult one = fused(graph, {z});
      CHECK(one.launches == 1);
      CHECK(same_bits(one, run_plain(graph, {z})));
    }
  }
}

TEST_CASE("elementwise: both operands of a step may be repeated") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor row = random_tensor<float>({1, 130}, 1), column = random_tensor<float>({70, 1}, 2);
  const Tensor z = tanh(row * column) + row;
  const RunResult one = fused(graph, {z});
  CHECK(one.launches == 1);
  CHECK(same_bits(one, run_plain(graph, {z})));
}

TEST_CASE("elementwise: comparisons, choices, casts, biases and sums of many are steps") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = random_tensor<float>({40, 30}, 1), y = random_tensor<float>({40, 30}, 2);
  const Tensor bytes = cast(x * 100.0, DType::uint8);
  const Tensor chosen = where(logical_and(x > y, logical_not(x > 0.5)), x * 2.0, y - 1.0);
  const Tensor by_number = where_v2(x > y, 1.0, y * 2.0);
  const Tensor pixels = cast(tensor_of(random_array<std::int32_t>({40, 30}, 3)), DType::float32);
  const Tensor wide = cast(square(cast(x, DType::float64)) + 1.0, DType::float32);
  const Tensor biased = nn::relu(nn::bias_add(x - y, random_array<float>({30}, 4)));
  const Tensor sum = add_n({x, negative(y), x * y, y});
  for (const Tensor& z : {bytes, chosen, by_number, pixels / 255.0 - 0.5, wide, biased, sum}) {
    CAPTURE(z.name());
    const RunResult one = fused(graph, {z});
    CHECK(one.launches == 1);
    CHECK(one.count("_Elementwise") == 1);
    CHECK(same_bits(one, run_plain(graph, {z})));
  }
}

TEST_CASE("elementwise: gradients of chains have the same bits in fewer launches") {
  for (const Shape& shape : {Shape{7}, Shape{64, 129}}) {
    Graph graph;
    const auto guard = graph.as_default();
    const Tensor x = random_tensor<float>(shape, 1), w = random_tensor<float>(shape, 2);
    const Tensor y = tanh(square(sigmoid(x * w) + x) / (abs(w) + 1.5)) * exp(-x);
    const auto gradient = gradients(reduce_sum(y), {x, w});
    const std::vector<Fetch> fetches{y, gradient[0]->dense(), gradient[1]->dense()};
    const RunResult one = fused(graph, fetches), many = run_plain(graph, fetches);
    CHECK(one.has("  _Elementwise ["));
    CHECK(one.launches * 2 < many.launches);
    CHECK(same_bits(one, many));
  }
}

template <class T>
void check_number_gradient(Tensor (*function)(const Tensor&)) {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tensor_of(random_array<T>({37}, 3));
  // The gradient of each element is the same number, which is known only in a run.
  const Tensor sum = reduce_sum(function(square(x) + 0.1));
  const auto gradient = gradients(square(sum), {x});
  const std::vector<Fetch> fetches{sum, gradient[0]->dense()};
  CHECK(same_bits(fused(graph, fetches), run_plain(graph, fetches)));
}

TEST_CASE("elementwise: the gradient of any op may be one number") {
  int at = 0;
  for (const auto function :
       {+[](const Tensor& x) { return nn::relu(x); }, +[](const Tensor& x) { return tanh(x); },
        +[](const Tensor& x) { return sigmoid(x); }, +[](const Tensor& x) { return sqrt(x); },
        +[](const Tensor& x) { return rsqrt(x); }, +[](const Tensor& x) { return exp(x); },
        +[](const Tensor& x) { return log(x); }, +[](const Tensor& x) { return abs(x); },
        +[](const Tensor& x) { return 1.0 / x; }, +[](const Tensor& x) { return x * x - x; },
        +[](const Tensor& x) { return pow(x, 1.5); },
        +[](const Tensor& x) { return maximum(x, 0.5); },
        +[](const Tensor& x) { return where(x > 0.5, x, square(x)); }}) {
    CAPTURE(at++);
    check_number_gradient<float>(function);
    check_number_gradient<double>(function);
  }
}

TEST_CASE("elementwise: a result that only the chain reads, though twice, is inside") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = random_tensor<float>({2000}, 1);
  const Tensor s = sigmoid(x), t = tanh(s * s);
  const Tensor z = t * s + t;
  const RunResult one = fused(graph, {z});
  CHECK(one.launches == 1);
  CHECK(same_bits(one, run_plain(graph, {z})));
}

TEST_CASE("elementwise: one op alone, and a result that others read, stay") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = random_tensor<float>({30}, 1);
  const Tensor s = tanh(x);
  CHECK(fused(graph, {s}).count("Tanh") == 1);
  const Tensor z = s + 1.0;
  CHECK(fused(graph, {z}).launches == 1);
  const RunResult fetched = fused(graph, {z, s});
  CHECK(fetched.launches == 2);
  CHECK(fetched.count("_Elementwise") == 0);
  CHECK(same_bits(fetched, run_plain(graph, {z, s})));
  const Tensor total = reduce_sum(s);
  const RunResult read = fused(graph, {z, total});
  CHECK(read.count("Tanh") == 1);
  CHECK(same_bits(read, run_plain(graph, {z, total})));
  // s is fetched as an operation, without its value.
  CHECK(fused(graph, {z, s.op()}).count("Tanh") == 1);
}

TEST_CASE("elementwise: a result of another shape, and integers, stay") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor row = tanh(random_tensor<float>({30}, 1));
  const RunResult ran = fused(graph, {row * random_tensor<float>({20, 30}, 2)});
  CHECK(ran.launches == 2);
  CHECK(ran.count("_Elementwise") == 0);
  const Tensor i = tensor_of(random_array<std::int32_t>({30}, 1));
  CHECK(fused(graph, {(i + 1) * i}).launches == 2);
  const Tensor kept = where(random_tensor<float>({20}, 3) > 0.0, random_tensor<float>({20, 3}, 4),
                            random_tensor<float>({20, 3}, 5));  // the condition selects whole rows
  CHECK(fused(graph, {tanh(kept)}).launches == 3);
}

TEST_CASE("elementwise: what waits by control stays, what is waited for too") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(random_array<float>({30}, 1));
  const Operation init = w.initializer();
  const Tensor x = random_tensor<float>({30}, 2);
  Tensor inner;
  {
    const auto after = control_dependencies({Fetch(assign(w, x * 1.0))});
    inner = tanh(x);
  }
  const RunResult waits = fused(graph, {inner + 1.0}, &init);
  CHECK(waits.count("Tanh") == 1);
  const Tensor awaited = exp(x), reader = awaited * 2.0;
  Tensor last;
  {
    const auto after = control_dependencies({Fetch(awaited)});
    last = reduce_sum(x);
  }
  const RunResult ran = fused(graph, {reader, last}, &init);
  CHECK(ran.count("Exp") == 1);
  CHECK(same_bits(ran, run_plain(graph, {reader, last}, &init)));
}

TEST_CASE("elementwise: a variable is read before it is written, as on the tape") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(random_array<float>({30}, 1));
  const Operation init = w.initializer();
  const Tensor x = random_tensor<float>({30}, 2);
  const Tensor early = w * 2.0;
  const Tensor changed = assign(w, x);
  const Tensor z = early + x;
  const RunResult ran = fused(graph, {z, changed}, &init);
  CHECK(ran.count("Mul") == 1);
  CHECK(same_bits(ran, run_plain(graph, {z, changed}, &init)));
  CHECK(fused(graph, {z}, &init).launches == 1);
}

TEST_CASE("elementwise: a chain stays on its device") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = random_tensor<float>({30}, 2);
  Tensor first, second;
  {
    const auto on = device("/cpu:0");
    first = tanh(x * 2.0);
  }
  {
    const auto on = device("/cpu:1");
    second = exp(first - 1.0);
  }
  const RunResult ran = run_with(graph, {second}, only_rewrites("elementwise"), nullptr, {}, 2);
  CHECK(ran.count("_Elementwise") == 2);
  CHECK(same_bits(ran, run_with(graph, {second}, only_rewrites(), nullptr, {}, 2)));
}

TEST_CASE("elementwise: known values stay inputs, shapes found late stay unfused") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(DType::float32, {.shape = Shape{None, 4}});
  const Tensor z = tanh(x * (constant(2.0f) + 1.0f)) + 1.0;
  PassOptions passes = only_rewrites("elementwise");
  passes.fold_constants = true;
  for (const std::int64_t rows : {1, 3, 0}) {
    const Feeds feeds{{x, random_array<float>({rows, 4}, 1)}};
    const RunResult ran = run_with(graph, {z}, passes, nullptr, feeds);
    CHECK(ran.launches == 1);
    CHECK(same_bits(ran, run_with(graph, {z}, only_rewrites(), nullptr, feeds)));
  }
  const Tensor shape = placeholder(DType::int32, {.shape = Shape{2}});
  const Tensor late = tanh(reshape(random_tensor<float>({9}, 2), shape)) * 2.0;
  const Feeds feeds{{shape, Array::of<std::int32_t>({2}, {3, 3})}};
  const RunResult ran = run_with(graph, {late}, passes, nullptr, feeds);
  CHECK(ran.count("_Elementwise") == 0);
  CHECK(ran.has("  Tanh ["));
  CHECK(ran.values[0].shape() == Shape{3, 3});
}

TEST_CASE("elementwise: a program broadcasts what it reads itself") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = random_tensor<float>({40, 30, 5}, 1);
  const Tensor row = broadcast_to(random_tensor<float>({5}, 2), {40, 30, 5});
  const Tensor column = broadcast_to(random_tensor<float>({30, 1}, 3), {40, 30, 5});
  const Tensor number = broadcast_to(random_tensor<float>({}, 4), {40, 30, 5});
  for (const Tensor& z : {x * row, row - x, tanh(column) + x * number, add_n({row, x, number, row}),
                          row + number, exp(column), where(x > row, x, number)}) {
    CAPTURE(z.name());
    const RunResult one = fused(graph, {z});
    CHECK(one.launches == 1);
    CHECK(same_bits(one, run_plain(graph, {z})));
  }
  const Tensor mean = reduce_mean(square(x), {.axis = {0, 1}});
  const auto gradient = gradients(reduce_sum(tanh(mean)), {x});
  PassOptions passes = only_rewrites("elementwise");
  passes.fold_constants = true;
  const RunResult ran = run_with(graph, {gradient[0]->dense()}, passes);
  CHECK(ran.count("BroadcastTo") == 0);
  CHECK(same_bits(ran, run_plain(graph, {gradient[0]->dense()})));
  // Others read it too.
  const RunResult fetched = fused(graph, {x * row, row});
  CHECK(fetched.count("BroadcastTo") == 1);
  CHECK(same_bits(fetched, run_plain(graph, {x * row, row})));
}

TEST_CASE("elementwise: a shape to broadcast to that is fed, and a variable written meanwhile") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(random_array<float>({30}, 1));
  const Operation init = w.initializer();
  const Tensor x = random_tensor<float>({20, 30}, 2);
  const Tensor early = broadcast_to(w, {20, 30});
  const Tensor changed = assign(w, random_tensor<float>({30}, 3));
  const RunResult ran = fused(graph, {early * x, changed}, &init);
  CHECK(ran.count("BroadcastTo") == 1);
  CHECK(same_bits(ran, run_plain(graph, {early * x, changed}, &init)));
  CHECK(fused(graph, {early * x}, &init).count("BroadcastTo") == 0);
  const Tensor sizes = placeholder(DType::int32, {.shape = Shape{2}});
  const Tensor late = x * broadcast_to(random_tensor<float>({30}, 4), sizes);
  const Feeds feeds{{sizes, Array::of<std::int32_t>({2}, {20, 30})}};
  CHECK(run_with(graph, {late}, only_rewrites("elementwise"), nullptr, feeds).has("BroadcastTo"));
}

TEST_CASE("elementwise: an op of the program's own ends a chain") {
  static const bool added = [] {
    OpRegistry::global().add({.name = "TestChainOwn",
                              .shape =
                                  [](InferenceContext& context) {
                                    context.add_output(context.dtype(0), context.shape(0));
                                  },
                              .gradient = NoGradient{"a test"},
                              .view = true});
    return true;
  }();
  CHECK(added);
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = random_tensor<float>({30}, 1);
  const Tensor own =
      graph.add({.op = "TestChainOwn", .name = "own", .inputs = {tanh(x * 2.0)}}).output(0);
  const RunResult ran = fused(graph, {exp(own) - 1.0});
  CHECK(ran.count("_Elementwise") == 2);
  CHECK(same_bits(ran, run_plain(graph, {exp(own) - 1.0})));
}

TEST_CASE("elementwise: chains have a largest length") {
  Graph graph;
  const auto guard = graph.as_default();
  Tensor z = random_tensor<float>({30}, 1);
  for (int i = 0; i < 200; ++i) z = z * 0.5 + 0.25;
  const RunResult one = fused(graph, {z}), many = run_plain(graph, {z});
  CHECK(many.launches == 400);
  CHECK(one.launches <= 8);
  CHECK(same_bits(one, many));
  std::vector<Tensor> tensors;
  for (unsigned i = 0; i < 100; ++i) tensors.push_back(-random_tensor<float>({30}, i));
  const Tensor sum = add_n(tensors);
  CHECK(same_bits(fused(graph, {sum}), run_plain(graph, {sum})));
}

TEST_CASE("elementwise: a program in words") {
  const ElementwiseProgram program{
      Shape{3},
      {{"Mul", DType::float32, {{false, 0}, {false, 1}}}, {"Tanh", DType::float32, {{true, 0}}}}};
  CHECK(program.text() == "%0 = Mul(x0, x1); %1 = Tanh(%0)");
}

}  // namespace
}  // namespace towerflow
