// Answers that come later, in pieces, packed, or not at all.
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>
#include <vector>
#include <zlib.h>

#include "unit/server/serving.h"

#include "dlo/server/answers_together.h"
#include "dlo/server/worker_pool.h"

namespace dlo {
namespace {

using testing::eventually;
using testing::HttpClient;

/// Keeps exchanges until the test answers them.
class Later {
 public:
  HttpServer::Handle handle() {
    return [this](const HttpRequest& request, ExchangePtr exchange) {
      const std::lock_guard lock(mutex_);
      targets_.push_back(request.target);
      exchanges_.push_back(std::move(exchange));
    };
  }
  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return exchanges_.size();
  }
  ExchangePtr take(std::size_t i) {
    const std::lock_guard lock(mutex_);
    return std::move(exchanges_[i]);
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> targets_;
  std::vector<ExchangePtr> exchanges_;
};

HttpResponse text(std::string body) {
  HttpResponse response;
  response.content_type = "text/plain";
  response.body = std::move(body);
  return response;
}

class HttpAnswers : public Serving {
 protected:
  Later later_;
};

TEST_F(HttpAnswers, SayWhenTheyWereMadeUnlessTheyDoThemselves) {
  serve({}, [](const HttpRequest& request, const ExchangePtr& exchange) {
    HttpResponse response = text("x;");
    if (request.target == "/own") response.headers.push_back({"date", "then"});
    exchange->send(std::move(response));
  });
  HttpClient client(port());
  client.send(get("/usual"));
  const std::string usual = client.read_until(";");
  const auto at = usual.find("\r\nDate: ");
  ASSERT_NE(at, std::string::npos) << usual;
  const std::string date = usual.substr(at + 8, 29);
  EXPECT_EQ(date.substr(3, 2), ", ") << date;
  EXPECT_EQ(date.substr(25), " GMT") << date;
  client.send(get("/own"));
  const std::string own = client.read_until(";");
  EXPECT_NE(own.find("\r\ndate: then\r\n"), std::string::npos) << own;
  EXPECT_EQ(own.find("Date: "), std::string::npos) << own;
}

/// The server's end of a connection, which is in this process too.
int other_end(std::uint16_t client_port) {
  for (int fd = 0; fd < 1'024; ++fd) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    const bool found = ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
                       peer.sin_family == AF_INET && ntohs(peer.sin_port) == client_port;
    if (found) return fd;
  }
  return -1;
}

TEST_F(HttpAnswers, AClientThatIsGoneWithoutAWordIsGivenUpByTheKernelToo) {
  HttpOptions options;
  options.write_timeout = Millis{12'345};
  serve(options);
  HttpClient client(port());
  client.send(get("/a"));
  client.read_until(";");
  const int fd = other_end(client.local_port());
  ASSERT_GE(fd, 0);
  unsigned patience = 0;
  socklen_t size = sizeof patience;
  ASSERT_EQ(::getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, &size), 0);
  EXPECT_EQ(patience, 12'345U);
}

TEST_F(HttpAnswers, AnswersGoOutInTheOrderOfTheRequestsWhoeverIsReadyFirst) {
  serve({}, later_.handle());
  HttpClient client(port());
  client.send(get("/1") + get("/2") + get("/3"));
  ASSERT_TRUE(eventually([&] { return later_.size() == 3; }));
  later_.take(2)->send(text("third"));
  later_.take(1)->send(text("second"));
  later_.take(0)->send(text("first"));
  EXPECT_EQ(client.read_answer().body, "first");
  EXPECT_EQ(client.read_answer().body, "second");
  EXPECT_EQ(client.read_answer().body, "third");
}

TEST_F(HttpAnswers, OnlySoManyPipelinedRequestsAreUnderWayAtOnce) {
  HttpOptions options;
  options.max_pipelined = 4;
  serve(options, later_.handle());
  HttpClient client(port());
  std::string many;
  for (int i = 0; i < 50; ++i) many += get("/" + std::to_string(i));
  client.send(many);
  ASSERT_TRUE(eventually([&] { return later_.size() == 4; }));
  HttpClient other(port());  // whose request is read after whatever the first one had
  other.send(get("/other"));
  ASSERT_TRUE(eventually([&] { return later_.size() == 5; }));
  for (std::size_t i = 0; i < 51; ++i) {
    ASSERT_TRUE(eventually([&] { return later_.size() > i; })) << i;
    later_.take(i)->send(text("x"));
  }
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client.read_answer().body, "x") << i;
  EXPECT_EQ(other.read_answer().body, "x");
}

TEST_F(HttpAnswers, ARoundIsOverWhenWhatArrivedWasRead) {
  std::string order;
  serve({}, [&](const HttpRequest& request, const ExchangePtr& exchange) {
    order += request.target;
    exchange->after_round([&order, exchange] {
      order += " over";
      exchange->send({});
    });
  });
  HttpClient client(port());
  client.send(get("/a") + get("/b"));
  client.read_until("HTTP/1.1 200", 2);
  EXPECT_EQ(order, "/a/b over over");
}

TEST_F(HttpAnswers, AnswersThatAreGivenTogetherReachEverybodyOnWhateverThread) {
  std::vector<ExchangePtr> held;
  std::mutex mutex;
  HttpOptions options;
  options.io_threads = 2;  // each has its own connections
  serve(options, [&](const HttpRequest&, const ExchangePtr& exchange) {
    const std::lock_guard lock(mutex);
    held.push_back(exchange);
  });
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<HttpClient>(port()));
    clients.back()->send(get("/"));
  }
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return held.size() == 6;
  }));
  {
    const AnswersTogether together;
    for (const auto& exchange : held) {
      const AnswersTogether inner;  // its answer goes out with it
      exchange->send({});
    }
  }
  for (auto& client : clients) EXPECT_EQ(client->read_answer().status, 200);
}

