// Pointwise operations of the emulated cuDNN, alone and behind a convolution.
#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/cuda/dnn_run.h"

namespace towerflow::cuda::testing {
namespace {

const Dims kShape{2, 3, 4, 5};

/// A graph of one pointwise operation. b has the dimensions given, of x or 1.
struct Single {
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
  bool takes_b = true;
  Dims b_dims = kShape;
  float alpha1 = 1, alpha2 = 1;
  Dims x_strides = channels_last(kShape), y_strides = channels_first(kShape);
  std::function<void(DnnBuilder&, DnnBuilder::Descriptor)> set;  ///< before it is finalized
};

/// Values in which no function is far from numbers: positive ones, and around 0.
std::vector<float> values(std::size_t count, unsigned seed, bool positive) {
  std::vector<float> list = random_array<float>(count, seed);
  for (float& value : list) value = positive ? std::abs(value) + 0.25F : 2 * value;
  return list;
}

using Function = std::function<double(double x, double b)>;

/// Returns the largest error of the operation against `f`, or infinity if it was refused.
double error_of(const Single& s, bool positive, const Function& f) {
  DnnBuilder builder(emulation());
  const Dims b_strides = channels_last(s.b_dims);
  const auto pointwise = builder.make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  if (s.set) s.set(builder, pointwise);
  builder.finalize_pointwise(pointwise, s.mode);
  const auto graph = builder.graph({builder.pointwise_operation(
      pointwise, builder.tensor({1, kShape, s.x_strides}),
      s.takes_b ? builder.tensor({2, s.b_dims, b_strides}) : nullptr,
      builder.tensor({3, kShape, s.y_strides}), nullptr, s.alpha1, s.alpha2)});
  const auto configs = builder.configs(graph);
  if (builder.status() != CUDNN_STATUS_SUCCESS || configs.empty()) return INFINITY;
  DeviceArray<float> x(values(span_of(kShape, s.x_strides), 1, positive)),
      b(values(span_of(s.b_dims, b_strides), 2, positive)), y(span_of(kShape, s.y_strides));
  const DnnHandle handle;
  if (execute<float>(builder, handle, configs[0], {{1, &x}, {2, &b}, {3, &y}}) !=
      CUDNN_STATUS_SUCCESS) {
    return INFINITY;
  }
  std::vector<double> expected(y.initial().size());
  for_each_index(kShape, [&](const Dims& index) {
    Dims at = index;
    for (std::size_t d = 0; d < at.size(); ++d) at[d] = std::min(at[d], s.b_dims[d] - 1);
    const double first = static_cast<double>(x.initial()[offset_of(index, s.x_strides)]);
    const double second = static_cast<double>(b.initial()[offset_of(at, b_strides)]);
    expected[offset_of(index, s.y_strides)] =
        f(static_cast<double>(s.alpha1) * first, static_cast<double>(s.alpha2) * second);
  });
  return largest_error(as_doubles(y.read()), expected);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST_CASE("cudnn: pointwise modes of one and two tensors") {
  struct Row {
    cudnnPointwiseMode_t mode;
    bool takes_b, positive;
    Function f;
  };
  const Row rows[] = {
      {CUDNN_POINTWISE_ADD, true, false, [](double x, double b) { return x + b; }},
      {CUDNN_POINTWISE_SUB, true, false, [](double x, double b) { return x - b; }},
      {CUDNN_POINTWISE_MUL, true, false, [](double x, double b) { return x * b; }},
      {CUDNN_POINTWISE_DIV, true, true, [](double x, double b) { return x / b; }},
      {CUDNN_POINTWISE_ADD_SQUARE, true, false, [](double x, double b) { return x + b * b; }},
      {CUDNN_POINTWISE_MAX, true, false, [](double x, double b) { return std::max(x, b); }},
      {CUDNN_POINTWISE_MIN, true, false, [](double x, double b) { return std::min(x, b); }},
      {CUDNN_POINTWISE_POW, true, true, [](double x, double b) { return std::pow(x, b); }},
      {CUDNN_POINTWISE_CMP_GT, true, false, [](double x, double b) { return x > b ? 1 : 0; }},
      {CUDNN_POINTWISE_CMP_LE, true, false, [](double x, double b) { return x <= b ? 1 : 0; }},
      {CUDNN_POINTWISE_IDENTITY, false, false, [](double x, double) { return x; }},
      {CUDNN_POINTWISE_NEG, false, false, [](double x, double) { return -x; }},
      {CUDNN_POINTWISE_ABS, false, false, [](double x, double) { return std::abs(x); }},
      {CUDNN_POINTWISE_EXP, false, false, [](double x, double) { return std::exp(x); }},
      {CUDNN_POINTWISE_LOG, false, true, [](double x, double) { return std::log(x); }},
      {CUDNN_POINTWISE_SQRT, false, true, [](double x, double) { return std::sqrt(x); }},
      {CUDNN_POINTWISE_RSQRT, false, true, [](double x, double) { return 1 / std::sqrt(x); }},
      {CUDNN_POINTWISE_RELU_FWD, false, false, [](double x, double) { return std::max(x, 0.0); }},
      {CUDNN_POINTWISE_TANH_FWD, false, false, [](double x, double) { return std::tanh(x); }},
      {CUDNN_POINTWISE_SIGMOID_FWD, false, false, [](double x, double) { return sigmoid(x); }},
      {CUDNN_POINTWISE_SOFTPLUS_FWD, false, false,
       [](double x, double) { return std::log1p(std::exp(x)); }},
      {CUDNN_POINTWISE_ELU_FWD, false, false,
       [](double x, double) { return x > 0 ? x : std::exp(x) - 1; }},
      {CUDNN_POINTWISE_SWISH_FWD, false, false, [](double x, double) { return x * sigmoid(x); }},
      {CUDNN_POINTWISE_GELU_FWD, false, false,
       [](double x, double) { return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))); }}};
  for (const Row& row : rows) {
    CAPTURE(row.mode);
    Single s;
    s.mode = row.mode;
    s.takes_b = row.takes_b;
    CHECK(error_of(s, row.positive, row.f) < 1e-6);
    s.b_dims = {1, 3, 1, 1};
    s.alpha1 = 0.5F;
    if (row.takes_b) s.alpha2 = 1.5F;
    CHECK(error_of(s, row.positive, row.f) < 1e-6);
  }
}

