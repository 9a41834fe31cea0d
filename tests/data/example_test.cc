#include "data/example.h"

#include <fmt/format.h>

#include <random>

#include "data/example.pb.h"
#include "data/file.h"
#include "data/tfrecord.h"
#include "tests/data/support.h"

namespace towerflow::data {
namespace {

using testing::thrown;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (true) {
    const std::size_t end = text.find(separator, start);
    parts.push_back(text.substr(start, end - start));
    if (end == std::string::npos) return parts;
    start = end + 1;
  }
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

/// Returns an array in the form in which tests/data/fixtures/make.py prints results.
std::string values_text(const Array& array) {
  std::vector<std::string> parts;
  for (std::int64_t i = 0; i < array.elements(); ++i)
    if (array.dtype() == int64)
      parts.push_back(std::to_string(array.data<std::int64_t>()[i]));
    else if (array.dtype() == float32)
      parts.push_back(fmt::format("{:.1f}", array.data<float>()[i]));
    else
      parts.push_back(array.data<std::string>()[i]);
  return fmt::format("ok {}", fmt::join(parts, ","));
}

FixedLenFeature spec_of(const std::vector<std::string>& row) {
  FixedLenFeature spec;
  spec.dtype = row[1] == "int64" ? int64 : row[1] == "float32" ? float32 : string;
  std::vector<Dim> dims;
  if (!row[2].empty())
    for (const std::string& size : split(row[2], ',')) dims.emplace_back(std::stoi(size));
  spec.shape = Shape(dims);
  if (row[3] == "-") return spec;
  Array value(spec.dtype, spec.shape);
  const auto parts = split(row[3], ',');
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (spec.dtype == int64)
      value.data<std::int64_t>()[i] = std::stoll(parts[i]);
    else
      value.data<float>()[i] = std::stof(parts[i]);
  spec.default_value = value;
  return spec;
}

std::string values_or_error(const auto& parse) {
  try {
    return values_text(parse());
  } catch (const Error& error) {
    return std::string(error.kind()) + ": " + error.message();
  }
}

TEST_CASE("example: what TensorFlow answers, values and error texts") {
  std::size_t rows = 0, values = 0;
  for (const std::string& line : split(read_file("tests/data/fixtures/examples.tsv"), '\n')) {
    if (line.empty()) continue;
    const auto row = split(line, '\t');
    REQUIRE(row.size() == 7);
    ++rows;
    CAPTURE(row[0]);
    const std::string serialized = from_hex(row[4]);
    const ExampleParser parser({{"k", spec_of(row)}});
    const std::string single =
        values_or_error([&] { return parser.parse_single(serialized).at(0); });
    const std::vector<std::string> both = {serialized, serialized};
    const std::string batch = values_or_error([&] { return parser.parse(both).at(0); });
    values += single.starts_with("ok") ? 1 : 0;
    if (row[0] == "packed in two") {
      // A packed field may be split (protobuf encoding guide). TensorFlow reads only the first
      // part and reports a wrong count.
      CHECK(single == "ok 5,6,7");
    } else if (row[0] == "two lists" || row[0] == "half a float") {
      // TensorFlow reports the count of what it could read; Towerflow reports the damage.
      CHECK(batch ==
            "InvalidArgumentError: Name: <unknown>, Key: k, Index: 0.  Can't parse "
            "serialized Example.");
      CHECK(row[6].starts_with("InvalidArgumentError: Name: <unknown>, Key: k, Index: 0.  "));
    } else if (row[0] == "cut") {
      CHECK(batch.starts_with(row[6]));  // TensorFlow appends the bytes, which contain a line break
      CHECK(single.starts_with(row[5]));
    } else {
      CHECK(batch == row[6]);
      // For a wrong count TensorFlow's parse_single_example reports "Some int64_list slice was not
      // parsed".
      if (row[5].find("slice was not parsed") != std::string::npos)
        CHECK(single.find("Key: k.  Number of ") != std::string::npos);
      else if (row[5].find("Parsing int64_list failed") != std::string::npos)
        CHECK(single == "InvalidArgumentError: Key: k.  Can't parse serialized Example.");
      else
        CHECK(single == row[5]);
    }
  }
  CHECK(rows == 40);
  CHECK(values == 19);
}

TEST_CASE("example: several features, shapes, names") {
  ExampleBuilder builder;
  builder.int64("label", 3).bytes("image_raw", "pixels").float_list("box", {1, 2, 3, 4});
  const std::string first = builder.serialize();
  builder.int64("label", 5).bytes("image_raw", "others");
  const std::vector<std::string> batch = {first, builder.serialize()};
  const ExampleParser parser({{"box", {Shape{2, 2}, float32}},
                              {"label", {Shape{}, int64}},
                              {"image_raw", {Shape{1}, string}},
                              {"weight", {Shape{}, float32, Array::scalar(0.5F)}},
                              {"note", {Shape{}, string, Array::scalar(std::string("none"))}}});
  const auto one = parser.parse_single(first);
  REQUIRE(one.size() == 5);
  CHECK(one[0] == Array::of<float>(Shape{2, 2}, std::vector<float>{1, 2, 3, 4}));
  CHECK(one[1].item<std::int64_t>() == 3);
  CHECK(one[1].shape() == Shape{});
  CHECK(one[2].item<std::string>() == "pixels");
  CHECK(one[3].item<float>() == 0.5F);
  CHECK(one[4].item<std::string>() == "none");
  const auto two = parser.parse(batch);
  CHECK(two[0].shape() == Shape{2, 2, 2});
  CHECK(two[1] == Array::of<std::int64_t>(Shape{2}, std::vector<std::int64_t>{3, 5}));
  CHECK(two[2].shape() == Shape{2, 1});
  CHECK(two[2].data<std::string>()[1] == "others");
  CHECK(two[3] == Array::of<float>(Shape{2}, std::vector<float>{0.5F, 0.5F}));
  CHECK(two[4].data<std::string>()[1] == "none");
  CHECK(parser.parse({})[0].shape() == Shape{0, 2, 2});

  const ExampleParser strict({{"absent", {Shape{}, int64}}});
  const std::vector<std::string> names = {"first.jpg", "second.jpg"};
  CHECK(thrown([&] { strict.parse(batch, names); }) ==
        "InvalidArgumentError: Name: first.jpg, Feature: absent (data type: int64) is required but "
        "could not be found.");
  CHECK(thrown([&] { strict.parse(batch, std::span(names).first(1)); }) ==
        "InvalidArgumentError: Expected len(names) == len(serialized), but got: 1 vs. 2");
  const ExampleParser wrong({{"label", {Shape{2}, int64}}});
  const std::vector<std::string> second = {ExampleBuilder().int64_list("label", {1, 2}).serialize(),
                                           first};
  CHECK(thrown([&] { wrong.parse(second, names); }) ==
        "InvalidArgumentError: Name: second.jpg, Key: label, Index: 1.  Number of int64 values != "
        "expected.  Values size: 1 but output shape: [2]");
}

TEST_CASE("example: specifications that cannot be") {
  CHECK(thrown([] { ExampleParser({}); }) == "ValueError: features cannot be empty");
  CHECK(thrown([] {
          ExampleParser({{"a", {Shape{}, int64}}, {"a", {Shape{}, int64}}});
        }) == "ValueError: feature a is requested twice");
  CHECK(thrown([] {
          ExampleParser({{"label", {Shape{}, int32}}});
        }) ==
        "TypeError: feature label has dtype int32, which is not in the list of allowed values: "
        "float32, int64, string");
  CHECK(thrown([] {
          ExampleParser({{"label", {Shape{None}, int64}}});
        }) == "ValueError: feature label has the shape (?,), which is not fully known");
  CHECK(thrown([] {
          ExampleParser({{"label", {Shape::unknown(), int64}}});
        }) == "ValueError: feature label has the shape <unknown>, which is not fully known");
  CHECK(thrown([] {
          ExampleParser({{"x", {Shape{}, int64, Array::scalar(1.0F)}}});
        }) == "TypeError: feature x has dtype int64 and a default value of dtype float32");
  CHECK(thrown([] {
          ExampleParser({{"x", {Shape{2}, int64, Array::scalar(std::int64_t{1})}}});
        }) ==
        "ValueError: feature x: cannot reshape a default value with 1 elements to shape [2] (2 "
        "elements)");
}

TEST_CASE("example: bytes that are none, shown shortened and printable") {
  const ExampleParser parser({{"k", {Shape{}, int64}}});
  const std::string bad = std::string("~'\\\n\0\xff", 6) + std::string(100, 'x');
  CHECK(thrown([&] { parser.parse_single(bad); }) ==
        "InvalidArgumentError: Could not parse example input, value: '~\\x27\\x5c\\x0a\\x00\\xff" +
            std::string(26, 'x') + "'... (106 bytes)");
}

TEST_CASE("example: the builder writes what protobuf's own classes read") {
  ExampleBuilder builder;
  builder.int64_list("ints", {-1, 0, INT64_MAX}).float_list("floats", {0.5F, -2});
  builder.bytes_list("strings", {"a", std::string("\0b", 2)}).int64("again", 1).int64("again", 2);
  const std::string serialized = builder.serialize();
  proto::Example example;
  REQUIRE(example.ParseFromString(serialized));
  const auto& features = example.features().feature();
  CHECK(features.size() == 4);
  CHECK(features.at("ints").int64_list().value(2) == INT64_MAX);
  CHECK(features.at("floats").float_list().value(1) == -2);
  CHECK(features.at("strings").bytes_list().value(1) == std::string("\0b", 2));
  CHECK(features.at("again").int64_list().value_size() == 1);
  CHECK(features.at("again").int64_list().value(0) == 2);
  // The serialization does not depend on the order of the calls.
  ExampleBuilder other;
  other.int64("again", 2).bytes_list("strings", {"a", std::string("\0b", 2)});
  other.float_list("floats", {0.5F, -2}).int64_list("ints", {-1, 0, INT64_MAX});
  CHECK(other.serialize() == serialized);
  other.clear();
  CHECK(other.serialize().empty());
}

/// Checks the parser's arrays against those of protobuf's parser for the same bytes.
void check_against_protobuf(const std::string& bytes, const std::vector<Array>& arrays) {
  proto::Example example;
  // protobuf rejects keys that are not UTF-8; TensorFlow accepts them.
  if (!example.ParseFromString(bytes)) return;
  const auto& features = example.features().feature();
  REQUIRE(features.contains("ints"));
  const auto& ints = features.at("ints").int64_list().value();
  REQUIRE(std::vector<std::int64_t>(ints.begin(), ints.end()) ==
          std::vector<std::int64_t>(arrays[0].flat<std::int64_t>().begin(),
                                    arrays[0].flat<std::int64_t>().end()));
  const auto& floats = features.at("floats").float_list().value();
  REQUIRE(floats.size() == arrays[1].elements());
  REQUIRE(std::memcmp(floats.data(), arrays[1].raw(), arrays[1].bytes()) == 0);
  const auto& strings = features.at("strings").bytes_list().value();
  REQUIRE(std::vector<std::string>(strings.begin(), strings.end()) ==
          std::vector<std::string>(arrays[2].flat<std::string>().begin(),
                                   arrays[2].flat<std::string>().end()));
}

TEST_CASE("example: 50,000 mutated messages end in an error or in protobuf's values") {
  const std::string whole = ExampleBuilder()
                                .int64_list("ints", {-1, 300})
                                .float_list("floats", {0.5F, -2, 7})
                                .bytes_list("strings", {"abc", "d"})
                                .serialize();
  const ExampleParser parser({{"ints", {Shape{2}, int64}},
                              {"floats", {Shape{3}, float32}},
                              {"strings", {Shape{2}, string}}});
  check_against_protobuf(whole, parser.parse_single(whole));
  std::mt19937 random(1);
  std::size_t good = 0, refused = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string bytes = whole;
    const auto mutations = 1 + random() % 3;
    for (unsigned m = 0; m < mutations; ++m) {
      const std::size_t at = random() % (bytes.size() + 1);
      switch (random() % 4) {
        case 0:
          if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
          break;
        case 1:
          if (at < bytes.size()) bytes[at] = static_cast<char>(random());
          break;
        case 2:
          bytes.insert(at, 1, static_cast<char>(random()));
          break;
        default:
          bytes.erase(at, 1 + random() % 3);
      }
    }
    std::vector<Array> arrays;
    try {
      arrays = parser.parse_single(bytes);
    } catch (const errors::InvalidArgumentError&) {
      ++refused;
      continue;
    }
    ++good;
    CAPTURE(round);
    check_against_protobuf(bytes, arrays);
  }
  CHECK(good > 2'000);
  CHECK(refused > 30'000);
}

TEST_CASE("example: every cut of a message is refused or complete") {
  const std::string whole = ExampleBuilder().int64_list("k", {1, 2}).bytes("z", "zz").serialize();
  const ExampleParser parser({{"k", {Shape{2}, int64}}, {"z", {Shape{}, string}}});
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK_THROWS_AS(parser.parse_single(whole.substr(0, length)), errors::InvalidArgumentError);
  CHECK(parser.parse_single(whole).size() == 2);
}

TEST_CASE("example: MNIST, penguins and ImageNet as TensorFlow wrote them [real data]") {
  const auto mnist = testing::real_data("tfrecord/mnist.tfrecord");
  CHECK(true);  // real_data() reports missing data
  if (!mnist) return;
  TFRecordReader reader(*mnist);
  std::vector<std::string> records;
  while (auto record = reader.next()) records.push_back(*record);
  const auto arrays = ExampleParser({{"image_class", {Shape{}, int64}},
                                     {"image_floats", {Shape{28, 28, 1}, float32}}})
                          .parse(records);
  const std::int64_t* labels = arrays[0].data<std::int64_t>();
  CHECK(std::vector<std::int64_t>(labels, labels + 10) ==
        std::vector<std::int64_t>{9, 3, 6, 1, 8, 2, 2, 3, 5, 7});
  CHECK(arrays[1].shape() == Shape{1000, 28, 28, 1});
  double sum = 0;
  for (const float value : arrays[1].flat<float>()) sum += static_cast<double>(value);
  CHECK(sum == doctest::Approx(-291181.686237562).epsilon(1e-12));

  const auto penguins = testing::real_data("tfrecord/penguin-train.tfrecord.gz");
  REQUIRE(penguins);
  const auto bird = ExampleParser({{"species", {Shape{}, int64}},
                                   {"culmen_depth_mm", {Shape{1}, float32}},
                                   {"body_mass_g", {Shape{1}, float32}}})
                        .parse_single(*TFRecordReader(*penguins).next());
  CHECK(bird[0].item<std::int64_t>() == 0);
  CHECK(bird[1].item<float>() == 0.666666687F);
  CHECK(bird[2].item<float>() == 0.291666657F);

  const auto images =
      testing::real_data("tfrecord/imagenet-style-validation-00000-of-00002.tfrecord");
  REQUIRE(images);
  TFRecordReader image_reader(*images);
  const ExampleParser parser({{"image/class/label", {Shape{}, int64}},
                              {"image/encoded", {Shape{}, string}},
                              {"image/object/bbox/xmin", {Shape{0}, float32}}});
  for (std::int64_t i = 0; i < 8; ++i) {
    const auto values = parser.parse_single(*image_reader.next());
    CHECK(values[0].item<std::int64_t>() == i);
    CHECK(values[1].item<std::string>().starts_with("\xff\xd8"));  // JPEG's first marker
  }
  // A feature without a list counts as absent, as the empty census tracts of the taxi data.
  const auto taxi = testing::real_data("tfrecord/chicago-taxi-train-00000-of-00012.tfrecord.gz");
  REQUIRE(taxi);
  const auto trip =
      ExampleParser({{"pickup_census_tract", {Shape{}, int64, Array::scalar(std::int64_t{-1})}}})
          .parse_single(*TFRecordReader(*taxi).next());
  CHECK(trip[0].item<std::int64_t>() == -1);
}

}  // namespace
}  // namespace towerflow::data
