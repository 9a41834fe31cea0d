// Reads files that TensorFlow wrote: those of golden/make_golden.py and real checkpoints.
#include <fmt/format.h>

#include <sstream>

#include "data/crc32c.h"
#include "tests/train/checkpoint/support.h"

using namespace towerflow;
using namespace towerflow::testing;

TEST_CASE("golden: TensorFlow's checkpoint of every dtype is read") {
  CHECK(read_bundle(kGolden + "all.ckpt") == golden_tensors());
}

TEST_CASE("golden: the same tensors make TensorFlow's files, byte for byte") {
  const ScratchFolder folder;
  write_bundle(folder / "all.ckpt", golden_tensors());
  const std::string index = read_raw(index_file(kGolden + "all.ckpt"));
  const std::string data = read_raw(data_file(kGolden + "all.ckpt"));
  REQUIRE(index.size() > 500);
  REQUIRE(data.size() > 500);
  CHECK(read_raw(index_file(folder / "all.ckpt")) == index);
  CHECK(read_raw(data_file(folder / "all.ckpt")) == data);
}

TEST_CASE("golden: an index of several blocks is TensorFlow's, byte for byte") {
  const ScratchFolder folder;
  const std::string prefix = (folder / "many").string();
  std::string tail;
  for (int i = 0; i < 8; ++i) tail += "weights_";
  NamedArrays written;
  TensorBundleWriter writer(prefix);
  for (std::uint32_t i = 0; i < 4000; ++i) {
    const std::string name = fmt::format("{:08x}/{}", i * 2654435761U, tail);
    written[name] = Array::scalar(static_cast<int>(i));
    writer.add(name, written[name]);
  }
  writer.finish();
  std::string found;
  for (const std::string suffix : {"index", "data-00000-of-00001"}) {
    const std::string bytes = read_raw(prefix + "." + suffix);
    found += fmt::format("{} {} {:08x}\n", suffix, bytes.size(), crc32c(bytes_of(bytes)));
  }
  CHECK(found == read_raw(kGolden + "many.txt"));
  CHECK(read_bundle(prefix) == written);
}

TEST_CASE("golden: a checkpoint in two data files") {
  const NamedArrays wanted = {{"first", pattern(DType::float32, {2, 3})},
                              {"second", pattern(DType::int64, {4})}};
  CHECK(read_bundle(kGolden + "sharded.ckpt") == wanted);
}

TEST_CASE("golden: a partitioned variable is listed whole, and reading it says what it is") {
  const TensorBundleReader reader(kGolden + "sliced.ckpt");
  REQUIRE(reader.tensors().size() == 2);
  CHECK(reader.info("parts").sliced);
  CHECK(reader.info("parts").shape == Shape{4, 2});
  CHECK(reader.info("parts").dtype == DType::float32);
  CHECK(thrown([&] { reader.read("parts"); }) ==
        "UnimplementedError: tensor 'parts' in the checkpoint " + kGolden +
            "sliced.ckpt is stored in slices, which are not read");
  CHECK(reader.read("whole") == pattern(DType::float32, {2}));
}

TEST_CASE("real checkpoints: half_plus_two, whose index is compressed") {
  for (const std::string name : {"half_plus_two_cpu", "half_plus_two_tf2_cpu"}) {
    const auto folder = real_data("checkpoints/" + name);
    if (!folder) {
      CHECK(true);  // real_data() reports it on stderr; nothing to assert on
      continue;
    }
    const TensorBundleReader reader(*folder / "variables");
    const bool second = name == "half_plus_two_tf2_cpu";
    const std::string suffix = second ? "/.ATTRIBUTES/VARIABLE_VALUE" : "";
    CHECK(reader.read("a" + suffix).item<float>() == 0.5F);
    CHECK(reader.read("b" + suffix).item<float>() == 2.0F);
    if (second) {
      CHECK(reader.read("_CHECKPOINTABLE_OBJECT_GRAPH").item<std::string>().size() > 100);
    }
  }
}

TEST_CASE("real checkpoints: every tensor is read, its checksum right") {
  for (const std::string prefix : {"tfx-keras/variables", "tfx-taxi/model.ckpt-1000"}) {
    const auto index = real_data("checkpoints/" + prefix + ".index");
    if (!index) {
      CHECK(true);
      continue;
    }
    const TensorBundleReader reader(index->parent_path() / index->stem());
    CHECK(reader.tensors().size() > 10);
    for (const TensorInfo& info : reader.tensors()) {
      CAPTURE(info.name);
      if (info.sliced)
        CHECK(thrown([&] { reader.read(info.name); }).starts_with("UnimplementedError: tensor '"));
      else
        CHECK(reader.read(info.name).shape() == info.shape);
    }
  }
}
