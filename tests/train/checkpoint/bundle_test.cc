#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "tests/data/size_limit.h"
#include "tests/train/checkpoint/support.h"

using namespace towerflow;
using namespace towerflow::testing;

TEST_CASE("tensor bundle: every dtype, a scalar and empty tensors come back as they were") {
  const ScratchFolder folder;
  const NamedArrays written = golden_tensors();
  write_bundle(folder / "model.ckpt", written);
  CHECK(folder.files() == 2);
  CHECK(read_bundle(folder / "model.ckpt") == written);

  const TensorBundleReader reader(folder / "model.ckpt");
  CHECK(reader.contains("a/b"));
  CHECK_FALSE(reader.contains("a/"));
  CHECK_FALSE(reader.contains(""));
  CHECK_FALSE(reader.contains("zzz"));
  CHECK(reader.info("rank5").shape == Shape{1, 2, 1, 3, 1});
  CHECK(reader.info("rank5").dtype == DType::int16);
  CHECK(reader.info("rank5").bytes == 12);
  CHECK_FALSE(reader.info("rank5").sliced);
}

TEST_CASE("tensor bundle: a thousand tensors added from last to first are listed by name") {
  const ScratchFolder folder;
  NamedArrays written;
  for (int i = 0; i < 1000; ++i)
    written[fmt::format("layer_{}/weights", i)] = Array::of<int>({i % 3, 1}, std::vector(i % 3, i));
  TensorBundleWriter writer(folder / "model.ckpt");
  for (auto each = written.rbegin(); each != written.rend(); ++each)
    writer.add(each->first, each->second);
  writer.finish();
  CHECK(read_bundle(folder / "model.ckpt") == written);
  const TensorBundleReader reader(folder / "model.ckpt");
  REQUIRE(reader.tensors().size() == 1000);
  CHECK(std::ranges::is_sorted(reader.tensors(), {}, &TensorInfo::name));
}

TEST_CASE("tensor bundle: values larger than every buffer") {
  const ScratchFolder folder;
  NamedArrays written;
  written["numbers"] = pattern(DType::float32, {1000, 1000});
  std::vector<std::string> strings;
  for (int i = 0; i < 40000; ++i) strings.push_back(std::string(i % 23, static_cast<char>(i)));
  strings.push_back(std::string(1'000'000, 'z'));
  written["strings"] = Array::of<std::string>({40001}, strings);
  write_bundle(folder / "model.ckpt", written);
  CHECK(read_bundle(folder / "model.ckpt") == written);
}

TEST_CASE("tensor bundle: a disk that is full before the index is written leaves the old values") {
  const ScratchFolder folder;
  NamedArrays old, other;
  for (int i = 0; i < 500; ++i) {
    const std::string name = fmt::format("a_name_that_is_longer_than_its_value_{}", i);
    old[name] = Array::scalar(i);
    other[name] = Array::scalar(-i);
  }
  write_bundle(folder / "model.ckpt", old);
  REQUIRE(std::filesystem::file_size(index_file(folder / "model.ckpt")) > 4000);
  {
    const SizeLimit limit(4000);
    CHECK_THROWS_AS(write_bundle(folder / "model.ckpt", other), errors::ResourceExhaustedError);
  }
  CHECK(folder.files() == 2);
  CHECK(read_bundle(folder / "model.ckpt") == old);
}

TEST_CASE("tensor bundle: a checkpoint without tensors") {
  const ScratchFolder folder;
  write_bundle(folder / "model.ckpt", {});
  CHECK(TensorBundleReader(folder / "model.ckpt").tensors().empty());
}

TEST_CASE("tensor bundle: nothing is visible before finish") {
  const ScratchFolder folder;
  {
    TensorBundleWriter writer(folder / "model.ckpt");
    writer.add("w", Array::scalar(1.0F));
    CHECK_FALSE(std::filesystem::exists(index_file(folder / "model.ckpt")));
    CHECK_FALSE(std::filesystem::exists(data_file(folder / "model.ckpt")));
  }
  CHECK(folder.files() == 0);
}

TEST_CASE("tensor bundle: an abandoned writer leaves the checkpoint that was there") {
  const ScratchFolder folder;
  const NamedArrays first = {{"w", Array::scalar(1.0F)}}, second = {{"w", Array::scalar(2.0F)}};
  write_bundle(folder / "model.ckpt", first);
  TensorBundleWriter(folder / "model.ckpt").add("w", Array::scalar(3.0F));
  CHECK(read_bundle(folder / "model.ckpt") == first);
  write_bundle(folder / "model.ckpt", second);
  CHECK(read_bundle(folder / "model.ckpt") == second);
}

