// Taking and sending at a time: the office writes while the target is waited for.
#include <future>
#include <utility>

#include "dlo/jobs/batch.h"
#include "dlo/jobs/replay_work.h"

namespace dlo {
namespace {

constexpr std::size_t slice_size = 1'000;  // two of them are sent again after a kill, at the most
constexpr int most_slices = 100;           // should the clock stand still

Error never_at_rest() {
  return {Code::unavailable, "jobs.replay",
          "others change what was sent as quickly as it is written down that it was; it is looked "
          "at again in a moment"};
}

}  // namespace

bool ReplayWork::streams() const noexcept {
  return targets_.ticks && spec_.canary == 0 && !few_at_a_time() && !job_.spec.rate &&
         !is_executor(spec_.target);
}

Result<Stepped> ReplayWork::stream(Millis go_on_for) {
  const auto until = targets_.ticks() + go_on_for;
  Fates done;
  Fates under_way;
  std::optional<Error> trouble;
  std::future<Result<void>> sending;  // of what is under way; waits for it when it goes
  std::size_t room = room_for(slice_size);
  for (int slice = 1;; ++slice) {
    Fates next;
    auto written = write_and_take(done, room, next, trouble);
    const auto sent = sending.valid() ? sending.get() : Result<void>();
    if (!written) return written.error();
    if (!sent) return sent.error();
    done = std::exchange(under_way, std::move(next));
    if (done.later) return write_fates(done);  // what was taken meanwhile is sent after these
    if (!under_way.all.empty())
      sending = std::async([this, &under_way] { return send(under_way); });
    if (done.all.empty() && under_way.all.empty()) break;
    const bool more = !trouble && !progress_.listed && !stop_.stop_requested() &&
                      slice < most_slices && targets_.ticks() < until;
    room = more ? room_for(slice_size) : 0;
  }
  if (trouble) return *trouble;
  return Stepped{progress_};
}

Result<void> ReplayWork::write_and_take(Fates& done, std::size_t most, Fates& next,
                                        std::optional<Error>& trouble) {
  if (most > 0 && !others_are_quick_) {
    auto tried = try_fates(done);
    if (!tried) return tried.error();
    const auto both = take_also(std::move(*tried), most, next, trouble);
    if (!both) return both.error();
    if (*both) return {};
  }
  if (!done.all.empty()) {
    const std::size_t left = progress_.sending.size() - done.all.size();
    const auto written = write_fates(done);
    if (!written) return written.error();
    if (progress_.sending.size() != left) return never_at_rest();
  }
  if (most == 0 || trouble) return {};
  const auto taken = take_also(Tried{progress_}, most, next, trouble);
  return taken ? Result<void>() : taken.error();
}

Result<bool> ReplayWork::take_also(Tried tried, std::size_t most, Fates& next,
                                   std::optional<Error>& trouble) {
  auto taken = take_next(most, tried);
  if (!taken) {
    trouble = taken.error();
    return false;
  }
  const auto written = write(std::move(tried));
  if (written) {
    next = std::move(*taken);
    return true;
  }
  if (!is_overtaken(written.error())) return written.error();
  others_are_quick_ = true;
  return false;
}

}  // namespace dlo
