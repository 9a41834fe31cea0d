// Writing TFRecord files and Examples for TensorFlow and reading TensorFlow's.
#include <map>
#include <nlohmann/json.hpp>

#include "core/graph/scopes.h"
#include "core/runtime/session.h"
#include "data/example.h"
#include "data/parse_example.h"
#include "data/record_reader.h"
#include "data/tfrecord.h"
#include "ops/data_flow/queue.h"
#include "tests/interop/arrays.h"
#include "tests/interop/program.h"

namespace towerflow::interop {
namespace {

using nlohmann::json;

data::Compression compression_called(const std::string& name) {
  if (name == "none") return data::Compression::none;
  if (name == "gzip") return data::Compression::gzip;
  if (name == "zlib") return data::Compression::zlib;
  throw ValueError("no compression is called '" + name + "'");
}

Array strings(const std::vector<std::string>& values) {
  return Array::of<std::string>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

template <class T>
std::vector<T> values_of(const Array& array) {
  const auto flat = array.flat<T>();
  return {flat.begin(), flat.end()};
}

void add_feature(data::ExampleBuilder& example, const std::string& name, const Array& values) {
  switch (values.dtype()) {
    case DType::int64:
      example.int64_list(name, values_of<std::int64_t>(values));
      return;
    case DType::float32:
      example.float_list(name, values_of<float>(values));
      return;
    default:
      example.bytes_list(name, values_of<std::string>(values));
  }
}

DType dtype_of(const json& feature) {
  const std::string name = feature.at("dtype");
  if (name == "int64") return DType::int64;
  return name == "float32" ? DType::float32 : DType::string;
}

Array default_of(const json& feature, DType dtype, const Shape& shape) {
  const json& values = feature.at("default");
  if (dtype == DType::int64) return Array::of(shape, values.get<std::vector<std::int64_t>>());
  if (dtype == DType::float32) return Array::of(shape, values.get<std::vector<float>>());
  return Array::of(shape, values.get<std::vector<std::string>>());
}

/// Decodes {"key": {"kind": "fixed", "dtype": "int64", "shape": [2], "default": [1, 2]}, ...}. The
/// kinds "variable" and "sequence" have no default, "variable" also no shape.
MixedFeatures features_of(const json& spec) {
  MixedFeatures features;
  for (const auto& [key, feature] : spec.items()) {
    const DType dtype = dtype_of(feature);
    if (feature.at("kind") == "variable") {
      features.emplace(key, VarLenFeature{dtype});
      continue;
    }
    const auto sizes = feature.at("shape").get<std::vector<std::int64_t>>();
    const Shape shape{std::span<const std::int64_t>(sizes)};
    if (feature.at("kind") == "sequence") {
      features.emplace(key, FixedLenSequenceFeature{shape, dtype, true});
      continue;
    }
    FixedLenFeature fixed{shape, dtype};
    if (feature.contains("default")) fixed.default_value = default_of(feature, dtype, shape);
    features.emplace(key, fixed);
  }
  return features;
}

}  // namespace

void write_records(const Arguments& arguments) {
  const Array records = read_arrays(arguments[0]).at(0).value;
  data::TFRecordWriter writer(arguments[1], {.compression = compression_called(arguments[2])});
  for (const std::string& record : records.flat<std::string>()) writer.write(record);
  writer.close();
}

void read_records(const Arguments& arguments) {
  data::TFRecordReader reader(arguments[0], {.compression = compression_called(arguments[1])});
  std::vector<std::string> records;
  try {
    while (auto record = reader.next()) records.push_back(std::move(*record));
  } catch (const Error&) {
    write_arrays(arguments[2], {{"records", strings(records)}});
    throw;
  }
  write_arrays(arguments[2], {{"records", strings(records)}});
}

void write_examples(const Arguments& arguments) {
  std::map<int, data::ExampleBuilder> examples;
  for (const auto& [name, value] : read_arrays(arguments[0])) {
    const std::size_t slash = name.find('/');
    add_feature(examples[std::stoi(name.substr(0, slash))], name.substr(slash + 1), value);
  }
  std::vector<std::string> serialized;
  for (const auto& [number, example] : examples) serialized.push_back(example.serialize());
  write_arrays(arguments[1], {{"examples", strings(serialized)}});
}

/// Writes `number/key` for each Example and feature; for a variable-length feature
/// `number/key/indices` and so on. SPEC is the name of a JSON file.
void parse_examples(const Arguments& arguments) {
  Graph graph;
  const auto guard = graph.as_default();
  const FIFOQueue files(1, {string}, {.shapes = {{}}});
  const TFRecordReader reader({.compression = compression_called(arguments[1])});
  const MixedFeatures features = features_of(json::parse(read_file(arguments[2])));
  const auto parsed = parse_single_example(reader.read(files).value, features);
  std::vector<std::string> names;
  std::vector<Fetch> fetches;
  for (const auto& [key, tensor] : parsed.tensors()) {
    names.push_back(key);
    fetches.emplace_back(tensor);
  }
  for (const auto& [key, sparse] : parsed.sparse_tensors()) {
    names.insert(names.end(), {key + "/indices", key + "/values", key + "/dense_shape"});
    for (const Tensor& part : {sparse.indices, sparse.values, sparse.dense_shape})
      fetches.emplace_back(part);
  }
  Session session;
  session.run(files.enqueue({Operand(arguments[0])}));
  session.run(files.close());
  std::vector<NamedArray> out;
  try {
    for (int number = 0;; ++number) {
      const std::vector<Array> got = session.run(std::span<const Fetch>(fetches));
      for (std::size_t i = 0; i < got.size(); ++i)
        out.push_back({std::to_string(number) + "/" + names[i], got[i]});
    }
  } catch (const errors::OutOfRangeError&) {
    write_arrays(arguments[3], out);
  }
}

}  // namespace towerflow::interop