TEST_CASE("cudnn: backward modes are the derivatives of the forward modes") {
  for (int number = CUDNN_POINTWISE_RELU_BWD; number <= CUDNN_POINTWISE_GELU_APPROX_TANH_BWD;
       ++number) {
    CAPTURE(number);
    Single backward;
    backward.mode = static_cast<cudnnPointwiseMode_t>(number);
    // Differences of the forward mode, which runs on doubles here: a table of x and f(x).
    DnnBuilder builder(emulation());
    const Dims shape{1, 3, 1, 1000};
    const auto forward = builder.pointwise(static_cast<cudnnPointwiseMode_t>(number - 100));
    const auto configs = builder.configs(builder.graph({builder.pointwise_operation(
        forward, builder.tensor({1, shape, channels_first(shape), CUDNN_DATA_DOUBLE}), nullptr,
        builder.tensor({3, shape, channels_first(shape), CUDNN_DATA_DOUBLE}))}));
    REQUIRE(configs.size() == 1);
    std::vector<double> at(3000);
    for (std::size_t i = 0; i < 1000; ++i) {
      at[i] = -2.499 + 0.005 * static_cast<double>(i);
      at[1000 + i] = at[i] - 1e-5;
      at[2000 + i] = at[i] + 1e-5;
    }
    DeviceArray<double> x(at), y(at.size());
    const DnnHandle handle;
    REQUIRE(execute<double>(builder, handle, configs[0], {{1, &x}, {3, &y}}) == 0);
    const std::vector<double> f = y.read();
    const double error = error_of(backward, false, [&](double value, double dy) {
      const auto i = static_cast<std::size_t>(std::lround((value + 2.499) / 0.005));
      return dy * (f[2000 + i] - f[1000 + i]) / 2e-5;
    });
    CHECK(error < 1e-2);
  }
}

