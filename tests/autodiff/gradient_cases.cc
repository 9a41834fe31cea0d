#include "tests/autodiff/gradient_cases.h"

#include "towerflow/tf.h"

namespace towerflow::testing {
namespace {

using Tensors = std::vector<Tensor>;

/// The function squared, so that a linear one has a second derivative too.
GradientCase squared(Function function, std::vector<Array> xs) {
  return {[function = std::move(function)](const Tensors& in) { return square(function(in)); },
          std::move(xs)};
}

Array some(const Shape& shape, unsigned seed) { return testing::random_doubles(shape, seed); }
Array positive(const Shape& shape, unsigned seed) {
  return testing::random_between(shape, 0.5, 2.0, seed);
}

/// The gradient of the function's square, as a function: for ops that only gradients make.
Function slope(Function function) {
  return [function = std::move(function)](const Tensors& in) {
    return convert_to_tensor(*gradients({square(function(in))}, {in[0]})[0]);
  };
}

GradientCases elementwise() {
  GradientCases cases;
  const auto unary = [&](const char* op, auto function) {
    cases[op] = squared([=](const Tensors& in) { return function(in[0]); }, {positive({2, 3}, 1)});
  };
  unary("Abs", [](const Tensor& x) { return tf::abs(x); });
  unary("Cos", [](const Tensor& x) { return tf::cos(x); });
  unary("Exp", [](const Tensor& x) { return tf::exp(x); });
  unary("Expm1", [](const Tensor& x) { return tf::expm1(x); });
  unary("Log", [](const Tensor& x) { return tf::log(x); });
  unary("Log1p", [](const Tensor& x) { return tf::log1p(x); });
  unary("Neg", [](const Tensor& x) { return tf::negative(x); });
  unary("Reciprocal", [](const Tensor& x) { return tf::reciprocal(x); });
  unary("Relu", [](const Tensor& x) { return nn::relu(x - 1.0); });
  unary("Rsqrt", [](const Tensor& x) { return tf::rsqrt(x); });
  unary("Sigmoid", [](const Tensor& x) { return tf::sigmoid(x); });
  unary("Sin", [](const Tensor& x) { return tf::sin(x); });
  unary("Sqrt", [](const Tensor& x) { return tf::sqrt(x); });
  unary("Square", [](const Tensor& x) { return tf::square(x); });
  unary("Tanh", [](const Tensor& x) { return tf::tanh(x); });
  unary("Softplus", [](const Tensor& x) { return nn::softplus(x); });
  unary("Softsign", [](const Tensor& x) { return nn::softsign(x); });
  unary("Elu", [](const Tensor& x) { return nn::elu(x - 1.0); });
  unary("Selu", [](const Tensor& x) { return nn::selu(x - 1.0); });
  unary("Relu6", [](const Tensor& x) { return nn::relu6(x * 8.0 - 4.0); });
  unary("LeakyRelu", [](const Tensor& x) { return nn::leaky_relu(x - 1.0); });
  unary("Identity", [](const Tensor& x) { return tf::identity(x); });
  unary("IdentityN", [](const Tensor& x) { return tf::identity_n({x, x})[1]; });
  unary("AddN", [](const Tensor& x) { return tf::add_n({x, x}); });
  unary("Cumsum", [](const Tensor& x) { return tf::cumsum(x, 1, {.exclusive = true}); });
  unary("L2Loss", [](const Tensor& x) { return nn::l2_loss(x); });
  unary("PlaceholderWithDefault", [](const Tensor& x) {
    return tf::placeholder_with_default(x, Shape{2, 3});
  });
  for (const auto& [by_gradient, of] :
       {std::pair("ReluGrad", "Relu"), std::pair("RsqrtGrad", "Rsqrt"),
        std::pair("SigmoidGrad", "Sigmoid"), std::pair("SqrtGrad", "Sqrt"),
        std::pair("TanhGrad", "Tanh")}) {
    cases[by_gradient] = cases[of];
  }
  const auto binary = [&](const char* op, auto function) {
    // One operand is repeated along the other, for sums over what was repeated.
    cases[op] = squared([=](const Tensors& in) { return function(in[0], in[1]); },
                        {positive({2, 3}, 1), positive({3}, 2)});
  };
  binary("AddV2", [](const Tensor& x, const Tensor& y) { return x + y; });
  binary("Sub", [](const Tensor& x, const Tensor& y) { return x - y; });
  binary("Mul", [](const Tensor& x, const Tensor& y) { return x * y; });
  binary("RealDiv", [](const Tensor& x, const Tensor& y) { return x / y; });
  binary("FloorMod", [](const Tensor& x, const Tensor& y) { return floormod(x * 5.0, y); });
  binary("Maximum", [](const Tensor& x, const Tensor& y) { return maximum(x, y); });
  binary("Minimum", [](const Tensor& x, const Tensor& y) { return minimum(x, y); });
  binary("Pow", [](const Tensor& x, const Tensor& y) { return tf::pow(x, y); });
  binary("DivNoNan", [](const Tensor& x, const Tensor& y) { return div_no_nan(x, y); });
  binary("SquaredDifference",
         [](const Tensor& x, const Tensor& y) { return squared_difference(x, y); });
  binary("SelectV2", [](const Tensor& x, const Tensor& y) { return where_v2(x > y, x, y); });
  // Where sizes are unknown, a gradient is summed to the shape that the operand turns out to have.
  binary("SumToShape", [](const Tensor& x, const Tensor& y) {
    return x * tf::placeholder_with_default(y, Shape{None});
  });
  cases["Select"] = squared([](const Tensors& in) { return where(in[0] > in[1], in[0], in[1]); },
                            {some({2, 3}, 1), some({2, 3}, 2)});
  return cases;
}

GradientCases arrays() {
  GradientCases cases;
  const auto unary = [&](const char* op, auto function) {
    cases[op] = squared([=](const Tensors& in) { return function(in[0]); }, {some({2, 3}, 1)});
  };
  unary("BroadcastTo", [](const Tensor& x) { return broadcast_to(x, {4, 2, 3}); });
  unary("ConcatV2", [](const Tensor& x) { return concat({x, x * 2.0}, 1); });
  unary("ExpandDims", [](const Tensor& x) { return expand_dims(x, 1); });
  unary("GatherV2", [](const Tensor& x) { return gather(x, {1, 1, 0}); });
  unary("Pack", [](const Tensor& x) { return stack({x, x * 2.0}, 1); });
  unary("Unpack", [](const Tensor& x) { return unstack(x, 2)[1]; });
  unary("Reshape", [](const Tensor& x) { return reshape(x, {3, 2}); });
  unary("Slice", [](const Tensor& x) { return slice(x, {0, 1}, {2, 2}); });
  unary("Squeeze", [](const Tensor& x) { return squeeze(expand_dims(x, 0)); });
  unary("StridedSlice", [](const Tensor& x) { return strided_slice(x, {0, 0}, {2, 3}, {1, 2}); });
  unary("Tile", [](const Tensor& x) { return tile(x, {2, 2}); });
  unary("Transpose", [](const Tensor& x) { return transpose(x); });
  unary("UnsortedSegmentSum", [](const Tensor& x) { return unsorted_segment_sum(x, {1, 0}, 3); });
  unary("Split", [](const Tensor& x) { return split(x, 3, 1)[1]; });
  unary("SplitV", [](const Tensor& x) { return split(x, {1, 2}, 1)[1]; });
  unary("Pad", [](const Tensor& x) { return pad(x, {{1, 0}, {0, 2}}); });
  unary("PadV2", [](const Tensor& x) {
    return pad(x, {{1, 0}, {0, 2}}, "CONSTANT", {.constant_values = 3.0});
  });
  unary("MirrorPad", [](const Tensor& x) { return pad(x, {{1, 0}, {2, 1}}, "REFLECT"); });
  cases["MirrorPadGrad"] = cases["MirrorPad"];
  cases["GatherOrZero"] = cases["UnsortedSegmentSum"];
  cases["SliceGrad"] = cases["Slice"];
  cases["StridedSliceGrad"] = cases["StridedSlice"];
  unary("DynamicStitch", [](const Tensor& x) {  // rows 2, 0 and 3, 1
    const Tensor first = tf::constant({2, 0}), second = tf::constant({3, 1});
    return x.graph()
        .add(
            {.op = "DynamicStitch", .name = "DynamicStitch", .inputs = {first, second, x, x * 2.0}})
        .output(0);
  });
  cases["Fill"] = squared([](const Tensors& in) { return fill({2, 2}, in[0]); }, {some({}, 1)});
  return cases;
}

GradientCases reductions() {
  GradientCases cases;
  const auto unary = [&](const char* op, auto function) {
    cases[op] = squared([=](const Tensors& in) { return function(in[0]); }, {some({2, 3}, 1)});
  };
  unary("Sum", [](const Tensor& x) { return reduce_sum(x, 1); });
  unary("Mean", [](const Tensor& x) { return reduce_mean(x, 0); });
  unary("Max", [](const Tensor& x) { return reduce_max(x, 1); });
  unary("Min", [](const Tensor& x) { return reduce_min(x, 0); });
  unary("Prod", [](const Tensor& x) { return reduce_prod(x, 1); });
  cases["ProductOfOthers"] = {slope([](const Tensors& in) { return reduce_prod(in[0], 1); }),
                              {some({2, 4}, 1)}};
  cases["MatMul"] = squared([](const Tensors& in) { return matmul(in[0], in[1]); },
                            {some({2, 3}, 1), some({3, 2}, 2)});
  return cases;
}

GradientCases layers() {
  GradientCases cases;
  const std::vector<Array> image{some({1, 4, 4, 2}, 1)};
  const Function average = [](const Tensors& in) {
    return nn::avg_pool(in[0], {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME");
  };
  const Function greatest = [](const Tensors& in) {
    return nn::max_pool(in[0], {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME");
  };
  cases["AvgPool"] = cases["AvgPoolGrad"] = squared(average, image);
  cases["MaxPool"] = cases["MaxPoolGrad"] = squared(greatest, image);
  cases["MaxPoolGradGrad"] = squared(slope(greatest), image);
  cases["BiasAdd"] = cases["BiasAddGrad"] =
      squared([](const Tensors& in) { return nn::bias_add(in[0], in[1]); },
              {some({2, 3}, 1), some({3}, 2)});
  cases["Conv2D"] = cases["Conv2DBackpropInput"] = cases["Conv2DBackpropFilter"] = squared(
      [](const Tensors& in) {
        return nn::conv2d(in[0], in[1], {1, 1, 1, 1}, "SAME");
      },
      {some({1, 3, 3, 1}, 1), some({2, 2, 1, 2}, 2)});
  cases["Softmax"] =
      squared([](const Tensors& in) { return nn::softmax(in[0]); }, {some({2, 3}, 1)});
  cases["LogSoftmax"] =
      squared([](const Tensors& in) { return nn::log_softmax(in[0]); }, {some({2, 3}, 1)});
  cases["SparseSoftmaxCrossEntropyWithLogits"] = squared(
      [](const Tensors& in) {
        return nn::sparse_softmax_cross_entropy_with_logits({.labels = {2, 0}, .logits = in[0]});
      },
      {some({2, 3}, 1)});
  cases["SoftmaxCrossEntropyWithLogits"] = squared(
      [](const Tensors& in) {
        const Tensor labels = nn::softmax(in[1]);  // probabilities: they add up to 1
        return nn::softmax_cross_entropy_with_logits_v2({.labels = labels, .logits = in[0]});
      },
      {some({2, 3}, 1), some({2, 3}, 2)});
  return cases;
}

}  // namespace

GradientCases gradient_cases() {
  GradientCases all = elementwise();
  for (auto more : {arrays(), reductions(), layers()}) all.merge(more);
  return all;
}

}  // namespace towerflow::testing
