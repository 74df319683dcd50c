#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/journal/file_system.h"
#include "dlo/journal/journal.h"

namespace dlo {

class Segments;

/// A place where a journal is not what it was.
struct Damage {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // up to the next thing that is whole; 0: the whole file
  std::string what;
  std::uint64_t segment = 0;  // 0: it is in another file
};

/// Records that were in a damaged place and cannot be read.
struct LostRecords {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint8_t type = 0;  // 0: not known
  Location location;      // of the one, if its type is known
  std::string_view body;  // ... and its damaged bytes
  bool outlined = false;  // ... and a checksum vouches for its type; else that may be damaged, too
};

/// The name under which the damaged bytes of a segment are set aside. What is set aside stays
/// damaged, but is known to be, as soon as reading begins behind it.
[[nodiscard]] std::string quarantine_file(const Damage& damage);

/// Segments that are not there, one after the other.
struct MissingSegments {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
/// Which there are none of from number `from` on although there are later ones; `from` itself also
/// if nothing is there and something has to be. An empty file far behind all others is none.
[[nodiscard]] Result<std::vector<MissingSegments>> missing_segments(FileSystem& files,
                                                                    std::uint64_t from,
                                                                    bool must_begin);
/// For people: what is missing, as damage that belongs to no bytes.
[[nodiscard]] Damage describe_missing(const FileSystem& files, const MissingSegments& missing);

/// Whether the segment of a position that somebody knows ends before it: then something was cut
/// off.
[[nodiscard]] Result<std::optional<Damage>> cut_short(FileSystem& files,
                                                      const JournalPosition& position);

/// A journal looked at from outside. Changes nothing, stops at nothing, reads every byte.
class Inspection {
 public:
  explicit Inspection(FileSystem& files);
  ~Inspection();
  Inspection(const Inspection&) = delete;
  Inspection& operator=(const Inspection&) = delete;

  /// Walks all segments and hands every whole record to `visit`, in order, past any damage.
  /// An error is the visitor's, or says that files cannot be read.
  /// `lost` hears in its turn of what is missing between them.
  Result<void> walk(const Journal::Visitor& visit,
                    const std::function<void(const LostRecords&)>& lost = {});

  /// Where somebody knows that records go on, told before `walk`: what lies between here and the
  /// first that is found is lost, though nothing is left of what came before. And only damage that
  /// lies before it can have been set aside: without it there is none.
  std::optional<JournalPosition> goes_on_from;

  /// Hears of whole records in the last bytes that are not whole and will be cut off; if there is
  /// one before `walk`.
  std::function<void(const Entry&)> on_unfinished;

  /// The sequence of the first whole record of a segment, after `walk`; 0: there is none.
  [[nodiscard]] std::uint64_t first_in(std::uint64_t segment) const noexcept;

  /// What the groups of a segment carry, after `walk`, if any of them is whole.
  [[nodiscard]] std::uint64_t epoch_of(std::uint64_t segment) const;

  /// Whether a place lies in what has been found damaged so far; in what has been set aside.
  [[nodiscard]] bool is_damaged(const Location& at) const noexcept;
  [[nodiscard]] bool is_set_aside(const Location& at) const noexcept;

  /// As Journal::read, after `walk` or during it.
  void read(std::span<const Address> records, const Journal::Reader& each);

  std::uint64_t segments = 0;
  std::uint64_t groups = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  bool sealed = false;                   // the last stop was clean
  std::uint64_t unfinished = 0;          // last bytes that a crash left in pieces: no damage
  std::uint64_t unfinished_records = 0;  // whole ones in them, which are cut off as well
  std::vector<Damage> damages;
  std::vector<Damage> quarantined;  // was damaged, and has been set aside since
  std::optional<Error>
      unread;  // why the disk did not give a record: nobody knows whether it is whole
  /// Behind everything that is whole: where a journal could go on.
  JournalPosition end_position;

 private:
  class Walk;
  FileSystem& files_;
  std::unique_ptr<Segments> segments_;
  std::map<std::uint64_t, std::uint64_t> first_in_;
};

}  // namespace dlo