TEST_F(HttpAnswers, AnExchangeThatIsDroppedAnswers500) {
  serve({}, [](const HttpRequest&, const ExchangePtr&) {});
  HttpClient client(port());
  EXPECT_EQ(client.ask("GET", "/").status, 500);
  EXPECT_EQ(client.ask("GET", "/").status, 500) << "the connection lives on";
}

TEST_F(HttpAnswers, EveryAnswerTellsBrowsersToKeepTheirHandsOff) {
  serve();
  HttpClient client(port());
  client.send(get("/a"));
  const std::string answer = client.read_until(";");
  EXPECT_NE(answer.find("X-Content-Type-Options: nosniff\r\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("Content-Security-Policy: default-src 'none', frame-ancestors 'none'\r\n"),
            std::string::npos);
}

TEST_F(HttpAnswers, ASecondAnswerIsIgnored) {
  serve({}, [](const HttpRequest&, const ExchangePtr& exchange) {
    exchange->send(text("one"));
    exchange->send(text("two"));
  });
  HttpClient client(port());
  EXPECT_EQ(client.ask("GET", "/").body, "one");
  EXPECT_EQ(client.ask("GET", "/").body, "one");
}

TEST_F(HttpAnswers, WorkersAnswerWhileTheServerServesOthers) {
  WorkerPool pool(2, 100);
  std::mutex gate;
  std::unique_lock shut(gate);
  serve({}, [&](const HttpRequest& request, ExchangePtr exchange) {
    if (request.target == "/quick") return exchange->send(text("quick"));
    EXPECT_TRUE(pool.post([&gate, exchange] {
      const std::lock_guard wait(gate);
      exchange->send(text("slow"));
    }));
  });
  HttpClient slow(port());
  slow.send(get("/slow"));
  HttpClient quick(port());
  EXPECT_EQ(quick.ask("GET", "/quick").body, "quick");
  shut.unlock();
  EXPECT_EQ(slow.read_answer().body, "slow");
}

TEST_F(HttpAnswers, StoppingFinishesWhatRunsAndSaysClose) {
  serve({}, later_.handle());
  HttpClient client(port());
  client.send(get("/"));
  ASSERT_TRUE(eventually([&] { return later_.size() == 1; }));
  server_->stop(Millis{10'000});
  later_.take(0)->send(text("done"));
  const auto answer = client.read_answer();
  EXPECT_EQ(answer.body, "done");
  EXPECT_TRUE(answer.has("Connection: close")) << answer.head;
  thread_.join();
  EXPECT_TRUE(client.closed_by_server());
}

TEST_F(HttpAnswers, StoppingWaitsNoLongerThanItsGrace) {
  serve({}, later_.handle());
  HttpClient client(port());
  client.send(get("/"));
  ASSERT_TRUE(eventually([&] { return later_.size() == 1; }));
  server_->stop(Millis{1});
  thread_.join();
  EXPECT_TRUE(later_.take(0)->gone());
  EXPECT_TRUE(client.closed_by_server());
}

TEST_F(HttpAnswers, AnAnswerInPiecesArrivesAsItIsMade) {
  serve({}, later_.handle());
  HttpClient client(port());
  client.send(get("/"));
  ASSERT_TRUE(eventually([&] { return later_.size() == 1; }));
  const ExchangePtr exchange = later_.take(0);
  exchange->begin(text("one,"));
  EXPECT_NE(client.read_until("one,\r\n").find("chunked"), std::string::npos);
  EXPECT_EQ(exchange->write("two,"), Room::yes);
  EXPECT_EQ(client.read_until("two,\r\n"), "4\r\ntwo,\r\n");
  exchange->write("");
  exchange->end();
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "0\r\n\r\n");
  EXPECT_EQ(exchange->write("after"), Room::gone);
}

TEST_F(HttpAnswers, OldClientsGetPiecesUntilTheConnectionEnds) {
  serve({}, [](const HttpRequest&, const ExchangePtr& exchange) {
    exchange->begin(text("one,"));
    exchange->write("two");
    exchange->end();
  });
  HttpClient client(port());
  client.send("GET / HTTP/1.0\r\n\r\n");
  const std::string all = client.read_all();
  EXPECT_EQ(all.substr(all.find("\r\n\r\n")), "\r\n\r\none,two");
}

TEST_F(HttpAnswers, ASlowReaderHoldsBackWhoWritesToIt) {
  serve({}, later_.handle());
  HttpClient client(port(), 4096);
  client.send(get("/"));
  ASSERT_TRUE(eventually([&] { return later_.size() == 1; }));
  const ExchangePtr exchange = later_.take(0);
  exchange->begin(text(""));
  const std::string piece(64 * 1024, 'p');
  std::size_t pieces = 1;
  while (exchange->write(piece) == Room::yes && pieces < 1000) ++pieces;
  EXPECT_LT(pieces, 200U) << "what is buffered for one client has a bound";
  std::atomic<int> room{0};
  exchange->when_room([&](bool alive) { room = alive ? 1 : -1; });
  std::thread reader([&] { client.read_until("the end"); });
  EXPECT_TRUE(eventually([&] { return room == 1; }));
  exchange->write("the end");
  reader.join();
}

TEST_F(HttpAnswers, WhoWaitsForRoomHearsThatTheClientLeft) {
  serve({}, later_.handle());
  std::atomic<int> room{0};
  ExchangePtr exchange;
  {
    HttpClient client(port(), 4096);
    client.send(get("/"));
    ASSERT_TRUE(eventually([&] { return later_.size() == 1; }));
    exchange = later_.take(0);
    exchange->begin(text(""));
    while (exchange->write(std::string(64 * 1024, 'p')) == Room::yes) {
    }
    exchange->when_room([&](bool alive) { room = alive ? 1 : -1; });
  }
  EXPECT_TRUE(eventually([&] { return room == -1; }));
  EXPECT_TRUE(exchange->gone());
}

TEST_F(HttpAnswers, AClientThatLeftIsNoticedWhileItsRequestRuns) {
  serve({}, later_.handle());
  ExchangePtr exchange;
  {
    HttpClient client(port());
    client.send(get("/"));
    ASSERT_TRUE(eventually([&] { return later_.size() == 1; }));
    exchange = later_.take(0);
    EXPECT_FALSE(exchange->gone());
  }
  EXPECT_TRUE(eventually([&] { return exchange->gone(); }));
}

TEST_F(HttpAnswers, WhoOnlyStopsTalkingIsStillAnswered) {
  serve();
  HttpClient client(port());
  client.send(get("/last"));
  client.say_no_more();
  EXPECT_NE(client.read_all().find("GET /last"), std::string::npos);
}

TEST_F(HttpAnswers, ABodyIsAskedForWhenTheClientWaitsToBeAsked) {
  serve();
  HttpClient client(port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("abc");
  EXPECT_EQ(client.read_answer().body, "POST / abc;");
}

TEST_F(HttpAnswers, ABodyThatIsTooLargeIsNotAskedFor) {
  HttpOptions options;
  options.body_limit = 10;
  serve(options);
  HttpClient client(port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n");
  EXPECT_TRUE(client.read_until("}").starts_with("HTTP/1.1 413"));
}

TEST_F(HttpAnswers, HeadHasTheHeadersOfGetAndNoBody) {
  serve();
  HttpClient client(port());
  client.send("HEAD /abc HTTP/1.1\r\nHost: x\r\n\r\n" + get("/next"));
  const std::string both = client.read_until("GET /next ;");
  EXPECT_NE(both.find("Content-Length: 11"), std::string::npos);
  EXPECT_EQ(both.find("HEAD /abc"), std::string::npos);
}

std::string unpacked(const std::string& packed, std::size_t size) {
  std::string out(size + 100, '\0');
  z_stream stream{};
  inflateInit2(&stream, 15 + 16);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  inflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

TEST_F(HttpAnswers, LargeTextIsPackedForThoseWhoTakeIt) {
  serve();
  HttpClient client(port());
  const std::string body(5000, 'a');
  const auto packed = client.ask("POST", "/", body, "Accept-Encoding: br, gzip;q=0.5\r\n");
  EXPECT_TRUE(packed.has("Content-Encoding: gzip")) << packed.head;
  EXPECT_TRUE(packed.has("Vary: Accept-Encoding")) << packed.head;
  EXPECT_LT(packed.body.size(), 200U);
  EXPECT_EQ(unpacked(packed.body, body.size()), "POST / " + body + ";");
  for (const char* headers : {"", "Accept-Encoding: br\r\n", "Accept-Encoding: gzip;q=0\r\n"}) {
    EXPECT_EQ(client.ask("POST", "/", body, headers).body, "POST / " + body + ";") << headers;
  }
  EXPECT_EQ(client.ask("POST", "/", "small", "Accept-Encoding: gzip\r\n").body, "POST / small;");
}

TEST(WorkerPool, TakesInOnlySoMuchAndFinishesWhatItTook) {
  std::atomic<int> done{0};
  std::mutex gate;
  {
    WorkerPool pool(1, 2);
    std::unique_lock shut(gate);
    ASSERT_TRUE(pool.post([&] { const std::lock_guard wait(gate); }));
    ASSERT_TRUE(eventually([&] { return pool.waiting() == 0; }));
    EXPECT_TRUE(pool.post([&] { ++done; }));
    EXPECT_TRUE(pool.post([&] { ++done; }));
    EXPECT_FALSE(pool.post([&] { ++done; }));
  }
  EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace dlo
