#include "tests/fuzz/target.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "core/graph/error.h"

namespace towerflow::fuzz {

std::span<const Target* const> targets() {
  static constexpr std::array<const Target*, 10> kAll = {
      &kTFRecord, &kExample, &kIdx,   &kCifar10, &kCheckpoint,
      &kState,    &kEvents,  &kGraph, &kImage,   &kInspect};
  return kAll;
}

void require(bool holds, const char* promise) {
  if (!holds) throw BrokenPromise(promise);
}

bool succeeds(const std::function<void()>& read) {
  try {
    read();
    return true;
  } catch (const errors::OpError& error) {
    if (error.code() == errors::Code::internal) throw;
  } catch (const Error&) {
    // ValueError and similar errors are valid results too.
  }
  return false;
}

namespace {

std::atomic<int> lines_of_protobuf = 0;

}  // namespace

bool run(const Target& target, std::string_view bytes) {
  static const bool counted = [] {
    google::protobuf::SetLogHandler([](google::protobuf::LogLevel, const char*, int,
                                       const std::string&) { ++lines_of_protobuf; });
    return true;
  }();
  require(counted, "protobuf's complaints are counted");
  const int lines = lines_of_protobuf;
  const bool whole = succeeds([&] { target.read(bytes); });
  require(lines_of_protobuf == lines, "nothing is written to stderr behind the caller's back");
  return whole;
}

namespace {

constexpr std::array<std::uint64_t, 14> kEdges = {0,
                                                  1,
                                                  0x7f,
                                                  0x80,
                                                  0xff,
                                                  0x7fff,
                                                  0xffff,
                                                  0x7fffffff,
                                                  0x80000000,
                                                  0xffffffff,
                                                  0x100000000,
                                                  0x7fffffffffffffff,
                                                  0x8000000000000000,
                                                  0xffffffffffffffff};

void overwrite_number(std::string& bytes, Random& random) {
  const std::size_t width = std::size_t{1} << random() % 4;
  if (bytes.size() < width) return;
  std::uint64_t number = kEdges[random() % kEdges.size()];
  const std::size_t at = random() % (bytes.size() - width + 1);
  std::memcpy(bytes.data() + at, &number, width);
  if (random() % 2 == 0) std::reverse(bytes.data() + at, bytes.data() + at + width);
}

}  // namespace

void plain_mutation(std::string& bytes, std::size_t most, Random& random) {
  const auto place = [&] { return random() % (bytes.size() + 1); };
  for (auto changes = 1 + random() % 3; changes > 0; --changes) {
    const std::size_t at = place(), count = random() % 16;
    switch (random() % 6) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 1:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random());
        break;
      case 2:
        overwrite_number(bytes, random);
        break;
      case 3:
        bytes.erase(at, random() % 4 == 0 ? std::string::npos : count);
        break;
      case 4:
        bytes.insert(at, count, static_cast<char>(random()));
        break;
      default: {
        const std::string piece = bytes.substr(at, count * count);
        bytes.insert(place(), piece);
      }
    }
  }
  if (bytes.size() > most) bytes.resize(most);
}

}  // namespace towerflow::fuzz
