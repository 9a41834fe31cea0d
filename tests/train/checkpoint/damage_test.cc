// Damaged checkpoints: reading gives a typed error or the right value, whatever the damage.
#include <fmt/format.h>

#include "tests/train/checkpoint/support.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

struct Outcome {
  int equal = 0, data_loss = 0, other = 0;
  std::string unexpected;  // an error of another class
};

/// Reads every golden tensor from `prefix` and counts the outcomes.
Outcome read_golden(const std::filesystem::path& prefix, const NamedArrays& golden) {
  Outcome outcome;
  const auto counted = [&](auto&& action) {
    try {
      action();
    } catch (const errors::DataLossError&) {
      ++outcome.data_loss;
    } catch (const Error& error) {
      ++outcome.other;
      outcome.unexpected = error.what();
    }
  };
  counted([&] {
    const TensorBundleReader reader(prefix);
    for (const auto& tensor : golden)
      counted([&] { outcome.equal += reader.read(tensor.first) == tensor.second; });
  });
  return outcome;
}

const int kTensors = static_cast<int>(golden_tensors().size());

}  // namespace

TEST_CASE("damaged index: cut off at every byte") {
  const ScratchFolder folder;
  const std::filesystem::path prefix = folder / "m";
  const std::string index = read_raw(index_file(kGolden + "all.ckpt"));
  REQUIRE(index.size() > 500);
  for (std::size_t size = 0; size < index.size(); ++size) {
    CAPTURE(size);
    write_raw(index_file(prefix), index.substr(0, size));
    CHECK_THROWS_AS(TensorBundleReader{prefix}, errors::DataLossError);
  }
}

TEST_CASE("damaged index: every bit flipped") {
  const ScratchFolder folder;
  const std::filesystem::path prefix = folder / "m";
  const NamedArrays golden = golden_tensors();
  std::filesystem::copy_file(data_file(kGolden + "all.ckpt"), data_file(prefix));
  const std::string index = read_raw(index_file(kGolden + "all.ckpt"));
  std::size_t unharmed = 0;
  for (std::size_t bit = 0; bit < index.size() * 8; ++bit) {
    std::string flipped = index;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    write_raw(index_file(prefix), flipped);
    const Outcome outcome = read_golden(prefix, golden);
    CAPTURE(bit);
    // Either the constructor throws or all values are right; nothing in between.
    const bool all = outcome.equal == kTensors && outcome.data_loss == 0;
    CHECK((all || (outcome.data_loss == 1 && outcome.equal == 0)));
    CHECK(outcome.unexpected == "");
    unharmed += all;
  }
  // The reader does not use the metaindex block (13 bytes), its handle or the footer's padding.
  CHECK(unharmed > 0);
  CHECK(unharmed <= (13 + 40) * 8);
}

TEST_CASE("damaged data: every bit flipped harms one tensor, which is noticed") {
  const ScratchFolder folder;
  const std::filesystem::path prefix = folder / "m";
  const NamedArrays golden = golden_tensors();
  std::filesystem::copy_file(index_file(kGolden + "all.ckpt"), index_file(prefix));
  const std::string data = read_raw(data_file(kGolden + "all.ckpt"));
  REQUIRE(data.size() > 500);
  for (std::size_t bit = 0; bit < data.size() * 8; ++bit) {
    std::string flipped = data;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    write_raw(data_file(prefix), flipped);
    const Outcome outcome = read_golden(prefix, golden);
    CAPTURE(bit);
    CHECK(outcome.data_loss == 1);
    CHECK(outcome.equal == kTensors - 1);
    CHECK(outcome.unexpected == "");
  }
}

TEST_CASE("damaged data: cut off at every byte") {
  const ScratchFolder folder;
  const std::filesystem::path prefix = folder / "m";
  const NamedArrays golden = golden_tensors();
  std::filesystem::copy_file(index_file(kGolden + "all.ckpt"), index_file(prefix));
  const std::string data = read_raw(data_file(kGolden + "all.ckpt"));
  for (std::size_t size = 0; size < data.size(); ++size) {
    write_raw(data_file(prefix), data.substr(0, size));
    const Outcome outcome = read_golden(prefix, golden);
    CAPTURE(size);
    CHECK(outcome.data_loss >= 1);
    CHECK(outcome.equal == kTensors - outcome.data_loss);
    CHECK(outcome.unexpected == "");
  }
}

TEST_CASE("damaged files: the texts name tensor, file and reason") {
  const ScratchFolder folder;
  const std::filesystem::path prefix = folder / "m";
  write_bundle(prefix, {{"layer/w", pattern(DType::float32, {4})}});
  const std::string index = read_raw(index_file(prefix)), data = read_raw(data_file(prefix));
  const auto read = [&] { return thrown([&] { TensorBundleReader(prefix).read("layer/w"); }); };
  const std::string in_data =
      fmt::format("DataLossError: tensor 'layer/w' in {} is damaged: ", data_file(prefix).string());
  const std::string in_index = fmt::format(
      "DataLossError: {} is not a checkpoint index, or is damaged", index_file(prefix).string());
  REQUIRE(read() == "nothing");
  write_raw(data_file(prefix), data.substr(0, 15));
  CHECK(read() == in_data + "16 bytes wanted at byte 0, the file ends at 15");
  write_raw(data_file(prefix), std::string(16, 'x'));
  CHECK(read() == in_data + "wrong checksum");
  write_raw(index_file(prefix), "");
  CHECK(read() == in_index + ": it has 0 bytes only");
  write_raw(index_file(prefix), std::string(100, 'x'));
  CHECK(read() == in_index + ": it does not end as such a file does");
  std::string flipped = index;
  flipped[3] = static_cast<char>(flipped[3] ^ 1);
  write_raw(index_file(prefix), flipped);
  CHECK(read() == in_index + ": wrong checksum of the block at byte 0");
}