TEST_CASE("tensor bundle: the last folder of the prefix is made, no other") {
  const ScratchFolder folder;
  write_bundle(folder / "new" / "model.ckpt", {{"w", Array::scalar(1.0F)}});
  CHECK(TensorBundleReader(folder / "new" / "model.ckpt").contains("w"));
  CHECK(thrown([&] {
          TensorBundleWriter(folder / "x" / "y" / "model.ckpt");
        }).starts_with("NotFoundError: cannot create "));
}

TEST_CASE("TensorBundleWriter: what it refuses") {
  const ScratchFolder folder;
  const std::string prefix = (folder / "model.ckpt").string();
  TensorBundleWriter writer(prefix);
  writer.add("w", Array::scalar(1.0F));
  const auto refused = [&](const std::string& name, const Array& value) {
    return thrown([&] { writer.add(name, value); });
  };
  CHECK(refused("w", Array::scalar(1.0F)) ==
        "InvalidArgumentError: 'w' was already added to the checkpoint " + prefix);
  CHECK(refused("", Array::scalar(1.0F)) ==
        "InvalidArgumentError: a tensor in a checkpoint needs a name, got an empty one");
  CHECK(refused(std::string("\0w", 2), Array::scalar(1.0F)) ==
        "InvalidArgumentError: a tensor's name cannot begin with a zero byte");
  CHECK(refused("v", Array()) ==
        "InvalidArgumentError: 'v' has no value that a file can hold: its dtype is invalid");
  CHECK(refused("v", Array(DType::resource, {})) ==
        "InvalidArgumentError: 'v' has no value that a file can hold: its dtype is resource");
  writer.finish();
  CHECK(refused("v", Array::scalar(1.0F)) ==
        "FailedPreconditionError: the checkpoint " + prefix + " is finished: 'v' cannot be added");
  CHECK(thrown([&] { writer.finish(); }) ==
        "FailedPreconditionError: the checkpoint " + prefix + " is already finished");
  CHECK(read_bundle(prefix) == NamedArrays{{"w", Array::scalar(1.0F)}});
  CHECK(thrown([&] {
          TensorBundleWriter(folder.path() / "");
        }).ends_with("cannot be the prefix of a checkpoint: it names no file"));
}

TEST_CASE("TensorBundleReader: absent checkpoints and names") {
  const ScratchFolder folder;
  const std::string prefix = (folder / "model.ckpt").string();
  const auto hint_for = [](const std::string& text) -> std::string {
    try {
      TensorBundleReader reader(text);
    } catch (const errors::NotFoundError& error) {
      CHECK(error.message() ==
            fmt::format("there is no checkpoint {0}: {0}.index does not exist", text));
      return error.detail().hint;
    }
    return "found";
  };
  CHECK(hint_for(prefix) == "");
  CHECK(hint_for(prefix + ".index") == "give the common prefix of the files: " + prefix);
  CHECK(hint_for(prefix + ".data-00000-of-00001") ==
        "give the common prefix of the files: " + prefix);
  CHECK(hint_for(folder.path().string()) ==
        "this is a folder: latest_checkpoint names the newest checkpoint in it");
  write_raw(folder / "old.ckpt", "V1");
  CHECK(hint_for((folder / "old.ckpt").string()) ==
        "a single file without .index is a checkpoint in the old V1 format, which is not read");

  write_bundle(prefix, {{"w", Array::scalar(1.0F)}});
  const TensorBundleReader reader(prefix);
  CHECK(thrown([&] { reader.read("v"); }) ==
        "NotFoundError: Key v not found in checkpoint " + prefix);
  std::filesystem::remove(data_file(prefix));
  const TensorBundleReader without_data(prefix);
  CHECK(without_data.contains("w"));
  CHECK(thrown([&] { without_data.read("w"); }) ==
        fmt::format("NotFoundError: cannot open {}: No such file or directory",
                    data_file(prefix).string()));
}

TEST_CASE("TensorBundleReader: several threads read from one reader") {
  const ScratchFolder folder;
  const NamedArrays written = golden_tensors();
  write_bundle(folder / "model.ckpt", written);
  const TensorBundleReader reader(folder / "model.ckpt");
  std::vector<int> equal(4, 0);
  std::vector<std::thread> threads;
  for (int& count : equal)
    threads.emplace_back([&] {
      for (const auto& [name, value] : written) count += reader.read(name) == value;
    });
  for (std::thread& thread : threads) thread.join();
  for (const int count : equal) CHECK(count == static_cast<int>(written.size()));
}
