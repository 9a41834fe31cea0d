// Updates of variables: the bits of the rules on the CPU, for several variables in one launch.
#include <doctest/doctest.h>

#include <string>

#include "cuda/device/arguments.h"
#include "ops/update_rules.h"
#include "tests/cuda/close.h"
#include "tests/cuda/device_memory.h"
#include "tests/cuda/sorted.h"

using namespace towerflow;
using namespace towerflow::cuda;
using cuda::testing::DeviceMemory;
using cuda::testing::numbers;
using device::UpdateList;

namespace {

template <class T>
struct HostVariable {
  std::vector<T> variable, slots[3], gradient;
  explicit HostVariable(std::size_t n, unsigned seed)
      : variable(numbers<T>(n, -1, 1, seed)),
        slots{numbers<T>(n, 0.5, 1, seed + 1), numbers<T>(n, 1, 2, seed + 2),
              numbers<T>(n, 1, 2, seed + 3)},
        gradient(numbers<T>(n, -1, 1, seed + 4)) {}
};

template <class T, class Rule>
void upload_scalars(DeviceMemory& memory, const std::vector<T>& scalars, const void** addresses) {
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    addresses[i] = memory.upload(std::vector<T>{scalars[i]});
    if constexpr (requires { Rule::kStepScalar; }) {
      if (i == Rule::kStepScalar) {
        addresses[i] = memory.upload(std::vector<std::int64_t>{std::int64_t(scalars[i])});
      }
    }
  }
}

/// Updates one element as the CPU does.
template <class T, class Rule>
void update(const Rule& rule, HostVariable<T>& h, std::size_t i, T gradient) {
  if constexpr (Rule::kSlots == 0) rule(h.variable[i], gradient);
  if constexpr (Rule::kSlots == 1) rule(h.variable[i], h.slots[0][i], gradient);
  if constexpr (Rule::kSlots == 2) rule(h.variable[i], h.slots[0][i], h.slots[1][i], gradient);
  if constexpr (Rule::kSlots == 3) {
    rule(h.variable[i], h.slots[0][i], h.slots[1][i], h.slots[2][i], gradient);
  }
}

/// Updates some rows of a variable; the slices of a row are added up first.
template <class T, template <class> class RuleOf>
void check_rows(const std::string& name, std::vector<T> scalars) {
  using Rule = RuleOf<T>;
  constexpr std::size_t kRows = 9, kWidth = 5, kSlices = 30;
  CAPTURE(name);
  DeviceMemory memory;
  HostVariable<T> h(kRows * kWidth, 11);
  const auto values = numbers<T>(kSlices * kWidth, -1, 1, 5);
  std::vector<std::int32_t> ids(kSlices);
  for (std::size_t i = 0; i < kSlices; ++i) ids[i] = static_cast<std::int32_t>(i * i % kRows);
  const testing::Sorted sorted(memory, ids, kRows, "SortKeys_int32");
  device::UpdateRows u;
  u.variable = memory.upload(h.variable);
  for (std::size_t s = 0; s < Rule::kSlots; ++s) u.slots[s] = memory.upload(h.slots[s]);
  u.values = memory.upload(values);
  u.keys = sorted.keys;
  u.rows = sorted.rows;
  u.n = kSlices;
  u.width = kWidth;
  u.variable_rows = kRows;
  upload_scalars<T, Rule>(memory, scalars, u.scalars);
  memory.run("Rows_" + name, testing::launch_for(kSlices * kWidth), u);
  const Rule rule(scalars.data());
  for (std::size_t i = 0; i < kRows * kWidth; ++i) {
    T sum = 0;
    bool found = false;
    for (std::size_t k = 0; k < kSlices; ++k) {
      if (ids[k] != static_cast<int>(i / kWidth)) continue;
      sum += values[k * kWidth + i % kWidth];
      found = true;
    }
    if (found) update(rule, h, i, sum);
  }
  CHECK(memory.download(static_cast<const T*>(u.variable), kRows * kWidth) == h.variable);
  for (std::size_t s = 0; s < Rule::kSlots; ++s) {
    CHECK(memory.download(static_cast<const T*>(u.slots[s]), kRows * kWidth) == h.slots[s]);
  }
}

template <class T, template <class> class RuleOf>
void check(const std::string& name, std::vector<T> scalars) {
  using Rule = RuleOf<T>;
  CAPTURE(name);
  REQUIRE(scalars.size() == Rule::kScalars);
  DeviceMemory memory;
  UpdateList list;
  std::vector<HostVariable<T>> hosts;
  std::uint32_t blocks = 0;
  for (const std::size_t n : {1, 4096, 10001, 3, 8}) {
    // The last but one begins at an address that is not aligned.
    const std::size_t offset = n == 3 ? 1 : 0;
    hosts.emplace_back(n + offset, static_cast<unsigned>(n));
    auto& v = list.variables[list.count++];
    v.variable = memory.upload(hosts.back().variable) + offset;
    for (std::size_t s = 0; s < Rule::kSlots; ++s) {
      v.slots[s] = memory.upload(hosts.back().slots[s]) + offset;
    }
    v.gradient = memory.upload(hosts.back().gradient) + offset;
    v.elements = static_cast<std::int64_t>(n);
    v.first_block = blocks;
    blocks += static_cast<std::uint32_t>((n + device::kUpdateChunk - 1) / device::kUpdateChunk);
  }
  upload_scalars<T, Rule>(memory, scalars, list.scalars);
  memory.run(name, {dim3(blocks), dim3(256), 0}, list);

  const Rule rule(scalars.data());
  for (std::size_t j = 0; j < hosts.size(); ++j) {
    auto& h = hosts[j];
    const auto& v = list.variables[j];
    const std::size_t n = static_cast<std::size_t>(v.elements), offset = h.variable.size() - n;
    for (std::size_t i = offset; i < h.variable.size(); ++i) {
      update(rule, h, i, h.gradient[i]);
    }
    const auto same = [&](const void* device, const std::vector<T>& wanted) {
      const auto got = memory.download(static_cast<const T*>(device) - offset, n + offset);
      return got == wanted;
    };
    CHECK(same(v.variable, h.variable));
    for (std::size_t s = 0; s < Rule::kSlots; ++s) CHECK(same(v.slots[s], h.slots[s]));
  }
}

