// Local response normalization and softmax of the emulated cuDNN.
#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/cuda/dnn_run.h"

namespace towerflow::cuda::testing {
namespace {

const Dims kShape{2, 7, 3, 2};

std::vector<int> ints(const Dims& dims) { return std::vector<int>(dims.begin(), dims.end()); }

class TensorDescriptor {
 public:
  explicit TensorDescriptor(const Dims& strides, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    CHECK(emulation().cudnnCreateTensorDescriptor(&descriptor_) == 0);
    CHECK(emulation().cudnnSetTensorNdDescriptor(descriptor_, type, 4, ints(kShape).data(),
                                                 ints(strides).data()) == 0);
  }
  ~TensorDescriptor() { CHECK(emulation().cudnnDestroyTensorDescriptor(descriptor_) == 0); }
  operator cudnnTensorDescriptor_t() const { return descriptor_; }

 private:
  cudnnTensorDescriptor_t descriptor_ = nullptr;
};

struct Lrn {
  unsigned n;
  double alpha, beta, k;
};

/// The value at one index of channels, all others being given.
double normalized(const Lrn& lrn, const std::vector<double>& x, std::int64_t c) {
  double sum = 0;
  const auto n = static_cast<std::int64_t>(lrn.n);
  for (std::int64_t i = c - (n - 1) / 2; i <= c + n / 2; ++i) {
    if (i >= 0 && i < kShape[1])
      sum += x[static_cast<std::size_t>(i)] * x[static_cast<std::size_t>(i)];
  }
  return x[static_cast<std::size_t>(c)] * std::pow(lrn.k + lrn.alpha / lrn.n * sum, -lrn.beta);
}

/// Calls `f(offsets)` with the offsets of the channels of each pixel.
void for_each_pixel(const Dims& strides,
                    const std::function<void(const std::vector<std::size_t>&)>& f) {
  for_each_index({kShape[0], kShape[2], kShape[3]}, [&](const Dims& pixel) {
    std::vector<std::size_t> offsets;
    for (std::int64_t c = 0; c < kShape[1]; ++c) {
      offsets.push_back(offset_of({pixel[0], c, pixel[1], pixel[2]}, strides));
    }
    f(offsets);
  });
}

std::vector<double> pick(const std::vector<float>& values,
                         const std::vector<std::size_t>& offsets) {
  std::vector<double> picked;
  for (const std::size_t offset : offsets) picked.push_back(static_cast<double>(values[offset]));
  return picked;
}

TEST_CASE("cudnn: local response normalization and its gradient [layouts, windows, scales]") {
  const Table& cuda = emulation();
  for (const auto& strides : {channels_last(kShape), channels_first(kShape)}) {
    for (const Lrn& lrn : {Lrn{5, 0.5, 0.75, 2}, Lrn{4, 1.5, 0.5, 1}, Lrn{1, 1, 1, 1}}) {
      const DnnHandle handle;
      const TensorDescriptor tensor(strides);
      cudnnLRNDescriptor_t descriptor = nullptr;
      CHECK(cuda.cudnnCreateLRNDescriptor(&descriptor) == 0);
      CHECK(cuda.cudnnSetLRNDescriptor(descriptor, lrn.n, lrn.alpha, lrn.beta, lrn.k) == 0);
      DeviceArray<float> x(random_array<float>(84, 1)), y(random_array<float>(84, 2)),
          dy(random_array<float>(84, 3)), dx(random_array<float>(84, 4)), whole_y(std::size_t{84});
      const float one = 1, no = 0, two = 2, half = 0.5F;
      CHECK(cuda.cudnnLRNCrossChannelForward(handle, descriptor, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one,
                                             tensor, x.get(), &no, tensor, whole_y.get()) == 0);
      CHECK(cuda.cudnnLRNCrossChannelForward(handle, descriptor, CUDNN_LRN_CROSS_CHANNEL_DIM1, &two,
                                             tensor, x.get(), &half, tensor, y.get()) == 0);
      CHECK(cuda.cudnnLRNCrossChannelBackward(handle, descriptor, CUDNN_LRN_CROSS_CHANNEL_DIM1,
                                              &two, tensor, whole_y.get(), tensor, dy.get(), tensor,
                                              x.get(), &half, tensor, dx.get()) == 0);
      CHECK(cuda.cudnnDestroyLRNDescriptor(descriptor) == 0);
      REQUIRE(handle.stream.wait() == cudaSuccess);
      std::vector<double> y_expected(84), dx_expected(84);
      for_each_pixel(strides, [&](const std::vector<std::size_t>& at) {
        std::vector<double> channels = pick(x.initial(), at);
        const std::vector<double> gradient = pick(dy.initial(), at);
        for (std::size_t c = 0; c < at.size(); ++c) {
          y_expected[at[c]] = 2 * normalized(lrn, channels, static_cast<std::int64_t>(c)) +
                              0.5 * static_cast<double>(y.initial()[at[c]]);
          // The derivative of the sum of y dy, by differences.
          double difference = 0;
          for (const double step : {1e-5, -1e-5}) {
            std::vector<double> moved = channels;
            moved[c] += step;
            for (std::size_t i = 0; i < at.size(); ++i) {
              difference +=
                  normalized(lrn, moved, static_cast<std::int64_t>(i)) * gradient[i] / (2 * step);
            }
          }
          dx_expected[at[c]] = 2 * difference + 0.5 * static_cast<double>(dx.initial()[at[c]]);
        }
      });
      CHECK(largest_error(as_doubles(y.read()), y_expected) < 1e-6);
      CHECK(largest_error(as_doubles(dx.read()), dx_expected) < 1e-5);
    }
  }
}

TEST_CASE("cudnn: softmax and its gradient [modes, algorithms, layouts]") {
  const Table& cuda = emulation();
  for (const auto& strides : {channels_last(kShape), channels_first(kShape)}) {
    for (const auto mode : {CUDNN_SOFTMAX_MODE_CHANNEL, CUDNN_SOFTMAX_MODE_INSTANCE}) {
      for (const auto algorithm : {CUDNN_SOFTMAX_FAST, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_LOG}) {
        const DnnHandle handle;
        const TensorDescriptor tensor(strides);
        DeviceArray<float> x(random_array<float>(84, 1)), y(std::size_t{84}),
            dy(random_array<float>(84, 3)), dx(std::size_t{84});
        const float one = 1, no = 0;
        CHECK(cuda.cudnnSoftmaxForward(handle, algorithm, mode, &one, tensor, x.get(), &no, tensor,
                                       y.get()) == 0);
        CHECK(cuda.cudnnSoftmaxBackward(handle, algorithm, mode, &one, tensor, y.get(), tensor,
                                        dy.get(), &no, tensor, dx.get()) == 0);
        REQUIRE(handle.stream.wait() == cudaSuccess);
        std::vector<double> y_expected(84), dx_expected(84);
        const auto fill = [&](const std::vector<std::size_t>& at) {
          const std::vector<double> values = pick(x.initial(), at),
                                    gradient = pick(dy.initial(), at);
          double sum = 0, weighted = 0, total = 0;
          for (const double value : values) sum += std::exp(value);
          for (std::size_t i = 0; i < at.size(); ++i) {
            weighted += std::exp(values[i]) / sum * gradient[i];
            total += gradient[i];
          }
          for (std::size_t i = 0; i < at.size(); ++i) {
            const double p = std::exp(values[i]) / sum;
            const bool log = algorithm == CUDNN_SOFTMAX_LOG;
            y_expected[at[i]] = log ? std::log(p) : p;
            dx_expected[at[i]] = log ? gradient[i] - p * total : p * (gradient[i] - weighted);
          }
        };
        if (mode == CUDNN_SOFTMAX_MODE_CHANNEL) {
          for_each_pixel(strides, fill);
        } else {
          for (std::size_t n = 0; n < 2; ++n) {
            std::vector<std::size_t> at(42);
            std::iota(at.begin(), at.end(), n * 42);
            fill(at);
          }
        }
        CHECK(largest_error(as_doubles(y.read()), y_expected) < 1e-6);
        CHECK(largest_error(as_doubles(dx.read()), dx_expected) < 1e-6);
      }
    }
  }
}

TEST_CASE("cudnn: tensors of a layer have to fit together") {
  const Table& cuda = emulation();
  const DnnHandle handle;
  const TensorDescriptor tensor(channels_last(kShape)),
      half(channels_last(kShape), CUDNN_DATA_HALF);
  cudnnTensorDescriptor_t unset = nullptr;
  CHECK(cuda.cudnnCreateTensorDescriptor(&unset) == 0);
  DeviceArray<float> x(std::size_t{84}), y(std::size_t{84});
  const float one = 1, no = 0;
  const auto status = [&](cudnnTensorDescriptor_t a, const void* at, const float* alpha) {
    return cuda.cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_FAST, CUDNN_SOFTMAX_MODE_CHANNEL, alpha,
                                    a, at, &no, tensor, y.get());
  };
  CHECK(status(tensor, x.get(), &one) == CUDNN_STATUS_SUCCESS);
  CHECK(status(half, x.get(), &one) == CUDNN_STATUS_BAD_PARAM);
  CHECK(status(unset, x.get(), &one) == CUDNN_STATUS_BAD_PARAM);
  CHECK(status(tensor, nullptr, &one) == CUDNN_STATUS_BAD_PARAM);
  CHECK(status(tensor, x.get(), nullptr) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cuda.cudnnDestroyTensorDescriptor(unset) == 0);
  CHECK(status(unset, x.get(), &one) == CUDNN_STATUS_BAD_PARAM);
  CHECK(handle.stream.wait() == cudaSuccess);
}

}  // namespace
}  // namespace towerflow::cuda::testing
