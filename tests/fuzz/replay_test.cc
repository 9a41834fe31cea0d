// The fuzz targets without a fuzzer: all seeds, all earlier finds, and mutations that are the same
// in each run. scripts/fuzz runs the actual fuzzing.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "core/graph/error.h"
#include "core/graph/log.h"
#include "tests/fuzz/bundle.h"
#include "tests/fuzz/records.h"
#include "tests/fuzz/scratch.h"

using namespace towerflow;
using namespace towerflow::fuzz;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostBytes = 8192;

/// Returns the files of `folder` sorted by name, so that the mutations are reproducible.
std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::string bytes_of_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns whether the input was read without an error. A find fails the test, and its input is
/// kept in the file that the message names.
bool run_checked(const Target& target, const std::string& bytes, const std::string& what) {
  try {
    return run(target, bytes);
  } catch (const std::exception& error) {
    const fs::path kept = fs::temp_directory_path() / fmt::format("towerflow-find-{}", target.name);
    std::ofstream(kept, std::ios::binary) << bytes;
    const std::string text =
        fmt::format("{}, {}: {}; the input is {}", target.name, what, error.what(), kept.string());
    FAIL_CHECK(text);
  }
  return false;
}

/// Replays a target and returns how many mutations were read without an error.
int replay(const Target& target) {
  const LogSink before = set_log_sink([](LogLevel, std::string_view) {});
  const std::string name = target.name;
  std::vector<std::string> seeds;
  for (const fs::path& file : files_of("tests/fuzz/corpus/" + name)) {
    seeds.push_back(bytes_of_file(file));
    CHECK_MESSAGE(seeds.back().size() <= kMostBytes, file.string());
    run_checked(target, seeds.back(), file.string());
  }
  REQUIRE(!seeds.empty());
  for (const fs::path& file : files_of("tests/fuzz/regressions/" + name))
    run_checked(target, bytes_of_file(file), file.string());

  constexpr int kMutations = 2000;
  Random random(20260117);
  const auto plain = [&](std::string& bytes, std::size_t most) {
    plain_mutation(bytes, most, random);
  };
  int whole = 0;
  for (int i = 0; i < kMutations; ++i) {
    std::string bytes = seeds[random() % seeds.size()];
    for (auto times = 1 + random() % 3; times > 0; --times)
      target.mutate(bytes, kMostBytes, random, plain);
    if (run_checked(target, bytes, fmt::format("mutation {}", i))) ++whole;
  }
  set_log_sink(before);
  return whole;
}

}  // namespace

// Some mutations must succeed, else they would no longer get past the checksums.
TEST_CASE("fuzz: TFRecord files") { CHECK(replay(kTFRecord) > 500); }
TEST_CASE("fuzz: Examples") { CHECK(replay(kExample) > 500); }
TEST_CASE("fuzz: IDX files") { CHECK(replay(kIdx) > 50); }
TEST_CASE("fuzz: CIFAR-10 files") { CHECK(replay(kCifar10) > 50); }
TEST_CASE("fuzz: checkpoints") { CHECK(replay(kCheckpoint) > 500); }
TEST_CASE("fuzz: state files") { CHECK(replay(kState) > 500); }
TEST_CASE("fuzz: event files") { CHECK(replay(kEvents) > 500); }
TEST_CASE("fuzz: graphs") { CHECK(replay(kGraph) > 50); }
TEST_CASE("fuzz: images") { CHECK(replay(kImage) > 50); }
TEST_CASE("fuzz: what inspect is given") { CHECK(replay(kInspect) > 200); }

TEST_CASE("fuzz: no target is left out of the corpus") {
  for (const Target* target : targets())
    CHECK_MESSAGE(!files_of(fs::path("tests/fuzz/corpus") / target->name).empty(), target->name);
}

TEST_CASE("fuzz: errors of bad input are swallowed, all else is a find") {
  const auto plain = [](std::string&, std::size_t, Random&, const Mutate&) {};
  CHECK(run({"good", [](std::string_view) {}, plain}, ""));
  CHECK(!run({"bad", [](std::string_view) { throw errors::DataLossError("bad"); }, plain}, ""));
  CHECK(!run({"bad", [](std::string_view) { throw ValueError("bad"); }, plain}, ""));
  CHECK_THROWS_AS(
      run({"find", [](std::string_view) { throw errors::InternalError("find"); }, plain}, ""),
      errors::InternalError);
  CHECK_THROWS_AS(run({"find", [](std::string_view) { throw std::bad_alloc(); }, plain}, ""),
                  std::bad_alloc);
  CHECK_THROWS_AS(run({"find", [](std::string_view) { require(false, "promise"); }, plain}, ""),
                  BrokenPromise);
}

TEST_CASE("fuzz: packing, records and bundles come back as they were") {
  const std::string records = join_records({"one", "", "three"});
  CHECK(split_records(records) == std::vector<std::string>{"one", "", "three"});
  for (const auto compression : {data::Compression::gzip, data::Compression::zlib}) {
    const std::string bytes = packed(records, compression);
    CHECK(compression_of_bytes(bytes) == compression);
    CHECK(unpacked(bytes) == records);
  }
  const Bundle bundle = split_bundle(join_bundle({"index", "data"}));
  CHECK(bundle.index == "index");
  CHECK(bundle.data == "data");
  const IndexRecords table = {{"", "header"}, {"a", "1"}, {"b", std::string(700, 'x')}, {"c", ""}};
  CHECK(table_records(make_table(table, false)) == table);
  CHECK(table_records(make_table(table, true)) == table);
}

TEST_CASE("fuzz: mended checksums let changed bytes through") {
  std::string index = make_table({{"", "header"}, {"name", "value"}}, false);
  index[index.find("value")] = 'V';
  CHECK(table_records(index).empty());
  fix_table_checksums(index);
  CHECK(table_records(index).at("name") == "Value");

  Bundle bundle = split_bundle(bytes_of_file("tests/fuzz/corpus/checkpoint/some"));
  const auto readable = [&] { return run(kCheckpoint, join_bundle(bundle)); };
  REQUIRE(readable());
  // The strings, the last of which starts with "long", follow the numbers.
  bundle.data[bundle.data.find("long")] = 'L';
  IndexRecords records = table_records(bundle.index);
  const IndexRecords before = records;
  fix_tensor_checksums(records, bundle.data);
  CHECK(records.at("names") != before.at("names"));
  CHECK(records.at("global_step") == before.at("global_step"));
}
