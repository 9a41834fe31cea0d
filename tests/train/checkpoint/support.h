#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/graph/array.h"
#include "tests/data/support.h"
#include "train/checkpoint/bundle_reader.h"
#include "train/checkpoint/bundle_writer.h"

namespace towerflow::testing {

inline const std::string kGolden = "tests/train/checkpoint/golden/";

using NamedArrays = std::map<std::string, Array>;

/// Returns an array whose byte j is (37 j + 11) mod 251, or j mod 2 for bool, as make_golden.py
/// makes it.
inline Array pattern(DType dtype, Shape shape) {
  Array array(dtype, std::move(shape));
  auto* bytes = static_cast<unsigned char*>(array.raw());
  for (std::size_t j = 0; j < array.bytes(); ++j)
    bytes[j] = static_cast<unsigned char>(dtype == DType::bool_ ? j % 2 : (37 * j + 11) % 251);
  return array;
}

inline const std::vector<DType>& numeric_dtypes() {
  static const std::vector<DType> dtypes = {
      DType::float16, DType::bfloat16, DType::float32,   DType::float64,    DType::int8,
      DType::int16,   DType::int32,    DType::int64,     DType::uint8,      DType::uint16,
      DType::uint32,  DType::uint64,   DType::complex64, DType::complex128, DType::bool_};
  return dtypes;
}

/// Returns the contents of golden/all.ckpt.
inline NamedArrays golden_tensors() {
  NamedArrays named;
  for (const DType dtype : numeric_dtypes())
    named[std::string("dtype/") + dtype_name(dtype)] = pattern(dtype, {2, 3});
  named["scalar"] = pattern(DType::float32, {});
  named["empty"] = pattern(DType::float32, {0, 3});
  named["rank5"] = pattern(DType::int16, {1, 2, 1, 3, 1});
  named["a"] = pattern(DType::int32, {1});
  named["a/b"] = pattern(DType::int32, {2});
  named["a.b"] = pattern(DType::int32, {3});
  named["A"] = pattern(DType::int32, {4});
  named["string/matrix"] = Array::of<std::string>(
      {2, 2},
      std::vector<std::string>{"", std::string(300, 'x'), std::string("a\0b\xff", 4), "end"});
  named["string/scalar"] = Array::scalar<std::string>("one");
  named["string/empty"] = Array(DType::string, {0});
  return named;
}

inline void write_bundle(const std::filesystem::path& prefix, const NamedArrays& named) {
  TensorBundleWriter writer(prefix);
  for (const auto& [name, value] : named) writer.add(name, value);
  writer.finish();
}

inline NamedArrays read_bundle(const std::filesystem::path& prefix) {
  const TensorBundleReader reader(prefix);
  NamedArrays named;
  for (const TensorInfo& info : reader.tensors()) {
    Array value = reader.read(info.name);
    CHECK(value.dtype() == info.dtype);
    CHECK(value.shape() == info.shape);
    named[info.name] = std::move(value);
  }
  return named;
}

inline std::filesystem::path index_file(const std::filesystem::path& prefix) {
  return prefix.string() + ".index";
}
inline std::filesystem::path data_file(const std::filesystem::path& prefix) {
  return prefix.string() + ".data-00000-of-00001";
}

}  // namespace towerflow::testing
