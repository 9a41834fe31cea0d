// Softmax, its gradients, and the cross entropies.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <string>

#include "tests/cuda/close.h"
#include "tests/cuda/device_memory.h"

using namespace towerflow::cuda;
using testing::check_values;
using testing::DeviceMemory;
using testing::numbers;
using i64 = std::int64_t;

namespace {

/// The logits of some rows, and what comes of them in double.
struct Rows {
  std::size_t rows, classes;
  std::vector<double> logits;
  double log_sum(std::size_t row) const {
    double sum = 0;
    for (std::size_t j = 0; j < classes; ++j) sum += std::exp(logits[row * classes + j]);
    return std::log(sum);
  }
  double log_softmax(std::size_t i) const { return logits[i] - log_sum(i / classes); }
};

template <class T>
void check(std::size_t rows, std::size_t classes, int group, const std::string& dtype) {
  CAPTURE(classes);
  CAPTURE(group);
  DeviceMemory memory;
  const std::size_t n = rows * classes;
  const auto logits = numbers<T>(n, -5, 5);
  const Rows expected{rows, classes, {logits.begin(), logits.end()}};
  const host::Launch launch{dim3(2), dim3(256), 0};
  const i64 r = static_cast<i64>(rows), c = static_cast<i64>(classes);
  const T* x = memory.upload(logits);
  T *y = memory.allocate<T>(n), *z = memory.allocate<T>(n), *dx = memory.allocate<T>(n);

  memory.run("Softmax_" + dtype, launch, x, y, r, c, group);
  check_values(memory.download(y, n), [&](auto i) { return std::exp(expected.log_softmax(i)); });
  memory.run("LogSoftmax_" + dtype, launch, x, z, r, c, group);
  check_values(memory.download(z, n), [&](auto i) { return expected.log_softmax(i); });

  const auto dys = numbers<T>(n, -1, 1, 7);
  const T* dy = memory.upload(dys);
  const auto sum = [&](std::size_t row, bool times_y) {
    double total = 0;
    for (std::size_t j = row * classes; j < (row + 1) * classes; ++j) {
      total += static_cast<double>(dys[j]) * (times_y ? std::exp(expected.log_softmax(j)) : 1);
    }
    return total;
  };
  memory.run("SoftmaxGrad_" + dtype, launch, dy, static_cast<const T*>(y), dx, r, c, group);
  check_values(memory.download(dx, n), [&](std::size_t i) {
    return (static_cast<double>(dys[i]) - sum(i / classes, true)) *
           std::exp(expected.log_softmax(i));
  });
  memory.run("LogSoftmaxGrad_" + dtype, launch, dy, static_cast<const T*>(z), dx, r, c, group);
  check_values(memory.download(dx, n), [&](std::size_t i) {
    return static_cast<double>(dys[i]) -
           sum(i / classes, false) * std::exp(expected.log_softmax(i));
  });

  std::vector<std::int32_t> labels(rows);
  for (std::size_t i = 0; i < rows; ++i) labels[i] = static_cast<std::int32_t>(i * 7 % classes);
  T* loss = memory.allocate<T>(rows);
  device::DataError* error = memory.upload(std::vector<device::DataError>{{}});
  memory.run("SparseSoftmaxCrossEntropyWithLogits_" + dtype + "_int32", launch, x,
             static_cast<const std::int32_t*>(memory.upload(labels)), loss, dx, error, r, c, group);
  CHECK(memory.download(error, 1)[0].found == 0);
  check_values(memory.download(loss, rows), [&](std::size_t i) {
    return -expected.log_softmax(i * classes + static_cast<std::size_t>(labels[i]));
  });
  check_values(memory.download(dx, n), [&](std::size_t i) {
    const bool right = static_cast<std::size_t>(labels[i / classes]) == i % classes;
    return std::exp(expected.log_softmax(i)) - (right ? 1 : 0);
  });

  const auto soft = numbers<T>(n, 0, 1, 9);
  memory.run("SoftmaxCrossEntropyWithLogits_" + dtype, launch, x,
             static_cast<const T*>(memory.upload(soft)), loss, dx, r, c, group);
  check_values(memory.download(loss, rows), [&](std::size_t row) {
    double total = 0;
    for (std::size_t j = row * classes; j < (row + 1) * classes; ++j) {
      total -= static_cast<double>(soft[j]) * expected.log_softmax(j);
    }
    return total;
  });
  check_values(memory.download(dx, n), [&](std::size_t i) {
    return std::exp(expected.log_softmax(i)) - static_cast<double>(soft[i]);
  });
}

}  // namespace