TEST_CASE("cudnn: the clips and slopes of activations are used") {
  Single s;
  s.mode = CUDNN_POINTWISE_RELU_FWD;
  s.takes_b = false;
  s.set = [](DnnBuilder& builder, DnnBuilder::Descriptor pointwise) {
    builder.set(pointwise, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, 1.25);
    builder.set(pointwise, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, CUDNN_TYPE_FLOAT, 0.125F);
  };
  CHECK(error_of(s, false, [](double x, double) { return x < 0 ? x / 8 : std::min(x, 1.25); }) <
        1e-6);
}

TEST_CASE("cudnn: shapes that do not broadcast have no engine") {
  for (const Dims& dims : {Dims{1, 2, 1, 1}, Dims{2, 3, 4, 4}, Dims{2, 3, 2, 5}}) {
    Single s;
    s.b_dims = dims;
    CHECK(error_of(s, false, [](double x, double b) { return x + b; }) == INFINITY);
  }
}

/// y = max(conv(x, w) + bias, 0) as three operations, with two virtual tensors.
struct Fused {
  Dims x{2, 4, 5, 3}, w{6, 4, 3, 3}, y{2, 6, 5, 3}, bias{1, 6, 1, 1};
  Dims first_uses{10, 11};  ///< UIDs of the virtual tensors
  std::int64_t bias_reads = 10, relu_reads = 11;
  bool reversed = false, half = false;

  std::vector<DnnBuilder::Descriptor> operations(DnnBuilder& builder) const {
    const auto virtual_tensor = [&](std::int64_t uid) {
      return builder.tensor(
          {uid, y, channels_last(y), half ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT, 16, true});
    };
    std::vector<DnnBuilder::Descriptor> list = {
        builder.operation(Kind::forward, builder.tensor({1, x, channels_last(x)}),
                          builder.tensor({2, w, channels_last(w)}), virtual_tensor(first_uses[0]),
                          builder.convolution({})),
        builder.pointwise_operation(
            builder.pointwise(CUDNN_POINTWISE_ADD), virtual_tensor(bias_reads),
            builder.tensor({4, bias, channels_last(bias)}), virtual_tensor(first_uses[1])),
        builder.pointwise_operation(builder.pointwise(CUDNN_POINTWISE_RELU_FWD),
                                    virtual_tensor(relu_reads), nullptr,
                                    builder.tensor({3, y, channels_last(y)}))};
    if (reversed) std::reverse(list.begin(), list.end());
    return list;
  }
};

TEST_CASE("cudnn: a convolution with bias and ReLU is the three one after the other") {
  for (const bool reversed : {false, true}) {
    Fused fused;
    fused.reversed = reversed;
    DnnBuilder builder(emulation());
    const auto graph = builder.graph(fused.operations(builder));
    REQUIRE(builder.status() == CUDNN_STATUS_SUCCESS);
    const auto configs = builder.configs(graph, CUDNN_HEUR_MODE_FALLBACK);
    REQUIRE(!configs.empty());
    DeviceArray<float> x(random_array<float>(120, 1)), w(random_array<float>(216, 2)),
        y(std::size_t{180}), bias(random_array<float>(6, 4)), plain(std::size_t{180});
    const DnnHandle handle;
    CHECK(execute<float>(builder, handle, configs[0], {{1, &x}, {2, &w}, {3, &y}, {4, &bias}}) ==
          0);
    // The convolution alone.
    const auto alone = builder.configs(
        builder.graph({builder.operation(
            Kind::forward, builder.tensor({1, fused.x, channels_last(fused.x)}),
            builder.tensor({2, fused.w, channels_last(fused.w)}),
            builder.tensor({3, fused.y, channels_last(fused.y)}), builder.convolution({}))}),
        CUDNN_HEUR_MODE_FALLBACK);
    CHECK(execute<float>(builder, handle, alone[0], {{1, &x}, {2, &w}, {3, &plain}}) == 0);
    std::vector<double> expected = as_doubles(plain.read());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] = std::max(expected[i] + static_cast<double>(bias.initial()[i % 6]), 0.0);
    }
    CHECK(largest_error(as_doubles(y.read()), expected) < 1e-6);
  }
}

