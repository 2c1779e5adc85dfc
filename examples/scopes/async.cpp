/* std::async and std::thread in the scopes of the thread that starts them.
 *
 *     c++ -std=c++17 -pthread async.cpp $(python -m paddle_flags config --cflags --libs) -o async
 */
#include <pd_flags.hpp>

#include <future>
#include <iostream>
#include <thread>

PD_DEFINE_SCOPED_double(tolerance, 1e-6, "Stop when the error is smaller", .min = 0);

static double solve() { return FLAGS_tolerance; }

int main(int argc, char **argv) {
  pd_error err;
  if (pd_parse_argv(&argc, argv, nullptr, &err) != PD_OK) {
    std::cerr << err.message << "\n";
    return 1;
  }
  std::future<double> rough, plain;
  double strict = 0;
  {
    pd::scoped_value guard{FLAGS_tolerance, 0.5};
    pd::scope_capture context;
    rough = std::async(std::launch::async, [context] { return context.run(solve); });
    plain = std::async(std::launch::async, solve); /* another thread, without these scopes */
    std::thread([&] {
      pd::scope_attach attached{context};
      pd::scoped_value inner{FLAGS_tolerance, 0.25};
      strict = solve();
    }).join();
  }
  std::cout << "rough " << rough.get() << ", plain " << plain.get() << ", strict " << strict
            << ", here " << solve() << "\n";
}
