#include "support/rabbitmq_server.h"

#include <atomic>
#include <fstream>
#include <random>
#include <unistd.h>

#include "support/server_script.h"

namespace dlo::testing {
namespace {

ServerScript script() {
  return {"rabbitmq", DLO_RABBITMQ_NODE};
}

std::string address_of(const std::string& port) {
  return "amqp://guest:guest@127.0.0.1:" + port + "/";
}

}  // namespace

std::string shared_rabbitmq() {
  static const std::string address = address_of(script().join_shared());
  return address;
}

RabbitNode::RabbitNode(const std::string& config, const std::string& plugins) {
  if (!config.empty()) std::ofstream(directory_.path() + "/more.conf") << config << "\n";
  if (!plugins.empty()) std::ofstream(directory_.path() + "/plugins") << plugins;
  port_ = script().must_run("up " + directory_.path());
}

RabbitNode::~RabbitNode() {
  crash();
}

std::string RabbitNode::address() const {
  return address_of(port_);
}

std::string RabbitNode::secure_address(const std::string& host) const {
  return "amqps://guest:guest@" + host + ":" + script().must_run("secure " + directory_.path()) +
         "/";
}

void RabbitNode::ctl(const std::string& arguments) {
  (void)script().must_run("ctl " + directory_.path() + " " + port_ + " " + arguments);
}

void RabbitNode::crash() {
  (void)script().run("down " + directory_.path());
}

void RabbitNode::start() {
  (void)script().must_run("up " + directory_.path() + " " + port_);
}

void RabbitNode::remember() {
  (void)script().must_run("remember " + directory_.path() + " " + port_);
}

void RabbitNode::freeze() {
  (void)script().run("freeze " + directory_.path());
}

void RabbitNode::thaw() {
  (void)script().run("thaw " + directory_.path());
}

std::string fresh_queue() {
  static const unsigned program = std::random_device{}();
  static std::atomic<int> queues{0};
  return "q" + std::to_string(program) + "-" + std::to_string(::getpid()) + "-" +
         std::to_string(++queues);
}

}  // namespace dlo::testing