TEST_CASE("cudnn: wrong graphs are refused, or have no engine") {
  const auto count = [](const Fused& fused, cudnnStatus_t& status) {
    DnnBuilder builder(emulation());
    const auto graph = builder.graph(fused.operations(builder));
    status = builder.status();
    return status == CUDNN_STATUS_SUCCESS ? builder.configs(graph).size() : 0;
  };
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  CHECK(count({}, status) > 0);
  Fused wrong;
  wrong.relu_reads = 12;  // nothing computes it
  CHECK(count(wrong, status) == 0);
  CHECK(status == CUDNN_STATUS_SUCCESS);
  wrong = {};
  wrong.bias = {1, 5, 1, 1};
  CHECK(count(wrong, status) == 0);
  CHECK(status == CUDNN_STATUS_SUCCESS);
  wrong = {};
  wrong.first_uses = {10, 10};  // two operations write it
  wrong.relu_reads = 10;
  CHECK(count(wrong, status) == 0);
  CHECK(status == CUDNN_STATUS_BAD_PARAM);
  wrong = {};
  wrong.bias_reads = 11;  // and it is its own input
  CHECK(count(wrong, status) == 0);
  wrong = {};
  wrong.w = {6, 3, 3, 3};
  CHECK(count(wrong, status) == 0);
  CHECK(status == CUDNN_STATUS_BAD_PARAM);
}

TEST_CASE("cudnn: a convolution of floats has no engine for a result in float16") {
  Fused fused;
  fused.half = true;
  DnnBuilder builder(emulation());
  CHECK(builder.configs(builder.graph(fused.operations(builder))).empty());
  CHECK(builder.status() == CUDNN_STATUS_SUCCESS);
}

TEST_CASE("cudnn: a virtual tensor in float16 rounds what passes through it") {
  DnnBuilder builder(emulation());
  const auto tensor = [&](std::int64_t uid, cudnnDataType_t type, bool is_virtual) {
    return builder.tensor({uid, kShape, channels_last(kShape), type, 16, is_virtual});
  };
  const auto x = tensor(1, CUDNN_DATA_FLOAT, false), y = tensor(3, CUDNN_DATA_FLOAT, false);
  const auto between = tensor(2, CUDNN_DATA_HALF, true);
  const auto copy = builder.pointwise(CUDNN_POINTWISE_IDENTITY);
  const auto configs =
      builder.configs(builder.graph({builder.pointwise_operation(copy, x, nullptr, between),
                                     builder.pointwise_operation(copy, between, nullptr, y)}));
  REQUIRE(configs.size() == 1);
  DeviceArray<float> from(random_array<float>(120, 1)), to(std::size_t{120});
  const DnnHandle handle;
  CHECK(execute<float>(builder, handle, configs[0], {{1, &from}, {3, &to}}) == 0);
  const double error = largest_error(as_doubles(to.read()), as_doubles(from.initial()));
  CHECK(error > 1e-4);
  CHECK(error < 1e-3);
}

TEST_CASE("cudnn: a value can be passed by the host, and work in place") {
  DnnBuilder builder(emulation());
  const Dims one{1, 1, 1, 1};
  TensorSpec factor{2, one, {1, 1, 1, 1}};
  factor.by_value = true;
  factor.alignment = 4;
  const auto configs = builder.configs(builder.graph({builder.pointwise_operation(
      builder.pointwise(CUDNN_POINTWISE_MUL), builder.tensor({1, kShape, channels_last(kShape)}),
      builder.tensor(factor), builder.tensor({3, kShape, channels_last(kShape)}))}));
  REQUIRE(configs.size() == 1);
  DeviceArray<float> x(random_array<float>(120, 1));
  const DnnHandle handle;
  float by = 3;
  CHECK(emulation().cudnnBackendExecute(
            handle, builder.plan(configs[0]),
            builder.pack({1, 2, 3}, {x.get(), &by, x.get()}, nullptr)) == CUDNN_STATUS_SUCCESS);
  by = 5;  // the call has read it
  CHECK(handle.stream.wait() == cudaSuccess);
  const std::vector<float> y = x.read();
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == 3 * x.initial()[i]);
}

}  // namespace
}  // namespace towerflow::cuda::testing