TEST_SUITE("cuda softmax") {
  TEST_CASE("softmax, gradients and cross entropies, float32") {
    check<float>(37, 10, 32, "float32");
    check<float>(3, 1, 32, "float32");
    check<float>(5, 70, 32, "float32");
    check<float>(5, 1001, 256, "float32");
  }
  TEST_CASE("softmax, gradients and cross entropies, float64") {
    check<double>(9, 10, 32, "float64");
    check<double>(3, 300, 256, "float64");
  }

  TEST_CASE("large logits do not overflow") {
    DeviceMemory memory;
    const float* x = memory.upload(std::vector<float>{1000, 1001, -1000});
    float* y = memory.allocate<float>(3);
    memory.run("Softmax_float32", {dim3(1), dim3(256), 0}, x, y, i64(1), i64(3), 32);
    const auto values = memory.download(y, 3);
    CHECK(values[1] == doctest::Approx(1 / (1 + std::exp(-1))));
    CHECK(values[2] == 0);
  }

  TEST_CASE("a label outside of the classes gives NaN and an error") {
    DeviceMemory memory;
    const float* x = memory.upload(numbers<float>(9));
    const i64* labels = memory.upload(std::vector<i64>{2, 3, -1});
    float *loss = memory.allocate<float>(3), *dx = memory.allocate<float>(9);
    device::DataError* error = memory.upload(std::vector<device::DataError>{{}});
    memory.run("SparseSoftmaxCrossEntropyWithLogits_float32_int64", {dim3(1), dim3(256), 0}, x,
               labels, loss, dx, error, i64(3), i64(3), 32);
    const device::DataError found = memory.download(error, 1)[0];
    CHECK(found.found == 1);
    CHECK(found.value() == 3);
    CHECK(found.position() == 1);
    CHECK(memory.download(loss, 3)[0] > 0);
    CHECK(std::isnan(memory.download(loss, 3)[1]));
    CHECK(std::isnan(memory.download(dx, 9)[8]));
    CHECK_FALSE(std::isnan(memory.download(dx, 9)[2]));
  }

  TEST_CASE("16-bit numbers are computed as float") {
    DeviceMemory memory;
    // Two rows of 300 logits, all 0 but one of 4: sums of bfloat16 would stop at 256.
    const std::size_t classes = 300;
    std::vector<std::uint16_t> logits(2 * classes, 0);
    logits[7] = logits[classes + 9] = 0x4080;
    const auto* x = memory.upload(logits);
    auto *y = memory.allocate<std::uint16_t>(2 * classes),
         *loss = memory.allocate<std::uint16_t>(2);
    const host::Launch launch{dim3(1), dim3(256), 0};
    const auto value = [](std::uint16_t bits) {
      return double{std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16)};
    };
    const double sum = 299 + std::exp(4);
    for (const int group : {32, 256}) {
      memory.run("Softmax_bfloat16", launch, x, y, i64(2), i64(classes), group);
      const auto got = memory.download(y, 2 * classes);
      CHECK(value(got[7]) == doctest::Approx(std::exp(4) / sum).epsilon(0.004));
      CHECK(value(got[classes]) == doctest::Approx(1 / sum).epsilon(0.004));
    }
    const auto* labels = memory.upload(std::vector<std::int32_t>{7, 8});
    device::DataError* error = memory.upload(std::vector<device::DataError>{{}});
    memory.run("SparseSoftmaxCrossEntropyWithLogits_bfloat16_int32", launch, x, labels, loss, y,
               error, i64(2), i64(classes), 32);
    CHECK(value(memory.download(loss, 2)[0]) == doctest::Approx(std::log(sum) - 4).epsilon(0.004));
    CHECK(value(memory.download(loss, 2)[1]) == doctest::Approx(std::log(sum)).epsilon(0.004));
    CHECK(value(memory.download(y, classes)[7]) ==
          doctest::Approx(std::exp(4) / sum - 1).epsilon(0.004));
  }
}
