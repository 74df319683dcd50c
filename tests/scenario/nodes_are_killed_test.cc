#include <chrono>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "scenario/nodes_on_one_office.h"

namespace dlo::testing {
namespace {

/// What somebody was told was kept, whoever told it.
struct Books {
  std::mutex mutex;
  std::set<std::string> letters;
  std::set<std::string> tasks;
  std::map<std::string, int> jobs;  // and how many items they have
};

class NodesAreKilled : public NodesOnOneOffice {
 protected:
  static constexpr int kills = 8;
  static constexpr int letters_of_a_job = 8;

  /// Until somebody has taken it: whoever is killed while he answers is asked again, elsewhere. The
  /// key makes the repeat the same act, however late the first of them was.
  std::string insist(std::mt19937& dice, const std::string& path, const std::string& key,
                     const std::string& body) {
    std::string taken;
    const auto once = [&] {
      const auto answer =
          ask(dice() % nodes, "POST", path, body, "Idempotency-Key: " + key + "\r\n" + json_type);
      if (!answer || answer->status >= 500) return false;
      EXPECT_LT(answer->status, 300) << answer->body;
      taken = answer->body;
      return true;
    };
    EXPECT_TRUE(eventually(once, std::chrono::seconds(60))) << path;
    return taken;
  }

  void report_letters(std::mt19937& dice, const std::string& source) {
    for (int i = 0; i < letters_of_a_job; ++i) {
      const std::string id = source + "-" + std::to_string(i);
      (void)insist(dice, "/v1/dead-letters", id,
                   R"({"source":")" + source + R"(","error":"timed out","id":")" + id + "\"}");
      const std::lock_guard lock(books_.mutex);
      books_.letters.insert(id);
    }
  }
  void start_job(std::mt19937& dice, const std::string& source) {
    const std::string body =
        R"({"act":"archive","query":"source:)" + source + R"(","rate":20,"start":true})";
    const std::string job = member(insist(dice, "/v1/jobs", source, body), "id");
    const std::lock_guard lock(books_.mutex);
    books_.jobs[job] = letters_of_a_job;
  }
  void report_task(std::mt19937& dice, const std::string& id) {
    (void)insist(dice, "/v1/dead-letters", id,
                 R"({"source":"workflows","profile":"workflow+safe","task_id":")" + id +
                     R"(","task":{"n":1},"error":"timeout","policy":"immediate","max_retries":9})");
    const std::lock_guard lock(books_.mutex);
    books_.tasks.insert(id);
  }
  void work(unsigned seed, const std::stop_token& stop) {
    std::mt19937 dice(seed);
    for (int round = 0; !stop.stop_requested(); ++round) {
      const std::string mark = "w" + std::to_string(seed) + "r" + std::to_string(round);
      report_letters(dice, mark);
      start_job(dice, mark);
      for (int i = 0; i < 3; ++i) report_task(dice, mark + "t" + std::to_string(i));
    }
  }

  /// Tokens under which each task was run, in order.
  [[nodiscard]] std::map<std::string, std::vector<std::string>> runs() const {
    std::map<std::string, std::vector<std::string>> all;
    std::ifstream in(file("begun"));
    std::string task;
    std::string fence;
    while (in >> task >> fence) all[task].push_back(fence);
    return all;
  }
  void check_letters() {
    std::multiset<std::string> found;
    std::string cursor;
    do {
      const std::string page = get(0, "/v1/dead-letters?q=status:archived&limit=500" + cursor);
      ASSERT_FALSE(page.empty());
      for (const std::string& id : all_after(page, "\"message_id\":\"")) found.insert(id);
      cursor = member(page, "next");
      if (cursor == "null") cursor.clear();
      if (!cursor.empty()) cursor = "&cursor=" + cursor;
    } while (!cursor.empty());
    EXPECT_EQ(found.size(), books_.letters.size()) << "lost or doubled";
    EXPECT_EQ(std::set<std::string>(found.begin(), found.end()), books_.letters);
  }
  void check_jobs() {
    for (const auto& [id, items] : books_.jobs) {
      const std::string job = get(0, "/v1/jobs/" + id);
      EXPECT_EQ(member(job, "state"), "done") << job;
      EXPECT_EQ(number(job, "ok"), items) << job;
      EXPECT_EQ(number(job, "changed"), 0) << "an item was done twice: " << job;
    }
  }
  void check_tasks() {
    const auto all = runs();
    for (const std::string& task : books_.tasks) {
      const auto found = all.find(task);
      ASSERT_NE(found, all.end()) << task << " never ran";
      for (std::size_t i = 1; i < found->second.size(); ++i) {
        EXPECT_GT(found->second[i], found->second[i - 1])
            << task << " was run again, and not under a later token";
      }
    }
    const std::string numbers = get(0, "/v1/retries");
    EXPECT_EQ(number(numbers, "retry_success"), static_cast<int>(books_.tasks.size())) << numbers;
    EXPECT_EQ(number(numbers, "exhausted"), 0) << numbers;
    EXPECT_EQ(number(numbers, "enqueued_total"),
              static_cast<int>(books_.tasks.size() + books_.letters.size()))
        << numbers;
  }

  Books books_;
};

// Reports, jobs and scheduled retries go to three nodes on one office, and again and again one of
// them is killed, the leader every second time. In the end the books balance (R5).
TEST_F(NodesAreKilled, AndNothingIsLostOrDoubled) {
  const unsigned seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  std::mt19937 dice(seed);
  start_all();
  std::vector<std::jthread> crew;
  for (unsigned i = 1; i <= nodes; ++i) {
    crew.emplace_back([this, i](const std::stop_token& stop) { work(i, stop); });
  }
  for (int i = 0; i < kills; ++i) {
    const std::size_t leading = wait_for_leader();
    std::size_t done = 0;
    {
      const std::lock_guard lock(books_.mutex);
      done = books_.tasks.size();
    }
    ASSERT_TRUE(eventually([&] {
      const std::lock_guard lock(books_.mutex);
      return books_.tasks.size() > done;
    })) << "nothing goes on; seed "
        << seed;
    const std::size_t victim = i % 2 == 0 ? leading : dice() % nodes;
    kill(victim);
    start(victim);
  }
  for (auto& each : crew) each.request_stop();
  crew.clear();

  std::set<std::string> left;
  for (const auto& [job, items] : books_.jobs) left.insert(job);
  const auto all_done = [&] {
    std::erase_if(left, [&](const std::string& job) {
      return member(get(0, "/v1/jobs/" + job), "state") == "done";
    });
    return left.empty() && number(get(0, "/v1/retries"), "queue_size") == 0;
  };
  ASSERT_TRUE(eventually(all_done, std::chrono::seconds(120)))
      << "seed " << seed << ", " << left.size() << " jobs: " << get(0, "/v1/retries")
      << get(0, "/healthz") << (left.empty() ? "" : get(0, "/v1/jobs/" + *left.begin()));
  check_letters();
  check_jobs();
  check_tasks();
  const std::string url = "http://127.0.0.1:" + std::to_string(ports_[0].load());
  const Ended verified = run_dlo({"audit", "verify", "--server", url});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  stop_all();
  if (HasFailure()) std::cerr << "seed " << seed << "\n";
}

}  // namespace
}  // namespace dlo::testing
