#pragma once

#include <string>
#include <vector>

#include "core/runtime/session.h"
#include "data/example.h"
#include "data/tfrecord.h"
#include "tests/data/support.h"

namespace towerflow::testing {

/// Returns a serialized Example with a label and three bytes that depend on it.
inline std::string example(std::int64_t label) {
  const char a = static_cast<char>(label), b = static_cast<char>(label >> 8);
  return data::ExampleBuilder()
      .int64("label", label)
      .bytes("raw", std::string{a, b, 'z'})
      .serialize();
}

/// Writes a TFRecord file of Examples with the labels `first` .. `first + count - 1`.
inline void write_examples(const std::filesystem::path& path, std::int64_t first,
                           std::int64_t count,
                           data::Compression compression = data::Compression::none) {
  data::TFRecordWriter writer(path, {.compression = compression});
  for (std::int64_t i = 0; i < count; ++i) writer.write(example(first + i));
  writer.close();
}

template <class T>
std::vector<T> values(const Array& array) {
  const auto flat = array.flat<T>();
  return {flat.begin(), flat.end()};
}

}  // namespace towerflow::testing
