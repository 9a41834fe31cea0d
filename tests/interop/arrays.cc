#include "tests/interop/arrays.h"

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/graph/error.h"
#include "data/byte_order.h"
#include "data/file.h"

namespace towerflow::interop {
namespace {

using nlohmann::json;

DType dtype_called(const std::string& name) {
  for (int code = 1; code <= static_cast<int>(DType::uint64); ++code) {
    const auto dtype = static_cast<DType>(code);
    if (dtype_size(dtype) > 0 && name == dtype_name(dtype)) return dtype;
  }
  throw ValueError("no dtype is called '" + name + "'");
}

/// Removes the first `count` bytes of `rest` and returns them.
std::string_view take(std::string_view& rest, std::uint64_t count) {
  if (count > rest.size()) throw ValueError("values.bin is shorter than list.json says");
  const std::string_view front = rest.substr(0, count);
  rest.remove_prefix(count);
  return front;
}

Array array_from(DType dtype, const std::vector<std::int64_t>& sizes, std::string_view& rest) {
  Array array(dtype, Shape(std::span<const std::int64_t>(sizes)));
  if (dtype != DType::string) {
    const std::string_view bytes = take(rest, array.bytes());
    if (!bytes.empty()) std::memcpy(array.raw(), bytes.data(), bytes.size());
    return array;
  }
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    const auto length = data::load_little<std::uint64_t>(bytes_of(take(rest, 8)));
    array.data<std::string>()[i] = take(rest, length);
  }
  return array;
}

void append_values(AtomicFile& file, const Array& array) {
  if (array.dtype() != DType::string) {
    file.append(std::string_view(static_cast<const char*>(array.raw()), array.bytes()));
    return;
  }
  for (const std::string& text : array.flat<std::string>()) {
    std::array<std::byte, 8> length{};
    data::store_little<std::uint64_t>(length, text.size());
    file.append(length);
    file.append(text);
  }
}

}  // namespace

std::vector<NamedArray> read_arrays(const std::filesystem::path& folder) {
  const json list = json::parse(read_file(folder / "list.json"));
  const std::string values = read_file(folder / "values.bin");
  std::string_view rest = values;
  std::vector<NamedArray> arrays;
  for (const json& one : list) {
    arrays.push_back(
        {one.at("name"), array_from(dtype_called(one.at("dtype")),
                                    one.at("shape").get<std::vector<std::int64_t>>(), rest)});
  }
  if (!rest.empty()) throw ValueError("values.bin is longer than list.json says");
  return arrays;
}

void write_arrays(const std::filesystem::path& folder, const std::vector<NamedArray>& arrays) {
  std::filesystem::create_directories(folder);
  json list = json::array();
  AtomicFile values(folder / "values.bin");
  for (const NamedArray& one : arrays) {
    list.push_back({{"name", one.name},
                    {"dtype", dtype_name(one.value.dtype())},
                    {"shape", one.value.shape().sizes()}});
    append_values(values, one.value);
  }
  values.commit();
  AtomicFile file(folder / "list.json");
  file.append(list.dump());
  file.commit();
}

}  // namespace towerflow::interop
