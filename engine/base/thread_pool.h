#pragma once
// A fixed set of threads for computing. The calling thread takes part, so a pool of one has no
// threads of its own and calls directly. How work is divided is the caller's business: a result
// must not depend on the number of threads.
//
// One thread at a time uses a pool. Between parallel parts workers spin for some tens of
// microseconds, because one token of a small model has hundreds of them, and then sleep. Nothing is
// allocated per call.

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace engine {

class ThreadPool {
public:
    explicit ThreadPool(int threads); // the calling thread included; at least 1
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const;

    // Calls fn(threadIndex, threadCount) once on each thread, index 0 on the calling one, and
    // returns when all have. fn does not throw and does not use the pool.
    template<class Fn> void parallel(Fn&& fn) {
        using Callable = std::remove_reference_t<Fn>;
        dispatch([](void* context, int index,
                    int count) { (*static_cast<Callable*>(context))(index, count); },
                 const_cast<void*>(static_cast<const void*>(std::addressof(fn))));
    }

    // Calls fn(taskIndex) for 0 .. taskCount-1, each once, handing them out in order to whoever is
    // free.
    template<class Fn> void run(std::int64_t taskCount, Fn&& fn) {
        startTasks();
        parallel([&](int, int) {
            for (std::int64_t task = nextTask(); task < taskCount; task = nextTask()) fn(task);
        });
    }

private:
    using Call = void (*)(void* context, int threadIndex, int threadCount);
    void dispatch(Call call, void* context);
    void startTasks();
    std::int64_t nextTask();

    struct State;
    std::unique_ptr<State> m;
};

} // namespace engine
