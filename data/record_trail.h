#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace towerflow {

/// The places of the latest records of a reader, looked up by the records' bytes. An error message
/// can thus say where a record came from even if queues separate the reader from the failing op.
class RecentRecords {
 public:
  struct Place {
    std::shared_ptr<const std::string> file;
    std::optional<std::uint64_t>
        number;            ///< in its file, from 0; unknown after a restored position
    std::uint64_t at = 0;  ///< the place in the record's key
    bool operator==(const Place& other) const { return *file == *other.file && at == other.at; }
  };

  void add(std::string_view record, Place place);
  /// Returns the places of records with this one's fingerprint, latest first, without duplicates.
  /// Records that differ only in bytes that the fingerprint does not sample are not told apart.
  std::vector<Place> find(std::string_view record) const;

 private:
  struct Entry {
    std::uint64_t mark;
    Place place;
  };
  std::vector<Entry> entries_;  // a ring buffer
  std::size_t next_ = 0;
};

}  // namespace towerflow