/// Of all elements, and of some rows.
template <class T, template <class> class RuleOf>
void check_both(const std::string& name, const std::vector<T>& scalars) {
  check<T, RuleOf>(name, scalars);
  check_rows<T, RuleOf>(name, scalars);
}

template <class T>
void check_all(const std::string& dtype) {
  check_both<T, MovingAverageRule>("MovingAverage_" + dtype, {T(0.1)});
  check_both<T, GradientDescentRule>("GradientDescent_" + dtype, {T(0.1)});
  check_both<T, MomentumRule>("Momentum_" + dtype, {T(0.1), T(0.9)});
  check_both<T, NesterovRule>("Nesterov_" + dtype, {T(0.1), T(0.9)});
  check_both<T, AdagradRule>("Adagrad_" + dtype, {T(0.1)});
  check_both<T, AdadeltaRule>("Adadelta_" + dtype, {T(0.1), T(0.9), T(1e-6)});
  check_both<T, RmsPropRule>("RmsProp_" + dtype, {T(0.1), T(0.9), T(0.5), T(1e-6)});
  // ms - mg^2 stays positive: the slots of the test are in [0.5, 1] and [1, 2].
  check_both<T, CenteredRmsPropRule>("CenteredRmsProp_" + dtype, {T(0.1), T(0.9), T(0.5), T(1e-6)});
  check_both<T, AdamRule>("Adam_" + dtype, {T(0.9), T(0.999), T(0.01), T(0.9), T(0.999), T(1e-8)});
  check_both<T, AdagradDualAveragingRule>("AdagradDualAveraging_" + dtype,
                                          {T(0.1), T(0.01), T(0.02), T(7)});
  // With the usual power, whose root is taken, and with another.
  check_both<T, FtrlRule>("Ftrl_" + dtype, {T(0.1), T(0.01), T(0.02), T(-0.5)});
  check_both<T, FtrlRule>("Ftrl_" + dtype, {T(0.1), T(0.01), T(0.02), T(-0.3)});
  check_both<T, FtrlShrinkageRule>("FtrlShrinkage_" + dtype,
                                   {T(0.1), T(0.01), T(0.02), T(0.03), T(-0.5)});
  check_both<T, ProximalGradientDescentRule>("ProximalGradientDescent_" + dtype,
                                             {T(0.1), T(0.5), T(0.02)});
  check_both<T, ProximalAdagradRule>("ProximalAdagrad_" + dtype, {T(0.1), T(0.5), T(0.02)});
}

}  // namespace

TEST_SUITE("cuda update") {
  TEST_CASE("rules give the bits of the CPU, float32") { check_all<float>("float32"); }
  TEST_CASE("rules give the bits of the CPU, float64") { check_all<double>("float64"); }

  TEST_CASE("an index that is no row drops all rows, and a dense update writes nothing") {
    DeviceMemory memory;
    constexpr std::int64_t kRows = 5;
    for (const std::int64_t wrong : {-1, 5, 4}) {
      CAPTURE(wrong);
      const std::vector<std::int64_t> ids{3, 0, wrong, 3};
      const bool fails = wrong != 4;
      auto *keys = memory.allocate<std::uint32_t>(4), *rows = memory.allocate<std::uint32_t>(4);
      auto* error = memory.upload(std::vector<device::DataError>{{}});
      memory.run("RowKeys_int64", testing::launch_for(4),
                 static_cast<const std::int64_t*>(memory.upload(ids)), keys, rows, error,
                 std::int64_t{4}, kRows);
      const auto* found = static_cast<const device::DataError*>(error);
      memory.run("DropKeys", testing::launch_for(4), found, keys, std::int64_t{4}, kRows);
      CHECK(memory.download(keys, 4) ==
            (fails ? std::vector<std::uint32_t>(4, 5) : std::vector<std::uint32_t>{3, 0, 4, 3}));
      CHECK(memory.download(rows, 4) == std::vector<std::uint32_t>{0, 1, 2, 3});
      const device::DataError made = memory.download(error, 1)[0];
      CHECK(made.found == (fails ? 1 : 0));
      if (fails) {
        CHECK(made.value() == wrong);
        CHECK(made.position() == 2);
      }
      UpdateList list;
      list.count = 1;
      list.variables[0].variable = memory.upload(std::vector<float>{1, 2});
      list.variables[0].gradient = memory.upload(std::vector<float>{10, 20});
      list.variables[0].elements = 2;
      list.scalars[0] = memory.upload(std::vector<float>{0.5F});
      list.unless = found;
      memory.run("GradientDescent_float32", {dim3(1), dim3(256), 0}, list);
      CHECK(memory.download(static_cast<const float*>(list.variables[0].variable), 2) ==
            (fails ? std::vector<float>{1, 2} : std::vector<float>{-4, -8}));
    }
  }
}
