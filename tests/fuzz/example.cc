// Serialized tf.train.Example messages.
#include "data/example.h"

#include <array>
#include <memory>
#include <vector>

#include "tests/fuzz/target.h"

namespace towerflow::fuzz {
namespace {

using data::FixedLenFeatures;

constexpr std::array kKeys{"ints", "floats", "bytes"};
constexpr std::array kDTypes{DType::int64, DType::float32, DType::string};

/// Owns the memory of one feature's values.
struct Values {
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string> strings;

  void* allocate(DType dtype, std::int64_t count) {
    const auto size = static_cast<std::size_t>(count);
    if (dtype == DType::int64) return resized(ints, size);
    if (dtype == DType::float32) return resized(floats, size);
    return resized(strings, size);
  }

 private:
  template <class T>
  static void* resized(std::vector<T>& values, std::size_t size) {
    values.resize(size);
    return values.data();
  }
};

void parse_variable(std::string_view bytes, const data::VariableFeatures& features) {
  std::vector<Values> values(features.size());
  data::parse_variable(bytes, features, [&](std::size_t index, std::int64_t count) {
    require(count >= 0 && static_cast<std::uint64_t>(count) <= bytes.size(),
            "an Example has no more values than bytes");
    return values[index].allocate(features[index].second.dtype, count);
  });
}

/// Returns the specification of three features; only the strings have a default.
FixedLenFeatures fixed_features() {
  return {{"ints", {Shape{3}, DType::int64}},
          {"floats", {Shape{2, 2}, DType::float32}},
          {"bytes", {Shape{}, DType::string, Array::scalar<std::string>("none")}}};
}

void read_example(std::string_view bytes) {
  static const data::ExampleParser all(fixed_features());
  std::vector<Array> single, batch;
  const bool parsed = succeeds([&] { single = all.parse_single(bytes); });
  const std::vector<std::string> twice(2, std::string(bytes));
  require(succeeds([&] { batch = all.parse(twice); }) == parsed,
          "a batch is parsed as its Examples are");
  require(!parsed || (single.size() == 3 && batch[0].elements() == 2 * single[0].elements()),
          "each feature has its shape");
  // Each feature separately, as a type chosen by the input's size, and not as all types, since
  // errors are slow.
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    const DType dtype = kDTypes[(i + bytes.size()) % kDTypes.size()];
    succeeds([&] { parse_variable(bytes, {{kKeys[i], {dtype}}}); });
  }
  succeeds([&] {
    parse_variable(bytes, {{"ints", {DType::int64}},
                           {"floats", {DType::float32}},
                           {"bytes", {DType::string}},
                           {"absent", {DType::string}}});
  });
}

void mutate_example(std::string& bytes, std::size_t most, Random&, const Mutate& plain) {
  plain(bytes, most);
}

}  // namespace

const Target kExample{"example", read_example, mutate_example};

}  // namespace towerflow::fuzz
