#include "app/cli/interrupt.h"

#include <chrono>
#include <csignal>

namespace app {

namespace {

volatile std::sig_atomic_t g_interrupted = 0;

extern "C" void onInterrupt(int) {
    g_interrupted = 1;
    std::signal(SIGINT, SIG_DFL);
}

} // namespace

// A signal handler may do next to nothing, so a thread looks at what it noted.
Interrupt::Interrupt()
    : m_watcher([this](std::stop_token ended) {
          while (!ended.stop_requested()) {
              if (g_interrupted) {
                  m_stop.request_stop();
                  return;
              }
              std::this_thread::sleep_for(std::chrono::milliseconds(20));
          }
      }) {
    g_interrupted = 0;
    std::signal(SIGINT, onInterrupt);
}

Interrupt::~Interrupt() {
    std::signal(SIGINT, SIG_DFL);
}

} // namespace app
