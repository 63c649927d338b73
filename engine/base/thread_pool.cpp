#include "engine/base/thread_pool.h"

#include "engine/base/check.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#if defined(__linux__)
#    include <pthread.h>
#elif defined(_WIN32)
#    include <windows.h>
#endif
#if defined(__x86_64__) || defined(__i386__) || defined(_M_X64)
#    include <immintrin.h>
#endif

namespace engine {

namespace {

constexpr auto kSpinTime = std::chrono::microseconds(50);
constexpr int kSpinsPerClockRead = 32; // reading the clock costs about as much as this many pauses

void pauseBriefly() {
#if defined(__x86_64__) || defined(__i386__) || defined(_M_X64)
    _mm_pause();
#else
    std::this_thread::yield();
#endif
}

// Spins while `waiting` says so, for kSpinTime at most.
template<class Waiting> void spin(Waiting waiting) {
    const auto end = std::chrono::steady_clock::now() + kSpinTime;
    do {
        for (int i = 0; i < kSpinsPerClockRead; ++i) {
            if (!waiting()) return;
            pauseBriefly();
        }
    } while (std::chrono::steady_clock::now() < end);
}

void nameThisThread(int index) {
    char name[16]; // the longest that Linux takes
    std::snprintf(name, sizeof name, "compute %d", index);
#if defined(__linux__)
    pthread_setname_np(pthread_self(), name);
#elif defined(_WIN32)
    wchar_t wide[16];
    for (int i = 0; i < 16; ++i) wide[i] = static_cast<wchar_t>(name[i]);
    SetThreadDescription(GetCurrentThread(), wide);
#else
    (void)name;
#endif
}

} // namespace

// A round is one call of dispatch. The caller writes call and context, then raises `round`; each
// worker that sees a new round does its share and lowers `busy`; the caller returns when busy is
// zero. Both numbers are waited for by spinning first and sleeping (atomic wait) afterwards.
#ifdef _MSC_VER
#    pragma warning(disable : 4324) // "padded due to alignment": that is the purpose
#endif
struct ThreadPool::State {
    int threads = 1;
    Call call = nullptr;
    void* context = nullptr;
    bool stop = false; // written before a last round

    alignas(64) std::atomic<std::uint32_t> round{0};
    alignas(64) std::atomic<std::int32_t> busy{0};
    alignas(64) std::atomic<std::int64_t> task{0};

    std::vector<std::thread> workers;

    void work(int index) {
        nameThisThread(index);
        std::uint32_t seen = 0;
        for (;;) {
            const auto unchanged = [&] { return round.load(std::memory_order_acquire) == seen; };
            spin(unchanged);
            while (unchanged()) round.wait(seen, std::memory_order_acquire);
            ++seen; // the caller waits for every worker, so none can miss a round
            if (stop) return;
            call(context, index, threads);
            if (busy.fetch_sub(1, std::memory_order_acq_rel) == 1) busy.notify_one();
        }
    }

    void startRound() {
        busy.store(threads - 1, std::memory_order_relaxed);
        round.fetch_add(1, std::memory_order_release);
        round.notify_all();
    }
};

ThreadPool::ThreadPool(int threads) : m(std::make_unique<State>()) {
    CHECK(threads >= 1);
    m->threads = threads;
    m->workers.reserve(static_cast<std::size_t>(threads - 1));
    for (int i = 1; i < threads; ++i)
        m->workers.emplace_back([state = m.get(), i] { state->work(i); });
}

ThreadPool::~ThreadPool() {
    m->stop = true;
    m->startRound();
    for (std::thread& worker : m->workers) worker.join();
}

int ThreadPool::threads() const {
    return m->threads;
}

void ThreadPool::dispatch(Call call, void* context) {
    if (m->threads == 1) {
        call(context, 0, 1);
        return;
    }
    m->call = call;
    m->context = context;
    m->startRound();
    call(context, 0, m->threads);
    spin([&] { return m->busy.load(std::memory_order_acquire) != 0; });
    for (std::int32_t left = m->busy.load(std::memory_order_acquire); left != 0;
         left = m->busy.load(std::memory_order_acquire)) {
        m->busy.wait(left, std::memory_order_acquire);
    }
}

void ThreadPool::startTasks() {
    m->task.store(0, std::memory_order_relaxed);
}

std::int64_t ThreadPool::nextTask() {
    return m->task.fetch_add(1, std::memory_order_relaxed);
}

} // namespace engine
